import BluetoothKernel
import BluetoothPrimitives

extension Adapter {
    /// Opens a connection-oriented channel to a service of a device, without an attribute channel.
    ///
    /// Where there is no link to the device the kernel makes one, and drops it two seconds after its last channel was
    /// closed. Cancelling the task cancels the attempt. Needs no privilege; pairing, where it comes to that, needs
    /// somebody who answers for this side.
    /// - Parameters:
    ///   - peer: the device.
    ///   - psm: the service's number, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: how.
    /// - Throws: `.connectionFailed` when the peer refuses or cannot be linked with, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try checkUsable()
        let channel = ConnectionOrientedChannel(to: peer, psm: psm, by: self, on: loop, log: log)
        let deadline = options.timeout.map { loop.now.advanced(by: $0) }
        await controller.value.prepareToConnect(timeout: options.timeout)
        var options = options
        options.timeout = deadline.map { loop.now.duration(to: $0) }
        try await open(channel, to: peer, from: information.address, on: kernel, options: options)
        return channel
    }

    /// Opens a channel of a link that the adapter has or makes: what pairing that takes is this program's own, and no
    /// attempt outlives the adapter.
    func open(
        _ channel: ConnectionOrientedChannel, to peer: BluetoothAddress, from address: BluetoothAddress,
        on kernel: any BluetoothKernel, options: ChannelOptions
    ) async throws(BluetoothError) {
        if let end { throw end }
        let id = ends.add { [weak channel] reason in channel?.assumeIsolated { $0.endOpening(reason) } }
        defer { ends.remove(id) }
        try await withPairing(with: peer) { () async throws(BluetoothError) in
            try await channel.open(from: address, on: kernel, options: options)
        }
    }

    /// Offers a service by connection-oriented channels; it can be opened when the call returns.
    ///
    /// Peers reach it on links they make to what this machine advertises and on links made from here alike. Needs no
    /// privilege, except CAP_NET_BIND_SERVICE for a PSM below 0x0080.
    /// - Parameters:
    ///   - psm: the service's number, 0x0001 to 0x00FF; with 0 the kernel picks one, which ``ChannelListener/psm`` tells.
    ///   - backlog: how many channels may wait for the loop; what comes beyond is closed again at once, and counted.
    ///   - options: how; with ``ChannelOptions/security`` the kernel refuses peers on links of less protection, which
    ///     has most of them pair and ask again.
    /// - Throws: `.notPermitted`, `.busy` when somebody offers the same PSM, `.invalidArgument`, `.unsupported` when the
    ///   kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public func listen(
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
        let channel = ConnectionOrientedChannel(to: socket.peer, psm: psm, by: self, on: loop, log: log)
        let handler = channel.assumeIsolated { LoopBound($0.adopt(socket), on: loop) }.value
        listener.channel.send(channel)
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
