import BluetoothKernel
import BluetoothPrimitives

extension AdapterSession {
    func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try checkUsable()
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        await controller.value.prepareToConnect(timeout: options.timeout)
        var options = options
        options.timeout = deadline.map { loop.now.duration(to: $0) }
        return try await openChannel(
            psm: psm, to: peer, answeringFor: peer, options: options)
    }

    /// Opens a channel of a link that the adapter has or makes: what pairing that takes is this program's own, and no
    /// attempt outlives the adapter.
    ///
    /// - Parameter user: the address by which pairing asks about the device.
    func openChannel(
        psm: UInt16, to peer: BluetoothAddress, answeringFor user: BluetoothAddress,
        options: ChannelOptions
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        if let end { throw end }
        let channel = CreditBasedChannel(to: peer, psm: psm, of: (self, linkEnds), on: loop, log: log)
        let id = ends.add { [weak channel] reason in channel?.endOpening(reason) }
        defer { ends.remove(id) }
        try await pairings.value.expected(with: user) { () async throws(BluetoothError) in
            try await channel.open(from: information.address, on: kernel, options: options)
        }
        return ConnectionOrientedChannel(channel)
    }

    func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) throws(BluetoothError) -> ChannelListener {
        try checkUsable()
        let operation = operation("listen on PSM \(hexadecimal(psm))")
        let listener = Listener<ConnectionOrientedChannel>(capacity: backlog, policy: .fail, operation, on: loop)
        let channel: L2CAPChannel
        do {
            channel = try listener.listen(
                .dynamic(psm: psm), on: information.address, of: kernel, options.socketOptions
            ) { [weak listener] socket in
                guard let listener else {
                    socket.close()
                    return { _ in }
                }
                return self.assumeIsolated { LoopBound($0.accept(socket, for: listener), on: $0.loop) }.value
            }
        } catch {
            throw .listening(operation, error, kernel.environment())
        }
        let id = ends.add { [weak listener] reason in listener?.end(reason) }
        listener.whenEnded { [weak self] in self?.assumeIsolated { $0.ends.remove(id) } }
        return ChannelListener(listener, psm: channel.psm ?? psm)
    }

    private func accept(
        _ socket: any L2CAPSocket, for listener: Listener<ConnectionOrientedChannel>
    ) -> SocketHandler {
        guard let psm = listener.first?.psm, listener.channel.room > 0 else {
            log.debug("refused a channel: nobody took those before", metadata: ["peer": "\(socket.peer)"])
            listener.refuse(socket)
            return { _ in }
        }
        let channel = CreditBasedChannel(to: socket.peer, psm: psm, of: (self, linkEnds), on: loop, log: log)
        let handler = channel.adopt(socket)
        listener.channel.send(ConnectionOrientedChannel(channel))
        return handler
    }
}

extension L2CAPChannel {
    /// The service's number; nil for a fixed channel.
    fileprivate var psm: UInt16? {
        guard case .dynamic(let psm) = self else { return nil }
        return psm
    }
}
