import BluetoothHost
import BluetoothSockets

extension Link {
    /// Handles the end of a bearer, from either side.
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError) {
        if let id = bearer.id { enhancedBearersIfAny?.end(id, reason) } else { finish(reason) }
    }

    /// Handles a change of the peer's attributes.
    func servicesChanged(in range: AttributeHandleRange) {
        database.servicesChanged(in: range, self)
        eventsIfAny?.send(.servicesChanged(range))
    }
}
