import BluetoothPrimitives
import BluetoothHCI

/// A device on a simulated radio without a kernel: it advertises, and a handler of the test answers on its links.
///
/// It stays on the air until ``remove()``, whether or not the object is retained.
public final class SimulatedPeripheral: Sendable {
    /// The radio it is on.
    public let radio: SimulatedRadio
    /// The device's address.
    public let address: BluetoothAddress
    let identifier: Int

    /// Creates a peripheral and starts to advertise.
    ///
    /// - Parameters:
    ///   - radio: the radio.
    ///   - address: the address; nil for a random static one.
    ///   - advertisements: the advertisements; connectable ones pause while it has the maximum number of links.
    ///   - signalStrength: the RSSI at which others receive it, in dBm.
    ///   - handler: creates the handler of each link; nil answers nothing.
    @discardableResult
    public init(
        on radio: SimulatedRadio, address: BluetoothAddress? = nil,
        advertisements: [SimulatedAdvertisement] = [SimulatedAdvertisement()], signalStrength: Int8 = -50,
        handler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)? = nil
    ) {
        self.radio = radio
        (identifier, self.address) = radio.withWorld { world in
            let address = address ?? .randomStatic(using: &world.generator)
            let node = PeripheralNode(world: world, address: address, makeHandler: handler)
            node.signalStrength = signalStrength
            world.peripherals.nodes[node.identifier] = node
            world.add(node)
            node.setAdvertisements(advertisements)
            return (node.identifier, address)
        }
    }

    /// The result of `body`; nil once the peripheral was removed.
    @discardableResult
    func withNode<Result: Sendable>(_ body: @Sendable (PeripheralNode) -> Result) -> Result? {
        radio.withWorld { [identifier] in ($0.peripherals.nodes[identifier] as? PeripheralNode).map(body) }
    }

    private func withLinks(_ body: @Sendable (LinkEnd) -> Void) {
        withNode { node in
            for end in node.world.links(of: node) { body(end) }
        }
    }

    /// Replaces the advertisements.
    public func setAdvertisements(_ advertisements: [SimulatedAdvertisement]) {
        withNode { $0.setAdvertisements(advertisements) }
    }

    /// Pauses or resumes advertising; links stay.
    public func setAdvertising(_ isOn: Bool) {
        withNode { $0.isAdvertising = isOn }
    }

    /// Sets the RSSI at which others receive it, in dBm.
    public func setSignalStrength(_ strength: Int8) {
        withNode { $0.signalStrength = strength }
    }

    /// Takes it out of range of all others: its links end by supervision timeout, unless it comes back before.
    public func setHidden(_ isHidden: Bool) {
        withNode { $0.isHidden = isHidden }
    }

    /// Sets the maximum number of connected centrals; 1 by default.
    public func setConnectionLimit(_ limit: Int) {
        withNode { $0.connectionLimit = max(0, limit) }
    }

    /// Drops every link as soon as it is up for `reason`, such as 0x3E (failed to be established); nil accepts links.
    public func setRefusal(_ reason: HCIStatus?) {
        withNode { $0.refusal = reason }
    }

    /// Keeps links but ignores all packets, like a device whose firmware hangs.
    public func setMute(_ isMute: Bool) {
        withNode { $0.isMute = isMute }
    }

    /// Pauses or resumes the packets that the peripheral's controller sends over its links, to fill its queue.
    public func setSending(_ isSending: Bool) {
        withLinks { $0.setSending(isSending) }
    }

    /// Pauses or resumes the reception of packets over its links: the centrals' controllers cannot deliver.
    public func setReceiving(_ isReceiving: Bool) {
        withLinks { $0.other.setSending(isReceiving) }
    }

    /// Requests other connection parameters of its centrals (Core Vol 3 Part A §4.20).
    public func requestConnectionParameters(_ parameters: LEConnectionParameters) {
        withLinks { $0.tell(.parametersRequested(parameters)) }
    }

    /// Sets the status that refuses a central's other connection parameters, such as Unsupported Remote Feature; nil
    /// accepts them.
    public func setParameterRefusal(_ status: HCIStatus?) {
        withNode { $0.parameterRefusal = status }
    }

    /// Sets the PHYs that its radio supports; LE 1M and LE 2M by default.
    public func setSupportedPHYs(_ phys: LEPHYSet) {
        withNode { $0.supportedPHYs = phys }
    }

    /// Accepts connection-oriented channels on a PSM.
    ///
    /// - Parameters:
    ///   - psm: the PSM.
    ///   - receiveMTU: the largest SDU it accepts, at most 65,535 bytes, or nil to refuse channels from now on.
    ///   - security: the security level required of the link.
    public func setService(_ psm: UInt16, receiveMTU: Int?, security: SecurityLevel = .low) {
        withNode { node in
            node.channels.setService(
                psm, receiveMTU.map { PeripheralService(receiveMTU: UInt16(clamping: $0), security: security) })
        }
    }

    /// Pauses or resumes granting credits for received frames of connection-oriented channels: without credits the
    /// other side has to wait.
    public func setGrantingCredits(_ isGranting: Bool) {
        withNode { $0.channels.setGrantingCredits(isGranting) }
    }

    /// Closes all connection-oriented channels of a PSM; the links stay.
    public func closeChannels(_ psm: UInt16) {
        withNode { $0.channels.close(psm) }
    }

    /// Ends all its links, each at its next connection event.
    public func disconnect(reason: HCIStatus = .remoteUserTerminatedConnection) {
        withLinks { $0.disconnect(reason: reason) }
    }

    /// Breaks all its links at once, without a packet on the air, for `reason` on both sides.
    public func breakLinks(reason: HCIStatus = .connectionTimeout) {
        withLinks { $0.link.end(reason: reason) }
    }

    /// The peripheral's links.
    public var links: [SimulatedLink] {
        let identifiers = withNode { $0.world.links(of: $0).map(\.side.identifier) } ?? []
        return identifiers.map { SimulatedLink(radio: radio, identifier: $0) }
    }

    /// Removes it from the air, as if its battery were removed.
    public func remove() {
        withNode { $0.remove() }
    }
}
