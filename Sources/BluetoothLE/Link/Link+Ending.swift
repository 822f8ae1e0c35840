import BluetoothHost
import BluetoothLoop
import BluetoothSockets

extension Link {
    /// Closes the link from this side, and waits until it is down; without a limit if that is nil.
    nonisolated(nonsending) func disconnect(timeout: Duration?) async {
        guard timeout.map({ $0 > .zero }) ?? true, isConnected else { return disconnect() }
        // The link releases the host, which resolves the promise.
        let adapter = adapter
        defer { withExtendedLifetime(adapter) {} }
        let down = Promise<Void, BluetoothError>()
        disconnect(whenDown: down)
        _ = try? await down.value(.init("disconnect", peer: peer), timeout: timeout, on: loop)
    }

    /// Closes the link from this side; `down` succeeds when the link, which is established, is down.
    func disconnect(whenDown down: Promise<Void, BluetoothError>? = nil) {
        finish(
            BluetoothError(
                .disconnected, .init("disconnect", peer: peer), DisconnectReason.local.sentence,
                disconnectReason: .local), whenDown: down)
    }

    /// Disconnects after the program has released the handle.
    func dropped() {
        if connection == nil { disconnect() }
    }

    /// Handles the end of a bearer, from either side.
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError) {
        if let id = bearer.id { enhancedBearersIfAny?.end(id, reason) } else { finish(reason) }
    }
}
