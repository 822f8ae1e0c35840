import BluetoothKernel
import BluetoothPrimitives
import HCI

extension Controller {
    /// The advertising commands of both generations.
    func performAdvertising(_ command: HCICommand) -> HCIStatus {
        switch command {
        case .leSetAdvertisingParameters(let parameters): return answer(command, setLegacyParameters(parameters))
        case .leSetAdvertisingData(let data):
            guard data.count <= 31 else { return answer(command, .invalidHCICommandParameters) }
            legacy.data = data
            legacy.advertiser?.data = data
            return answer(command, .success)
        case .leSetScanResponseData(let data):
            guard data.count <= 31 else { return answer(command, .invalidHCICommandParameters) }
            legacy.scanResponse = data
            legacy.advertiser?.scanResponse = data
            return answer(command, .success)
        case .leSetAdvertisingEnable(let isOn):
            if legacy.advertiser == nil, isOn { _ = setLegacyParameters(LEAdvertisingParameters()) }
            legacy.advertiser?.isEnabled = isOn
            return answer(command, .success)
        case .leReadMaximumAdvertisingDataLength: return answer(command, .maximumAdvertisingDataLength(1650))
        case .leReadNumberOfSupportedAdvertisingSets:
            return answer(command, .numberOfSupportedAdvertisingSets(configuration.advertisingSetCount))
        case .leSetExtendedAdvertisingParameters(let parameters):
            let status = setParameters(parameters)
            return status.isSuccess
                ? answer(command, .selectedTransmitPower(parameters.transmitPower ?? 0)) : answer(command, status)
        case .leSetAdvertisingSetRandomAddress(let handle, let address):
            guard let set = advertisingSets[handle] else { return answer(command, .unknownAdvertisingIdentifier) }
            guard !set.advertiser.isEnabled else { return answer(command, .commandDisallowed) }
            advertisingSets[handle]?.randomAddress = address
            if set.parameters.ownAddressType == .random { set.advertiser.address = address }
            return answer(command, .success)
        case .leSetExtendedAdvertisingData(let fragment):
            return answer(command, setData(fragment, at: \.data))
        case .leSetExtendedScanResponseData(let fragment):
            return answer(command, setData(fragment, at: \.scanResponse))
        case .leSetExtendedAdvertisingEnable(let isOn, let sets): return answer(command, enable(isOn, sets))
        case .leRemoveAdvertisingSet(let handle):
            guard let set = advertisingSets[handle] else { return answer(command, .unknownAdvertisingIdentifier) }
            guard !set.advertiser.isEnabled else { return answer(command, .commandDisallowed) }
            remove(set, handle)
            return answer(command, .success)
        case .leClearAdvertisingSets:
            guard !advertisingSets.values.contains(where: { $0.advertiser.isEnabled }) else {
                return answer(command, .commandDisallowed)
            }
            for (handle, set) in advertisingSets { remove(set, handle) }
            return answer(command, .success)
        default: return answer(command, .unknownHCICommand)
        }
    }

    private func remove(_ set: AdvertisingSet, _ handle: UInt8) {
        advertisers.removeAll { $0 === set.advertiser }
        advertisingSets[handle] = nil
    }

    // MARK: Legacy

    private func setLegacyParameters(_ parameters: LEAdvertisingParameters) -> HCIStatus {
        guard legacy.advertiser?.isEnabled != true else { return .commandDisallowed }
        let advertiser = legacy.advertiser ?? Advertiser(node: self, address: publicAddress)
        if legacy.advertiser == nil {
            advertiser.data = legacy.data
            advertiser.scanResponse = legacy.scanResponse
            advertisers.append(advertiser)
            legacy.advertiser = advertiser
        }
        advertiser.address = address(parameters.ownAddressType)
        let isDirected =
            parameters.type == .connectableDirectedHighDutyCycle
            || parameters.type == .connectableDirectedLowDutyCycle
        advertiser.target = isDirected ? parameters.peer.address : nil
        advertiser.isConnectable = isDirected || parameters.type == .connectableUndirected
        advertiser.isScannable = parameters.type == .connectableUndirected || parameters.type == .scannableUndirected
        advertiser.interval = .microseconds(625) * Int(max(0x20, parameters.intervalMinimum))
        return .success
    }

    // MARK: Sets

    private func setParameters(_ parameters: LEExtendedAdvertisingParameters) -> HCIStatus {
        let handle = parameters.advertisingHandle
        guard handle <= 0xEF else { return .invalidHCICommandParameters }
        let properties = parameters.properties
        // Extended PDUs are connectable or scannable, not both (Core Vol 4 Part E §7.8.53).
        guard properties.contains(.legacy) || !properties.isSuperset(of: [.connectable, .scannable]) else {
            return .invalidHCICommandParameters
        }
        var set: AdvertisingSet
        if let existing = advertisingSets[handle] {
            guard !existing.advertiser.isEnabled else { return .commandDisallowed }
            set = existing
            set.parameters = parameters
        } else {
            guard advertisingSets.count < Int(configuration.advertisingSetCount) else {
                return .memoryCapacityExceeded
            }
            set = AdvertisingSet(
                advertiser: Advertiser(node: self, address: publicAddress), parameters: parameters)
            advertisers.append(set.advertiser)
        }
        let advertiser = set.advertiser
        advertiser.address =
            parameters.ownAddressType == .public ? publicAddress : (set.randomAddress ?? randomAddress)
        advertiser.isLegacy = properties.contains(.legacy)
        advertiser.isConnectable = properties.contains(.connectable)
        advertiser.isScannable = properties.contains(.scannable)
        advertiser.isAnonymous = properties.contains(.anonymous)
        advertiser.target = properties.contains(.directed) ? parameters.peer.address : nil
        advertiser.interval = .microseconds(625) * Int(max(0x20, parameters.intervalMinimum))
        advertiser.setIdentifier = parameters.advertisingSetID
        advertiser.primaryPHY = parameters.primaryPHY
        advertiser.secondaryPHY = parameters.secondaryPHY
        advertiser.transmitPower = properties.contains(.includeTransmitPower) ? parameters.transmitPower ?? 0 : nil
        advertisingSets[handle] = set
        return .success
    }

    private func setData(
        _ fragment: LEExtendedAdvertisingData, at path: ReferenceWritableKeyPath<Advertiser, [UInt8]>
    ) -> HCIStatus {
        guard let advertiser = advertisingSets[fragment.advertisingHandle]?.advertiser else {
            return .unknownAdvertisingIdentifier
        }
        let limit = advertiser.isLegacy ? 31 : 1650
        switch fragment.operation {
        case .complete, .firstFragment:
            guard fragment.data.count <= limit else { return .invalidHCICommandParameters }
            advertiser[keyPath: path] = fragment.data
        case .intermediateFragment, .lastFragment:
            guard advertiser[keyPath: path].count + fragment.data.count <= limit else {
                return .memoryCapacityExceeded
            }
            advertiser[keyPath: path] += fragment.data
        default: break
        }
        return .success
    }

    private func enable(_ isOn: Bool, _ sets: [LEAdvertisingSetEnable]) -> HCIStatus {
        if sets.isEmpty {
            guard !isOn else { return .invalidHCICommandParameters }
            for set in advertisingSets.values { stop(set) }
            return .success
        }
        guard sets.allSatisfy({ advertisingSets[$0.advertisingHandle] != nil }) else {
            return .unknownAdvertisingIdentifier
        }
        for request in sets {
            guard let set = advertisingSets[request.advertisingHandle] else { continue }
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
        set.advertiser.remainingEvents = request.maximumEvents > 0 ? Int(request.maximumEvents) : nil
        set.advertiser.onFinish = { [unowned self] in terminated(handle, .limitReached, request.maximumEvents) }
        set.advertiser.isEnabled = true
        guard request.duration > 0 else { return }
        advertisingSets[handle]?.end = world.schedule(after: .milliseconds(10) * Int(request.duration)) {
            [unowned self] in
            set.advertiser.isEnabled = false
            terminated(handle, .advertisingTimeout, 0)
        }
    }

    private func terminated(_ handle: UInt8, _ status: HCIStatus, _ events: UInt8) {
        advertisingSets[handle]?.end?.cancel()
        emit(
            .leMeta(
                .advertisingSetTerminated(
                    LEAdvertisingSetTerminated(
                        status: status, advertisingHandle: handle, completedEvents: events))))
    }
}
