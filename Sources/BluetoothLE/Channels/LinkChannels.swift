import BluetoothPrimitives

/// Opens connection-oriented channels over links.
protocol LinkChannels: AnyObject {
    /// Opens a channel to a service of `peer`; pairing asks about the device by the address `user`.
    nonisolated(nonsending) func open(
        psm: UInt16, to peer: BluetoothAddress, answeringFor user: BluetoothAddress, options: ChannelOptions
    ) async throws(BluetoothError) -> ConnectionOrientedChannel
}
