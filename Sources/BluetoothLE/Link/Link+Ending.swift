import BluetoothHost
import BluetoothSockets

extension Link {
    /// Closes the link from this side, and waits until it is down.
    nonisolated(nonsending) func disconnect(timeout: Duration) async {
        guard timeout > .zero, let channel = attributeChannel, let channels = adapter?.hostChannels else {
            return disconnect()
        }
        await channels.endLink(of: channel, timeout: timeout) { disconnect() }
    }

    /// Handles the end of a bearer, from either side.
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError) {
        if let id = bearer.id { enhancedBearersIfAny?.end(id, reason) } else { finish(reason) }
    }
}
