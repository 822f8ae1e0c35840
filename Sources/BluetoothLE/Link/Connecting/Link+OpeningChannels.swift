import BluetoothPrimitives
import BluetoothSockets

extension Link {
    nonisolated(nonsending) func openChannel(
        psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        let operation = BluetoothError.Operation("open a channel to PSM \(hexadecimal(psm))", peer: peer)
        _ = try bearer(for: operation)
        guard let channels = adapter?.channels else { throw .noRoute(operation) }
        return try await channels.open(psm: psm, to: identity, answeringFor: peer, options: options)
    }
}
