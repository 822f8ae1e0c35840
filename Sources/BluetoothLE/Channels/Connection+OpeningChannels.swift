import BluetoothKernel

extension Connection {
    /// Opens a connection-oriented channel to a service of the same device, over this link.
    ///
    /// The channel is one of its own: it outlives this object and ends with the link. Needs no privilege.
    /// - Parameters:
    ///   - psm: the service's number, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: how.
    /// - Throws: `.connectionFailed` when the peer refuses, `.disconnected`, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode or the connection was made over a
    ///   channel that came from elsewhere.
    public func openChannel(
        psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        let operation = BluetoothError.Operation("open a channel to PSM \(hexadecimal(psm))", peer: peer)
        _ = try bearer(for: operation)
        guard let route, let adapter else { throw .noRoute(operation) }
        return try await adapter.openChannel(
            psm: psm, to: socketPeer, answeringFor: peer, from: route.adapter, on: route.kernel, options: options)
    }
}
