import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

/// A device on a radio that has no kernel of its own: it advertises, and a program of the test answers its links.
///
/// It stays on the air until ``remove()``, whether or not the program keeps the object.
public final class SimulatedPeripheral: Sendable {
    /// The band it is on.
    public let radio: SimulatedRadio
    /// Its address.
    public let address: BluetoothAddress
    let identifier: Int

    /// Puts a peripheral on the air.
    ///
    /// - Parameters:
    ///   - radio: the band.
    ///   - address: its address; nil makes up a static random one.
    ///   - advertisements: what it advertises; as long as it has as many links as it takes, none of the connectable.
    ///   - signalStrength: how strong others receive it, in dBm.
    ///   - handler: makes the program for each link that comes about; nil answers nothing.
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
            node.add()
            node.setAdvertisements(advertisements)
            return (node.identifier, address)
        }
    }

    func withNode(_ body: @Sendable (PeripheralNode) -> Void) {
        radio.withWorld { [identifier] world in
            if let node = world.peripherals.node(identifier) as? PeripheralNode { body(node) }
        }
    }

    /// Advertises these instead.
    public func setAdvertisements(_ advertisements: [SimulatedAdvertisement]) {
        withNode { $0.setAdvertisements(advertisements) }
    }

    /// Stops or resumes advertising; links stay.
    public func setAdvertising(_ isOn: Bool) {
        withNode { $0.setAdvertising(isOn) }
    }

    /// How strong others receive it, in dBm.
    public func setSignalStrength(_ strength: Int8) {
        withNode { $0.signalStrength = strength }
    }

    /// Takes it out of everybody's range: its links end by supervision time-out, unless it comes back before.
    public func setHidden(_ isHidden: Bool) {
        withNode { node in
            node.isHidden = isHidden
            node.world.reachabilityChanged()
        }
    }

    /// How many centrals may be connected at the same time; 1 at first.
    public func setConnectionLimit(_ limit: Int) {
        withNode { $0.setConnectionLimit(limit) }
    }

    /// Drops every link as soon as it is up for `reason`, such as 0x3E (failed to be established); nil accepts.
    public func setRefusal(_ reason: HCIStatus?) {
        withNode { $0.refusal = reason }
    }

    /// Keeps links but hears nothing that is said on them, like a device whose program hangs.
    public func setMute(_ isMute: Bool) {
        withNode { $0.isMute = isMute }
    }

    /// Stops or resumes what the peripheral's controller sends over its links: a full queue at will.
    public func setSending(_ isSending: Bool) {
        withNode { node in
            for end in node.world.links(of: node) {
                end.side.isSending = isSending
                end.link.scheduleConnectionEvent()
            }
        }
    }

    /// Stops or resumes what comes in over its links: the centrals' controllers cannot deliver.
    public func setReceiving(_ isReceiving: Bool) {
        withNode { node in
            for end in node.world.links(of: node) {
                end.other.side.isSending = isReceiving
                end.link.scheduleConnectionEvent()
            }
        }
    }

    /// Asks its centrals for other connection parameters (Core Vol 3 Part A §4.20).
    public func requestConnectionParameters(_ parameters: LEConnectionParameters) {
        withNode { node in
            for end in node.world.links(of: node) {
                end.send(.procedure { end.other.side.node.parametersRequested(parameters, on: end.other) })
            }
        }
    }

    /// How it answers a central that wants other connection parameters, such as Unsupported Remote Feature; nil takes them.
    public func setParameterRefusal(_ status: HCIStatus?) {
        withNode { $0.parameterRefusal = status }
    }

    /// The PHYs its radio has; LE 1M and LE 2M at first.
    public func setSupportedPHYs(_ phys: LEPHYSet) {
        withNode { $0.supportedPHYs = phys }
    }

    /// Offers a service by connection-oriented channels.
    ///
    /// - Parameters:
    ///   - psm: the service's number.
    ///   - receiveMTU: the largest SDU it takes, or nil to refuse from now on.
    ///   - security: how the link has to be protected.
    public func setService(_ psm: UInt16, receiveMTU: UInt16?, security: SecurityLevel = .low) {
        withNode { node in
            node.channels.setService(psm, receiveMTU.map { PeripheralService(receiveMTU: $0, security: security) })
        }
    }

    /// Stops or resumes making room on connection-oriented channels for what has come in: with no credits left, the
    /// other side has to wait.
    public func setGrantingCredits(_ isGranting: Bool) {
        withNode { $0.channels.setGrantingCredits(isGranting) }
    }

    /// Closes all connection-oriented channels of a service; the links stay.
    public func closeChannels(_ psm: UInt16) {
        withNode { $0.channels.close(psm) }
    }

    /// Ends all its links, each at its next connection event.
    public func disconnect(reason: HCIStatus = .remoteUserTerminatedConnection) {
        withNode { node in
            for end in node.world.links(of: node) { end.disconnect(reason: reason) }
        }
    }

    /// Breaks all its links at once, without a word on the air, for `reason` on both sides.
    public func breakLinks(reason: HCIStatus = .connectionTimeout) {
        withNode { node in
            for end in node.world.links(of: node) { end.link.end(reason: reason) }
        }
    }

    /// The links it has.
    public var links: [SimulatedLink] {
        radio.withWorld { [identifier] world in
            world.peripherals.node(identifier).map { world.links(of: $0).map(\.side.identifier) } ?? []
        }.map { SimulatedLink(radio: radio, identifier: $0) }
    }

    /// Takes it off the air for good, as if its battery were taken out.
    public func remove() {
        withNode { $0.remove() }
    }
}
