import BluetoothKernel
import BluetoothPrimitives

extension AdapterSession {
    func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try checkUsable()
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        await host.scanning.prepareToConnect(timeout: options.timeout)
        var options = options
        options.timeout = deadline.map { loop.now.duration(to: $0) }
        return try await channels.open(psm: psm, to: peer, answeringFor: peer, options: options)
    }

    func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) throws(BluetoothError) -> (Listener<ConnectionOrientedChannel>, psm: UInt16) {
        try checkUsable()
        let operation = operation("listen on PSM \(hexadecimal(psm))")
        return try channels.listen(operation, psm: psm, backlog: backlog, options: options, keeping: self)
    }
}
