import BluetoothHost
import BluetoothSockets

extension Link {
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError) {
        if let id = bearer.id { enhancedBearersIfAny?.end(id, reason) } else { finish(reason) }
    }

    func servicesChanged(in range: AttributeHandleRange) {
        database.servicesChanged(in: range, self)
        eventsIfAny?.send(.servicesChanged(range))
    }
}
