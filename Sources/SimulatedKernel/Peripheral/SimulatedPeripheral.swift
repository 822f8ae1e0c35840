import BluetoothKernel
import BluetoothPrimitives
import HCI

/// What a simulated peripheral advertises.
public struct SimulatedAdvertisement: Hashable, Sendable {
    /// The AD structures, at most 31 bytes in legacy PDUs; sent as they are, malformed ones too.
    public var data: [UInt8]
    /// The answer to an active scanner.
    public var scanResponse: [UInt8]
    /// Whether a central may connect.
    public var isConnectable: Bool
    /// Whether scanners may ask for ``scanResponse``.
    public var isScannable: Bool
    /// Legacy PDUs, which every scanner hears; others only extended scanners do.
    public var isLegacy: Bool
    /// From one advertisement to the next; up to 10 ms of chance is added to each.
    public var interval: Duration
    /// How many times each advertisement is sent, for scanners that hear the same thing twice.
    public var repetitions: Int
    /// For whom a directed advertisement is.
    public var target: BluetoothAddress?
    /// Without an address on the air; extended PDUs only.
    public var isAnonymous: Bool
    /// The advertising set's number; extended PDUs only.
    public var setIdentifier: UInt8
    /// The PHY that scanners have to listen on: LE 1M or LE Coded; extended PDUs only.
    public var primaryPHY: LEPHY
    /// The PHY of the secondary channel; extended PDUs only.
    public var secondaryPHY: LEPHY
    /// The transmit power in dBm that the header tells; extended PDUs only.
    public var transmitPower: Int8?
    /// The interval of the periodic advertising that the header tells of, in units of 1.25 ms; extended PDUs only.
    public var periodicInterval: UInt16?
    /// How many bytes of ``data`` scanners get before they lose the rest of the chain; extended PDUs only.
    public var heardByteCount: Int?
    /// The address, where it is not the peripheral's own, such as for a second advertisement.
    public var address: BluetoothAddress?

    /// An advertisement; the defaults are those of most peripherals.
    public init(
        data: [UInt8] = [], scanResponse: [UInt8] = [], isConnectable: Bool = true, isScannable: Bool = true,
        isLegacy: Bool = true, interval: Duration = .milliseconds(100), repetitions: Int = 1,
        target: BluetoothAddress? = nil, isAnonymous: Bool = false, setIdentifier: UInt8 = 0,
        primaryPHY: LEPHY = .le1M, secondaryPHY: LEPHY = .le1M, transmitPower: Int8? = nil,
        periodicInterval: UInt16? = nil, heardByteCount: Int? = nil, address: BluetoothAddress? = nil
    ) {
        self.data = data
        self.scanResponse = scanResponse
        self.isConnectable = isConnectable
        self.isScannable = isScannable
        self.isLegacy = isLegacy
        self.interval = interval
        self.repetitions = repetitions
        self.target = target
        self.isAnonymous = isAnonymous
        self.setIdentifier = setIdentifier
        self.primaryPHY = primaryPHY
        self.secondaryPHY = secondaryPHY
        self.transmitPower = transmitPower
        self.periodicInterval = periodicInterval
        self.heardByteCount = heardByteCount
        self.address = address
    }

    /// One that nobody can connect to nor ask for more.
    public static func beacon(_ data: [UInt8], interval: Duration = .milliseconds(100)) -> SimulatedAdvertisement {
        SimulatedAdvertisement(data: data, isConnectable: false, isScannable: false, interval: interval)
    }

    func apply(to advertiser: Advertiser) {
        advertiser.data = data
        advertiser.scanResponse = scanResponse
        advertiser.isConnectable = isConnectable
        advertiser.isScannable = isScannable
        advertiser.isLegacy = isLegacy
        advertiser.interval = max(interval, .milliseconds(1))
        advertiser.repetitions = repetitions
        advertiser.target = target
        advertiser.isAnonymous = isAnonymous
        advertiser.setIdentifier = setIdentifier
        advertiser.primaryPHY = primaryPHY
        advertiser.secondaryPHY = secondaryPHY
        advertiser.periodicInterval = periodicInterval
        advertiser.heardByteCount = heardByteCount.map { max(0, $0) }
        advertiser.transmitPower = transmitPower
    }
}

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
            let identifier = world.makeIdentifier()
            world.peripherals[identifier] = node
            world.add(node)
            node.setAdvertisements(advertisements)
            return (identifier, address)
        }
    }

    func withNode(_ body: @Sendable (PeripheralNode) -> Void) {
        radio.withWorld { [identifier] world in
            if let node = world.peripheral(identifier) { body(node) }
        }
    }

    /// Advertises these instead.
    public func setAdvertisements(_ advertisements: [SimulatedAdvertisement]) {
        withNode { $0.setAdvertisements(advertisements) }
    }

    /// Stops or resumes advertising; links stay.
    public func setAdvertising(_ isOn: Bool) {
        withNode { node in
            node.isAdvertising = isOn
            node.updateAdvertisers()
        }
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
        withNode { node in
            node.connectionLimit = max(0, limit)
            node.updateAdvertisers()
        }
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
            node.services[psm] = receiveMTU.map { PeripheralService(receiveMTU: $0, security: security) }
        }
    }

    /// Stops or resumes making room on connection-oriented channels for what has come in: with no credits left, the
    /// other side has to wait.
    public func setGrantingCredits(_ isGranting: Bool) {
        withNode { node in
            node.isGrantingCredits = isGranting
            if isGranting { node.grantAllCredits() }
        }
    }

    /// Closes all connection-oriented channels of a service; the links stay.
    public func closeChannels(_ psm: UInt16) {
        withNode { node in
            for end in node.world.links(of: node) {
                for (key, _) in node.channels.sorted(by: { $0.key.number < $1.key.number })
                where node.channels[key]?.psm == psm && node.channels[key]?.link === end.link {
                    node.channels[key] = nil
                    end.send(.procedure { end.other.side.node.channelClosed(key, on: end.other) })
                }
            }
        }
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
            world.peripherals[identifier].map { world.links(of: $0).map(\.side.identifier) } ?? []
        }.map { SimulatedLink(radio: radio, identifier: $0) }
    }

    /// Takes it off the air for good, as if its battery were taken out.
    public func remove() {
        radio.withWorld { [identifier] in $0.removePeripheral(identifier) }
    }
}

extension World {
    func peripheral(_ identifier: Int) -> PeripheralNode? { peripherals[identifier] as? PeripheralNode }

    func removePeripheral(_ identifier: Int) {
        guard let node = peripherals.removeValue(forKey: identifier) as? PeripheralNode else { return }
        for end in links(of: node) {
            end.link.abandon(by: end)
            node.linkEnded(end, reason: .connectionTimeout)
        }
        node.isAdvertising = false
        node.updateAdvertisers()
        if let makeHandler = node.makeHandler { released.append(makeHandler) }
        remove(node)
    }
}
