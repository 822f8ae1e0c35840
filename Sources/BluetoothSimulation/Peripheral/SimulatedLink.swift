import BluetoothSockets
import BluetoothPrimitives

/// A simulated peripheral's end of a link.
public struct SimulatedLink: Sendable {
    /// The radio of the link.
    public let radio: SimulatedRadio
    let identifier: Int

    private func withEnd<Result: Sendable>(_ body: @Sendable (LinkEnd) -> Result) -> Result? {
        radio.withWorld { [identifier] world in world.peripherals.ends[identifier].map(body) }
    }

    /// The central's address; zero after the end.
    public var peer: BluetoothAddress { withEnd { $0.peerAddress } ?? .zero }

    /// The security of the link.
    public var security: LinkSecurity { withEnd { $0.link.security } ?? LinkSecurity(level: .low, keySize: 0) }

    /// Whether the peripheral has stored a key of the central.
    var isBonded: Bool { withEnd { $0.party?.key(on: $0) != nil } ?? false }

    /// Sends a packet, by default to the Attribute Protocol's channel.
    ///
    /// The controller buffers a dozen HCI ACL data packets of up to 251 bytes; after that the call returns `.wouldBlock`
    /// until some were sent. It also does on a connection-oriented channel while the other side has not granted credits for the whole
    /// packet, unless `ignoresCredits`, which violates the protocol.
    @discardableResult
    public func send(
        _ packet: [UInt8], on channel: L2CAPChannel = .attribute, ignoresCredits: Bool = false
    ) -> SendOutcome {
        withEnd { end -> SendOutcome in
            guard !end.link.isEnded else { return .failed(KernelError("send", .notConnected)) }
            guard end.hasRoom else { return .wouldBlock }
            guard let key = end.key(of: channel) else { return .failed(KernelError("send", .notConnected)) }
            return end.send(packet, on: key, ignoresCredits: ignoresCredits)
        } ?? .failed(KernelError("send", .notConnected))
    }

    /// Requests one ``SimulatedLinkHandler/writable(_:)`` as soon as a packet can be sent.
    public func notifyWhenWritable() {
        _ = withEnd { end in
            end.side.awaitsRoom = true
            if end.hasRoom { end.receive(.room) }
        }
    }

    /// Calls `body` on the radio's loop after a time on its clock, at once for none.
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        guard delay > .zero else { return body() }
        radio.withWorld { world -> Void in
            world.schedule(after: delay) { [unowned world] in world.post(.completion(body)) }
        }
    }

    /// Ends the link at its next connection event.
    public func disconnect(reason: HCIStatus = .remoteUserTerminatedConnection) {
        _ = withEnd { $0.disconnect(reason: reason) }
    }
}

extension LinkEnd {
    /// The key of a peripheral's channel.
    fileprivate func key(of channel: L2CAPChannel) -> ChannelKey? {
        switch channel {
        case .fixed(let identifier): return .fixed(identifier)
        case .dynamic(let psm): return (side.node as? PeripheralNode)?.channels.key(of: psm, on: self)
        }
    }

    /// Passes a peripheral's packet to its controller, if the other side has granted credits.
    fileprivate func send(_ packet: [UInt8], on key: ChannelKey, ignoresCredits: Bool) -> SendOutcome {
        var byteCount: Int?
        if case .dynamic = key, !ignoresCredits, let node = side.node as? PeripheralNode {
            byteCount = node.channels.sendFrames(ofSDU: packet.count, key, on: self)
            guard byteCount != nil else {
                side.awaitsCredits = true
                return .wouldBlock
            }
        }
        send(.data(key, packet, byteCount: byteCount))
        return .sent
    }
}

extension SimulatedRadio {
    /// Delivers an event of a link to the peripheral's handler.
    func deliver(_ event: PeripheralEvent, toPeripheralAt identifier: Int) {
        let link = SimulatedLink(radio: self, identifier: identifier)
        if case .connected = event {
            let make = withWorld { ($0.peripherals.ends[identifier]?.side.node as? PeripheralNode)?.makeHandler }
            guard let handler = make?(link) else { return }
            withWorld { world in
                if let end = world.peripherals.ends[identifier] {
                    end.side.program = LinkProgram(handler)
                } else {
                    world.release(handler)
                }
            }
            return
        }
        let handler = withWorld { ($0.peripherals.ends[identifier]?.side.program as? LinkProgram)?.handler }
        switch event {
        case .connected: break
        case .received(let channel, let packet): handler?.received(packet.span.bytes, on: channel, of: link)
        case .writable: handler?.writable(link)
        case .securityChanged(let security): handler?.securityChanged(security, of: link)
        case .disconnected(let reason):
            handler?.disconnected(link, reason: reason)
            withWorld { $0.removePeripheralEnd(identifier) }
        }
    }
}

/// The handler of a link, as the link refers to it.
private final class LinkProgram: Sendable {
    let handler: any SimulatedLinkHandler

    init(_ handler: any SimulatedLinkHandler) { self.handler = handler }
}

/// The handler of a simulated peripheral's link: packets in, packets out.
///
/// All methods are called on the radio's loop, never from within a call to the link.
public protocol SimulatedLinkHandler: AnyObject, Sendable {
    /// Receives a packet, borrowed for the call.
    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink)

    /// The link accepts packets again after ``SimulatedLink/notifyWhenWritable()``.
    func writable(_ link: SimulatedLink)

    /// The link was encrypted, or its security level was raised.
    func securityChanged(_ security: LinkSecurity, of link: SimulatedLink)

    /// The link has ended. The last call.
    func disconnected(_ link: SimulatedLink, reason: HCIStatus)
}

extension SimulatedLinkHandler {
    /// Does nothing.
    public func writable(_ link: SimulatedLink) {}
    /// Does nothing.
    public func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {}
    /// Does nothing.
    public func disconnected(_ link: SimulatedLink, reason: HCIStatus) {}
}
