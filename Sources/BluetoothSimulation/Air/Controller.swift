import BluetoothHCI

/// The host of a controller, which receives its events and, in the simulation, their objects.
protocol ControllerHost: AnyObject {
    /// The party that pairs for the device on a link.
    func user(of end: LinkEnd) -> AnyObject?
    /// Receives an event packet with its leading 0x04.
    func received(event: [UInt8])
    /// Receives a reported advertisement.
    func heard(_ advertiser: Advertiser, isResponse: Bool, rssi: Int8)
    /// Receives a created connection.
    func connected(_ end: LinkEnd)
    /// Receives a connection's end.
    func disconnected(_ end: LinkEnd, reason: HCIStatus)
    func receive(_ notice: LinkNotice, on end: LinkEnd)
}

/// An adapter's controller, radio and link layer: commands in, events out, as a chip (Core Vol 4 Part E).
//
// Holds more than ten variables: the parts of a chip, and the state that its reset clears.
final class Controller: RadioNode {
    let configuration: SimulatedController
    var advertisingSetCount: UInt8 { UInt8(clamping: configuration.advertisingSetCount) }
    /// Its own public address, without a fault.
    let ownAddress: BluetoothAddress
    /// The public address that the kernel has read, which is another after some faults.
    private(set) var publicAddress: BluetoothAddress
    weak var host: (any ControllerHost)?
    /// Whether the host has started it.
    var isRunning = false {
        didSet {
            guard isRunning != oldValue else { return }
            if isRunning { publicAddress = presentAddress } else { reset() }
            world.reachabilityChanged()
        }
    }
    /// Whether it hangs: it answers no command and sends no event.
    var isSilent: Bool { fault?.symptom == .hangs }
    /// What it no longer does.
    var fault: ControllerFault?
    var randomAddress = BluetoothAddress(0, kind: .random)
    private(set) lazy var scanner = SimulatedScanner(controller: self)
    private(set) lazy var initiator = Initiator(controller: self)
    private(set) lazy var advertising = ControllerAdvertising(controller: self)
    /// The filter accept list.
    private(set) var acceptList: [LEFilterAcceptListEntry] = []
    /// The family of commands used since the last reset.
    private var usedFamily: HCICommandFamily?

    init(world: World, configuration: SimulatedController, address: BluetoothAddress, fault: ControllerFault?) {
        self.configuration = configuration
        self.fault = fault
        (ownAddress, publicAddress) = (address, address)
        super.init(world: world)
        publicAddress = presentAddress
        signalStrength = configuration.signalStrength
        if configuration.hasCoded { supportedPHYs.insert(.leCoded) }
    }

    /// The public address that it reports when it is asked.
    private var presentAddress: BluetoothAddress {
        if case .answersAs(let other) = fault?.symptom { other } else { ownAddress }
    }

    override func user(of end: LinkEnd) -> AnyObject? { host?.user(of: end) }
    override var isOnAir: Bool { isRunning }
    override var isListening: Bool { isRunning && (scanner.isEnabled || initiator.isConnecting) }

    override func uses(_ address: BluetoothAddress) -> Bool {
        (address == publicAddress && !address.isZero) || (address == randomAddress && !address.isZero)
            || super.uses(address)
    }

    func address(_ type: LEOwnAddressType) -> BluetoothAddress {
        switch type {
        case .random, .resolvablePrivateOrRandom: return randomAddress
        default: return publicAddress
        }
    }

    override var hasRoom: Bool { configuration.maximumLinks.map { world.links(of: self).count < $0 } ?? true }

    func end(of handle: ConnectionHandle) -> LinkEnd? {
        world.links(of: self).first { $0.handle == handle }
    }

    /// Returns to the state after power-on; links end as if this side had gone.
    func reset() {
        for advertiser in advertisers { advertiser.isEnabled = false }
        advertisers = []
        scanner = SimulatedScanner(controller: self)
        initiator = Initiator(controller: self)
        advertising = ControllerAdvertising(controller: self)
        acceptList = []
        usedFamily = nil
        for end in world.links(of: self) { end.link.abandon(by: end) }
        world.updateAdvertising()
    }

    // MARK: Commands

    /// Executes a command and sends the events that answer it.
    ///
    /// - Returns: the command's status, or that of its start where an event follows later.
    @discardableResult
    func perform(_ command: AnyHCICommand) -> HCIStatus {
        guard isRunning, !isSilent else { return .hardwareFailure }
        if let family = command.family {
            guard family == configuration.family, usedFamily ?? family == family else {
                return answer(command, .commandDisallowed)
            }
            usedFamily = family
        }
        switch command.opcode {
        case HCIReset.opcode:
            reset()
            return answer(command, .success)
        case HCISetEventMask.opcode, LESetEventMask.opcode: return answer(command, .success)
        case LESetRandomAddress.opcode:
            guard let address = command.as(LESetRandomAddress.self)?.value else { break }
            guard !scanner.isEnabled, !advertising.isLegacyEnabled else { return answer(command, .commandDisallowed) }
            randomAddress = address
            return answer(command, .success)
        case LEClearFilterAcceptList.opcode, LEAddDeviceToFilterAcceptList.opcode,
            LERemoveDeviceFromFilterAcceptList.opcode:
            // Not while the list is in use (Core Vol 4 Part E §7.8.16).
            guard !scanner.usesAcceptList, !initiator.usesAcceptList else {
                return answer(command, .commandDisallowed)
            }
            changeAcceptList(command)
            return answer(command, .success)
        case LESetScanParameters.opcode, LESetScanEnable.opcode, LESetExtendedScanParameters.opcode,
            LESetExtendedScanEnable.opcode:
            return answer(command, scanner.perform(command))
        case LECreateConnection.opcode, LEExtendedCreateConnection.opcode:
            return answer(command, initiator.begin(command))
        case LECreateConnectionCancel.opcode: return initiator.cancel(command)
        default: return read(command) ?? performOnLink(command) ?? advertising.perform(command)
        }
        return answer(command, .invalidHCICommandParameters)
    }

    private func changeAcceptList(_ command: AnyHCICommand) {
        if let entry = command.as(LEAddDeviceToFilterAcceptList.self)?.value {
            if !acceptList.contains(entry) { acceptList.append(entry) }
        } else if let entry = command.as(LERemoveDeviceFromFilterAcceptList.self)?.value {
            acceptList.removeAll { $0 == entry }
        } else {
            acceptList = []
        }
    }

    /// Answers a command that reads what the controller is; nil for another.
    private func read(_ command: AnyHCICommand) -> HCIStatus? {
        switch command.opcode {
        case HCIReadLocalVersionInformation.opcode:
            answer(HCIReadLocalVersionInformation.self, configuration.version)
        case HCIReadLocalSupportedCommands.opcode:
            answer(HCIReadLocalSupportedCommands.self, configuration.commands)
        case HCIReadLocalSupportedFeatures.opcode:
            answer(HCIReadLocalSupportedFeatures.self, configuration.linkManagerFeatures)
        case HCIReadBDADDR.opcode: answer(HCIReadBDADDR.self, presentAddress)
        case LEReadLocalSupportedFeatures.opcode: answer(LEReadLocalSupportedFeatures.self, configuration.features)
        case LEReadBufferSize.opcode: answer(LEReadBufferSize.self, .init(packetLength: 251, count: 8))
        case LEReadSupportedStates.opcode: answer(LEReadSupportedStates.self, 0x3FF_FFFF_FFFF)
        case LEReadFilterAcceptListSize.opcode: answer(LEReadFilterAcceptListSize.self, 16)
        case LEReadMaximumDataLength.opcode:
            answer(
                LEReadMaximumDataLength.self,
                .init(transmitOctets: 251, transmitTime: 2120, receiveOctets: 251, receiveTime: 2120))
        case LEReadTransmitPower.opcode where configuration.family == .extended:
            answer(LEReadTransmitPower.self, .init(minimum: -20, maximum: max(configuration.transmitPower, 0)))
        default: nil
        }
    }

    /// Sends Command Complete with a status, or Command Status for the commands that answer with one.
    @discardableResult
    func answer(_ command: AnyHCICommand, _ status: HCIStatus) -> HCIStatus {
        // A controller answers unknown commands with Command Status as well.
        if command.isAnsweredByStatus || status == .unknownHCICommand {
            emit(HCICommandStatus(status: status, opcode: command.opcode))
        } else if let packet = try? command.opcode.complete(status) {
            emit(packet)
        }
        return status
    }

    /// Sends Command Complete with return parameters.
    @discardableResult
    func answer<Command: HCICommand>(_ command: Command.Type, _ parameters: Command.Return) -> HCIStatus {
        // Every answer fits.
        if let packet = try? Command.complete(parameters) { emit(packet) }
        return .success
    }

    // MARK: Events

    func emit(_ packet: [UInt8]) {
        guard !isSilent else { return }
        host?.received(event: packet)
    }

    func emit(_ event: some HCIEvent) {
        // Every event created here fits.
        guard let packet = try? event.packet() else { return }
        emit(packet)
    }

    /// Ends the fault if the intervention cures it.
    func intervene(_ cure: ControllerFault.Cure) {
        if let fault, fault.cure <= cure { self.fault = nil }
    }

    override func hear(_ advertiser: Advertiser) {
        // A connection attempt does not need the reports.
        switch fault?.symptom {
        case .hangs: return
        case .hearsNothing where !initiator.isConnecting: return
        default: break
        }
        let timing = scanner.timing(for: advertiser.advertisement)
        // Outside its scan window the radio does not listen.
        if !initiator.isConnecting, let timing, timing.window < timing.interval {
            guard world.happens(Double(timing.window) / Double(max(1, timing.interval))) else { return }
        }
        if let target = advertiser.advertisement.target, !uses(target) { return }
        scanner.hear(advertiser, timing: timing)
        initiator.hear(advertiser)
    }

    // MARK: Links

    override func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {
        emit(
            LEEnhancedConnectionComplete(
                LEConnectionComplete(
                    handle: end.handle, role: end.isCentral ? .central : .peripheral,
                    peer: LEPeerAddress(end.peerAddress), parameters: end.link.parameters)))
        if let advertiser { advertising.linkEstablished(end, through: advertiser) }
        host?.connected(end)
    }

    override func linkEnded(_ end: LinkEnd, reason: HCIStatus) {
        emit(HCIDisconnectionComplete(handle: end.handle, reason: reason))
        host?.disconnected(end, reason: reason)
    }

    override func receive(_ notice: LinkNotice, on end: LinkEnd) {
        switch notice {
        case .changed(let change): report(change, of: end)
        // The peer's features are the same as this controller's.
        case .featuresReceived: emit(LERemoteFeatures(handle: end.handle, features: configuration.features))
        default: break
        }
        host?.receive(notice, on: end)
    }

    private func report(_ change: SimulatedLinkChange, of end: LinkEnd) {
        switch change {
        case .parameters: emit(LEConnectionUpdateComplete(handle: end.handle, parameters: end.link.parameters))
        case .dataLength:
            let (sent, received) = (end.dataLength, end.other.dataLength)
            emit(
                LEDataLengthChange(
                    handle: end.handle,
                    length: LEDataLength(
                        transmitOctets: UInt16(clamping: sent.octets), transmitTime: UInt16(clamping: sent.time),
                        receiveOctets: UInt16(clamping: received.octets), receiveTime: UInt16(clamping: received.time)))
            )
        case .phy: emit(LEPHYUpdate(phys: phys(of: end)))
        case .security: emit(HCIEncryptionChange(handle: end.handle, isEncrypted: end.link.security.keySize > 0))
        }
    }
}

extension AnyHCICommand {
    /// The family it belongs to, if it matters.
    fileprivate var family: HCICommandFamily? {
        switch opcode.rawValue {
        case 0x2006, 0x2008...0x200D: .legacy
        case 0x2035...0x203D, 0x2041...0x2043: .extended
        default: nil
        }
    }

    /// Whether Command Status answers it, and another event follows later.
    fileprivate var isAnsweredByStatus: Bool {
        switch opcode {
        case HCIDisconnect.opcode, LECreateConnection.opcode, LEExtendedCreateConnection.opcode,
            LEConnectionUpdate.opcode, LEReadRemoteFeatures.opcode, LESetPHY.opcode:
            true
        default: false
        }
    }
}
