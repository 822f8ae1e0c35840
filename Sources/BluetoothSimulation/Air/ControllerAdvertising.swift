import BluetoothHCI

/// The advertising of a controller: legacy advertising or several advertising sets.
final class ControllerAdvertising {
    private unowned let controller: Controller
    /// The advertiser of legacy advertising, on the air with the first parameters.
    private let legacy: Advertiser
    private var sets: [UInt8: AdvertisingSet] = [:]

    private struct AdvertisingSet {
        var advertiser: Advertiser
        var parameters: LESetExtendedAdvertisingParameters
        var randomAddress: BluetoothAddress?
        var end: ScheduledEvent?
    }

    init(controller: Controller) {
        self.controller = controller
        legacy = Advertiser(node: controller, address: controller.publicAddress)
    }

    deinit {
        for set in sets.values { set.end?.cancel() }
    }

    /// Whether legacy advertising is on.
    var isLegacyEnabled: Bool { legacy.isEnabled }
    private var hasLegacyParameters: Bool { controller.advertisers.contains { $0 === legacy } }

    func hasSet(_ handle: UInt8) -> Bool { sets[handle] != nil }
    func isSetEnabled(_ handle: UInt8) -> Bool { sets[handle]?.advertiser.isEnabled == true }

    /// A central has connected to one of the advertisers.
    func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser) {
        advertiser.isEnabled = false
        guard let set = sets.first(where: { $0.value.advertiser === advertiser }) else { return }
        set.value.end?.cancel()
        controller.emit(
            LEAdvertisingSetTerminated(status: .success, advertisingHandle: set.key, connectionHandle: end.handle))
    }

    // MARK: Commands

    /// Executes and answers an advertising command of either family.
    func perform(_ command: AnyHCICommand) -> HCIStatus {
        switch command.opcode {
        case LEReadMaximumAdvertisingDataLength.opcode:
            return controller.answer(LEReadMaximumAdvertisingDataLength.self, 1650)
        case LEReadNumberOfSupportedAdvertisingSets.opcode:
            return controller.answer(LEReadNumberOfSupportedAdvertisingSets.self, controller.advertisingSetCount)
        case LESetExtendedAdvertisingParameters.opcode:
            guard let parameters = command.as(LESetExtendedAdvertisingParameters.self) else { break }
            let status = setParameters(parameters)
            guard status.isSuccess else { return controller.answer(command, status) }
            return controller.answer(LESetExtendedAdvertisingParameters.self, parameters.transmitPower ?? 0)
        default: break
        }
        return controller.answer(command, execute(command))
    }

    /// Executes a command that returns only its status.
    private func execute(_ command: AnyHCICommand) -> HCIStatus {
        if let parameters = command.as(LESetAdvertisingParameters.self) { return setLegacyParameters(parameters) }
        if let data = command.as(LESetAdvertisingData.self)?.data {
            guard data.count <= 31 else { return .invalidHCICommandParameters }
            legacy.advertisement.data = data
        } else if let data = command.as(LESetScanResponseData.self)?.data {
            guard data.count <= 31 else { return .invalidHCICommandParameters }
            legacy.advertisement.scanResponse = data
        } else if let isOn = command.as(LESetAdvertisingEnable.self)?.value {
            if !hasLegacyParameters, isOn { _ = setLegacyParameters(LESetAdvertisingParameters()) }
            legacy.isEnabled = isOn
        } else if let command = command.as(LESetAdvertisingSetRandomAddress.self) {
            guard let set = sets[command.advertisingHandle] else { return .unknownAdvertisingIdentifier }
            guard !set.advertiser.isEnabled else { return .commandDisallowed }
            sets[command.advertisingHandle]?.randomAddress = command.address
            if set.parameters.ownAddressType == .random { set.advertiser.address = command.address }
        } else if let fragment = command.as(LESetExtendedAdvertisingData.self)?.value {
            return setData(fragment, at: \.data)
        } else if let fragment = command.as(LESetExtendedScanResponseData.self)?.value {
            return setData(fragment, at: \.scanResponse)
        } else if let command = command.as(LESetExtendedAdvertisingEnable.self) {
            return enable(command.isEnabled, command.sets)
        } else if let handle = command.as(LERemoveAdvertisingSet.self)?.value {
            guard let set = sets[handle] else { return .unknownAdvertisingIdentifier }
            guard !set.advertiser.isEnabled else { return .commandDisallowed }
            remove(set, handle)
        } else if command.is(LEClearAdvertisingSets.self) {
            guard !sets.values.contains(where: { $0.advertiser.isEnabled }) else { return .commandDisallowed }
            for (handle, set) in sets { remove(set, handle) }
        } else {
            return .unknownHCICommand
        }
        return .success
    }

    private func remove(_ set: AdvertisingSet, _ handle: UInt8) {
        controller.advertisers.removeAll { $0 === set.advertiser }
        sets[handle] = nil
    }

    // MARK: Legacy

    private func setLegacyParameters(_ parameters: LESetAdvertisingParameters) -> HCIStatus {
        guard !legacy.isEnabled else { return .commandDisallowed }
        if !hasLegacyParameters { controller.advertisers.append(legacy) }
        legacy.address = controller.address(parameters.ownAddressType)
        let isDirected =
            parameters.type == .connectableDirectedHighDutyCycle || parameters.type == .connectableDirectedLowDutyCycle
        legacy.advertisement.target = isDirected ? parameters.peer.address : nil
        legacy.advertisement.isConnectable = isDirected || parameters.type == .connectableUndirected
        legacy.advertisement.isScannable =
            parameters.type == .connectableUndirected || parameters.type == .scannableUndirected
        legacy.advertisement.interval = .microseconds(625) * Int(max(0x20, parameters.intervalMinimum))
        return .success
    }

    // MARK: Sets

    private func setParameters(_ parameters: LESetExtendedAdvertisingParameters) -> HCIStatus {
        let handle = parameters.advertisingHandle
        guard handle <= 0xEF else { return .invalidHCICommandParameters }
        let properties = parameters.properties
        // Extended PDUs are connectable or scannable, not both (Core Vol 4 Part E §7.8.53).
        guard properties.contains(.legacy) || !properties.isSuperset(of: [.connectable, .scannable]) else {
            return .invalidHCICommandParameters
        }
        var set: AdvertisingSet
        if let existing = sets[handle] {
            guard !existing.advertiser.isEnabled else { return .commandDisallowed }
            set = existing
            set.parameters = parameters
        } else {
            guard sets.count < Int(controller.advertisingSetCount) else { return .memoryCapacityExceeded }
            set = AdvertisingSet(
                advertiser: Advertiser(node: controller, address: controller.publicAddress), parameters: parameters)
            controller.advertisers.append(set.advertiser)
        }
        set.advertiser.address =
            parameters.ownAddressType == .public
            ? controller.publicAddress : (set.randomAddress ?? controller.randomAddress)
        set.advertiser.advertisement.set(parameters)
        sets[handle] = set
        return .success
    }

    private func setData(
        _ fragment: LEExtendedAdvertisingData, at path: WritableKeyPath<SimulatedAdvertisement, [UInt8]>
    ) -> HCIStatus {
        guard let advertiser = sets[fragment.advertisingHandle]?.advertiser else {
            return .unknownAdvertisingIdentifier
        }
        let limit = advertiser.advertisement.isLegacy ? 31 : 1650
        switch fragment.operation {
        case .complete, .firstFragment:
            guard fragment.data.count <= limit else { return .invalidHCICommandParameters }
            advertiser.advertisement[keyPath: path] = fragment.data
        case .intermediateFragment, .lastFragment:
            guard advertiser.advertisement[keyPath: path].count + fragment.data.count <= limit else {
                return .memoryCapacityExceeded
            }
            advertiser.advertisement[keyPath: path] += fragment.data
        default: break
        }
        return .success
    }

    private func enable(_ isOn: Bool, _ requests: [LEAdvertisingSetEnable]) -> HCIStatus {
        if requests.isEmpty {
            guard !isOn else { return .invalidHCICommandParameters }
            for set in sets.values { stop(set) }
            return .success
        }
        guard requests.allSatisfy({ hasSet($0.advertisingHandle) }) else { return .unknownAdvertisingIdentifier }
        for request in requests {
            guard let set = sets[request.advertisingHandle] else { continue }
            stop(set)
            guard isOn else { continue }
            start(set, request)
        }
        return .success
    }

    private func stop(_ set: AdvertisingSet) {
        set.end?.cancel()
        set.advertiser.isEnabled = false
    }

    private func start(_ set: AdvertisingSet, _ request: LEAdvertisingSetEnable) {
        let handle = request.advertisingHandle
        set.advertiser.start(events: request.maximumEvents > 0 ? Int(request.maximumEvents) : nil) { [unowned self] in
            terminated(handle, .limitReached, request.maximumEvents)
        }
        guard request.duration > 0 else { return }
        sets[handle]?.end = controller.world.schedule(after: .milliseconds(10) * Int(request.duration)) {
            [unowned self] in
            set.advertiser.isEnabled = false
            terminated(handle, .advertisingTimeout, 0)
        }
    }

    private func terminated(_ handle: UInt8, _ status: HCIStatus, _ events: UInt8) {
        sets[handle]?.end?.cancel()
        controller.emit(
            LEAdvertisingSetTerminated(status: status, advertisingHandle: handle, completedEvents: events))
    }
}

extension SimulatedAdvertisement {
    /// Applies the parameters of an advertising set.
    fileprivate mutating func set(_ parameters: LESetExtendedAdvertisingParameters) {
        let properties = parameters.properties
        isLegacy = properties.contains(.legacy)
        isConnectable = properties.contains(.connectable)
        isScannable = properties.contains(.scannable)
        isAnonymous = properties.contains(.anonymous)
        target = properties.contains(.directed) ? parameters.peer.address : nil
        interval = .microseconds(625) * Int(max(0x20, parameters.intervalMinimum))
        setIdentifier = parameters.advertisingSetID
        primaryPHY = parameters.primaryPHY
        secondaryPHY = parameters.secondaryPHY
        transmitPower = properties.contains(.includeTransmitPower) ? parameters.transmitPower ?? 0 : nil
    }
}
