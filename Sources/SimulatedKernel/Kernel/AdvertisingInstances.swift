import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// What management advertising consists of.
struct AdvertisingInstances {
    struct Instance {
        var flags: AdvertisingInstanceFlags
        var duration: UInt16 = 0
        var intervals: ExtendedAdvertisingInstanceParameters.Intervals?
        var transmitPower: Int8?
        var data: [UInt8] = []
        var scanResponse: [UInt8] = []
        /// Begun with parameters, but without data.
        var isPending = false
        var timer: ScheduledEvent?
    }

    var instances: [UInt8: Instance] = [:]
    /// Set Advertising.
    var mode = AdvertisingMode.off
    /// Which instance a controller that has only one is advertising, and when the next has its turn.
    var current: UInt8?
    var rotation: ScheduledEvent?

    var isSettingOn: Bool { mode != .off }
    /// Those that Read Advertising Features lists: the kernel leaves out numbers above the number of instances.
    var listedNumbers: [UInt8] { instances.keys.filter { $0 <= instances.count }.sorted() }
    var numbers: [UInt8] { instances.filter { !$0.value.isPending }.keys.sorted() }
}

extension Adapter {
    private var isExtended: Bool { controller.configuration.features.advertisingFamily == .extended }
    private var maximumInstances: UInt8 { isExtended ? max(1, controller.configuration.advertisingSetCount) : 3 }
    private var maximumLength: Int { isExtended ? 251 : 31 }
    /// The kernel's own advertising interval, 1.28 s.
    private static let defaultInterval: UInt32 = 0x0800
    private static let defaultDuration = Duration.seconds(2)

    func performAdvertising(_ command: ManagementCommand, for request: ManagementRequest) {
        guard controller.configuration.hasLE else { return request.fail(.notSupported) }
        switch command {
        case .readAdvertisingFeatures:
            request.complete(
                .advertisingFeatures(
                    AdvertisingFeatures(
                        supportedFlags: supportedFlags, maximumAdvertisingDataLength: UInt8(clamping: maximumLength),
                        maximumScanResponseLength: UInt8(clamping: maximumLength),
                        maximumInstances: maximumInstances, instances: advertising.listedNumbers)))
        case .setAdvertising(let mode):
            guard configured.isLEEnabled else { return request.fail(.rejected) }
            change(request) { adapter in
                adapter.advertising.mode = mode
                adapter.applySetAdvertising()
            }
        case .addAdvertising(let wanted):
            guard configured.isLEEnabled else { return request.fail(.rejected) }
            guard isAcceptable(wanted.instance, wanted.flags, wanted.advertisingData, wanted.scanResponse) else {
                return request.fail(.invalidParameters)
            }
            var instance = AdvertisingInstances.Instance(
                flags: wanted.flags, duration: wanted.duration, data: wanted.advertisingData,
                scanResponse: wanted.scanResponse)
            if wanted.timeout > 0 { instance.timer = expiry(of: wanted.instance, after: wanted.timeout) }
            store(instance, wanted.instance, for: request)
            request.complete(.advertisingInstance(wanted.instance))
        case .removeAdvertising(let number): remove(number, for: request)
        case .addExtendedAdvertisingParameters(let wanted): begin(wanted, for: request)
        case .addExtendedAdvertisingData(let wanted): finish(wanted, for: request)
        default: request.fail(.unknownCommand)
        }
    }

    private var supportedFlags: AdvertisingInstanceFlags {
        var flags: AdvertisingInstanceFlags = [
            .connectable, .generalDiscoverable, .limitedDiscoverable, .managedFlags, .appearance, .localName,
            .transmitPower,
        ]
        if isExtended {
            flags.formUnion([.secondaryLE1M, .secondaryLE2M, .canSetTransmitPower, .hardwareOffload])
        }
        return flags
    }

    private func isAcceptable(
        _ number: UInt8, _ flags: AdvertisingInstanceFlags, _ data: [UInt8], _ scanResponse: [UInt8]
    ) -> Bool {
        (1...maximumInstances).contains(number) && supportedFlags.isSuperset(of: flags.subtracting(.scanResponse))
            && data.count <= maximumDataLength(flags) && scanResponse.count <= maximumScanResponseLength(flags)
            && Self.isWellFormed(data, flags, isScanResponse: false)
            && Self.isWellFormed(scanResponse, flags, isScanResponse: true)
    }

    private func maximumDataLength(_ flags: AdvertisingInstanceFlags) -> Int {
        var length = maximumLength
        if !flags.isDisjoint(with: [.generalDiscoverable, .limitedDiscoverable, .managedFlags]) { length -= 3 }
        if flags.contains(.transmitPower) { length -= 3 }
        return length
    }

    private func maximumScanResponseLength(_ flags: AdvertisingInstanceFlags) -> Int {
        var length = maximumLength
        if flags.contains(.appearance) { length -= 4 }
        return length
    }

    /// Whether every structure ends where its length says and none is the kernel's to write (`tlv_data_is_valid`).
    private static func isWellFormed(
        _ data: [UInt8], _ flags: AdvertisingInstanceFlags, isScanResponse: Bool
    ) -> Bool {
        let writesFlags = !flags.isDisjoint(with: [.generalDiscoverable, .limitedDiscoverable, .managedFlags])
        var reader = ByteReader(data.span.bytes)
        while let length = try? reader.readUInt8() {
            guard length > 0 else { continue }
            guard let type = try? reader.readUInt8(), (try? reader.skip(Int(length) - 1)) != nil else { return false }
            switch type {
            case 0x01: if isScanResponse || writesFlags { return false }
            case 0x08, 0x09: if flags.contains(.localName) { return false }
            case 0x0A: if flags.contains(.transmitPower) { return false }
            case 0x19: if flags.contains(.appearance) { return false }
            default: break
            }
        }
        return true
    }

    private func expiry(of number: UInt8, after seconds: UInt16) -> ScheduledEvent {
        world.schedule(after: .seconds(Int(seconds))) { [weak self] in
            guard let self, advertising.instances[number] != nil else { return }
            drop(number)
            send(.advertisingRemoved(number))
        }
    }

    private func store(_ instance: AdvertisingInstances.Instance, _ number: UInt8, for request: ManagementRequest) {
        let isNew = advertising.instances[number] == nil
        advertising.instances[number]?.timer?.cancel()
        advertising.instances[number] = instance
        if isNew { send(.advertisingAdded(number), skipping: request.socket) }
        guard isRunning else { return }
        start(number)
    }

    // MARK: Two commands

    private func begin(_ wanted: ExtendedAdvertisingInstanceParameters, for request: ManagementRequest) {
        guard configured.isLEEnabled else { return request.fail(.rejected) }
        guard isAcceptable(wanted.instance, wanted.flags, [], []) else { return request.fail(.invalidParameters) }
        guard isRunning else { return request.fail(.rejected) }
        let before = advertising.instances[wanted.instance]
        before?.timer?.cancel()
        // One that is there stays there with its data, and nobody is told of it again.
        var instance = AdvertisingInstances.Instance(
            flags: wanted.flags, duration: wanted.duration ?? 0, intervals: wanted.intervals,
            transmitPower: wanted.transmitPower, data: before?.data ?? [], scanResponse: before?.scanResponse ?? [],
            isPending: before?.isPending ?? true)
        if let timeout = wanted.timeout, timeout > 0 { instance.timer = expiry(of: wanted.instance, after: timeout) }
        advertising.instances[wanted.instance] = instance
        request.complete(
            .extendedAdvertisingParameters(
                ExtendedAdvertisingInstanceLimits(
                    instance: wanted.instance, transmitPower: wanted.transmitPower ?? 0,
                    maximumAdvertisingDataLength: UInt8(clamping: maximumDataLength(wanted.flags)),
                    maximumScanResponseLength: UInt8(clamping: maximumScanResponseLength(wanted.flags)))))
    }

    private func finish(_ wanted: ExtendedAdvertisingInstanceData, for request: ManagementRequest) {
        guard var instance = advertising.instances[wanted.instance] else { return request.fail(.invalidParameters) }
        guard isRunning else { return request.fail(.rejected) }
        guard isAcceptable(wanted.instance, instance.flags, wanted.advertisingData, wanted.scanResponse) else {
            drop(wanted.instance)
            return request.fail(.invalidParameters)
        }
        let isNew = instance.isPending
        instance.isPending = false
        instance.data = wanted.advertisingData
        instance.scanResponse = wanted.scanResponse
        advertising.instances[wanted.instance] = instance
        if isNew { send(.advertisingAdded(wanted.instance), skipping: request.socket) }
        start(wanted.instance)
        request.complete(.advertisingInstance(wanted.instance))
    }

    // MARK: Removing

    private func remove(_ number: UInt8, for request: ManagementRequest) {
        let removed = number == 0 ? advertising.instances.keys.sorted() : [number]
        guard number == 0 || advertising.instances[number] != nil else { return request.fail(.invalidParameters) }
        for number in removed {
            drop(number)
            send(.advertisingRemoved(number), skipping: request.socket)
        }
        request.complete(.advertisingInstance(number))
    }

    private func drop(_ number: UInt8) {
        advertising.instances[number]?.timer?.cancel()
        advertising.instances[number] = nil
        guard isRunning else { return }
        if isExtended {
            guard controller.advertising.hasSet(number) else { return }
            perform(
                .leSetExtendedAdvertisingEnable(false, sets: [LEAdvertisingSetEnable(advertisingHandle: number)]))
            perform(.leRemoveAdvertisingSet(advertisingHandle: number))
        } else if advertising.current == number {
            perform(.leSetAdvertisingEnable(false))
            advertising.current = nil
            rotate()
        }
    }

    /// Powering off takes away the instances of a controller that has sets, before the adapter is off; those of others are
    /// there again when it is back.
    func advertisingPowersOff() {
        if isExtended { removeAllAdvertising() }
    }

    func removeAllAdvertising() {
        for number in advertising.instances.keys.sorted() {
            drop(number)
            send(.advertisingRemoved(number))
        }
    }

    // MARK: On the air

    /// Advertises everything that is there, as after powering on and after a link.
    func resumeAdvertising() {
        guard isRunning, configured.isLEEnabled else { return }
        if isExtended {
            for number in advertising.numbers where !controller.advertising.isSetEnabled(number) {
                start(number)
            }
        } else if !controller.advertising.isLegacyEnabled {
            advertising.current = nil
            rotate()
        }
        applySetAdvertising()
    }

    private func start(_ number: UInt8) {
        guard let instance = advertising.instances[number], !instance.isPending, configured.isLEEnabled else { return }
        guard isExtended else {
            advertising.current = number
            return advertiseLegacy(instance)
        }
        let isLegacy = instance.flags.isDisjoint(with: [.secondaryLE1M, .secondaryLE2M, .secondaryLECoded])
        let isConnectable = instance.flags.contains(.connectable) || configured.isConnectable
        let interval = instance.intervals?.minimum ?? Self.defaultInterval
        var properties: LEAdvertisingEventProperties = isLegacy ? .legacy : []
        if isConnectable {
            properties.formUnion(isLegacy ? [.connectable, .scannable] : .connectable)
        } else if !instance.scanResponse.isEmpty || instance.flags.contains(.localName) {
            properties.insert(.scannable)
        }
        let set = LEAdvertisingSetEnable(advertisingHandle: number)
        if controller.advertising.hasSet(number) {
            perform(.leSetExtendedAdvertisingEnable(false, sets: [set]))
        }
        perform(
            .leSetExtendedAdvertisingParameters(
                LEExtendedAdvertisingParameters(
                    advertisingHandle: number, properties: properties, intervalMinimum: interval,
                    intervalMaximum: instance.intervals?.maximum ?? interval,
                    ownAddressType: ownAddressType(instance.flags),
                    transmitPower: instance.transmitPower,
                    secondaryPHY: instance.flags.contains(.secondaryLE2M) ? .le2M : .le1M)))
        if usesPrivateAddress(instance.flags) {
            perform(.leSetAdvertisingSetRandomAddress(advertisingHandle: number, privateAddress(ofInstance: number)))
        } else if identityAddress.kind == .random {
            perform(.leSetAdvertisingSetRandomAddress(advertisingHandle: number, identityAddress))
        }
        perform(
            .leSetExtendedAdvertisingData(
                LEExtendedAdvertisingData(advertisingHandle: number, data: data(of: instance))))
        perform(
            .leSetExtendedScanResponseData(
                LEExtendedAdvertisingData(advertisingHandle: number, data: scanResponse(of: instance))))
        perform(.leSetExtendedAdvertisingEnable(true, sets: [set]))
    }

    private func advertiseLegacy(_ instance: AdvertisingInstances.Instance) {
        if controller.advertising.isLegacyEnabled { perform(.leSetAdvertisingEnable(false)) }
        updateRandomAddress()
        let interval = UInt16(clamping: instance.intervals?.minimum ?? Self.defaultInterval)
        let isConnectable = instance.flags.contains(.connectable) || configured.isConnectable
        perform(
            .leSetAdvertisingParameters(
                LEAdvertisingParameters(
                    intervalMinimum: interval, intervalMaximum: interval,
                    type: isConnectable
                        ? .connectableUndirected
                        : instance.scanResponse.isEmpty ? .nonConnectableUndirected : .scannableUndirected,
                    ownAddressType: ownAddressType(instance.flags))))
        perform(.leSetAdvertisingData(data(of: instance)))
        perform(.leSetScanResponseData(scanResponse(of: instance)))
        perform(.leSetAdvertisingEnable(true))
        advertising.rotation?.cancel()
        guard advertising.numbers.count > 1 else { return }
        let duration = instance.duration == 0 ? Self.defaultDuration : .seconds(Int(instance.duration))
        advertising.rotation = world.schedule(after: duration) { [weak self] in self?.rotate() }
    }

    /// Shows other addresses in what is advertised.
    func renewAdvertisingAddresses() {
        guard isExtended else {
            guard controller.advertising.isLegacyEnabled else { return }
            perform(.leSetAdvertisingEnable(false))
            return resumeAdvertising()
        }
        for number in advertising.numbers where controller.advertising.isSetEnabled(number) {
            start(number)
        }
        applySetAdvertising()
    }

    /// Gives the next instance its turn on a controller that can advertise only one.
    private func rotate() {
        let numbers = advertising.numbers
        guard isRunning, let first = numbers.first else { return }
        let current = advertising.current ?? 0
        start(numbers.first { $0 > current } ?? first)
    }

    private func applySetAdvertising() {
        guard isRunning else { return }
        let instance = AdvertisingInstances.Instance(
            flags: advertising.mode == .connectable ? [.connectable, .managedFlags] : .managedFlags)
        if isExtended {
            let set = LEAdvertisingSetEnable(advertisingHandle: 0)
            if advertising.isSettingOn {
                advertising.instances[0] = instance
                start(0)
                advertising.instances[0] = nil
            } else if controller.advertising.hasSet(0) {
                perform(.leSetExtendedAdvertisingEnable(false, sets: [set]))
                perform(.leRemoveAdvertisingSet(advertisingHandle: 0))
            }
        } else if advertising.isSettingOn {
            advertiseLegacy(instance)
        } else if advertising.numbers.isEmpty, controller.advertising.isLegacyEnabled {
            perform(.leSetAdvertisingEnable(false))
        }
    }

    // MARK: What the kernel adds

    private func data(of instance: AdvertisingInstances.Instance) -> [UInt8] {
        var flags: UInt8 = 0
        if instance.flags.contains(.limitedDiscoverable) { flags |= 0x01 }
        if instance.flags.contains(.generalDiscoverable) { flags |= 0x02 }
        let hasFlags = flags != 0 || instance.flags.contains(.managedFlags)
        if hasFlags, !configured.isBREDREnabled { flags |= 0x04 }
        var data: [UInt8] = flags != 0 ? [2, 0x01, flags] : []
        data += instance.data
        if instance.flags.contains(.transmitPower) {
            data += [2, 0x0A, UInt8(bitPattern: instance.transmitPower ?? 0)]
        }
        return data
    }

    private func scanResponse(of instance: AdvertisingInstances.Instance) -> [UInt8] {
        var data = instance.scanResponse
        if instance.flags.contains(.localName) {
            let room = maximumLength - data.count - 2
            let name = Array(configured.localName.utf8)
            if room > 0, !name.isEmpty {
                let part = name.prefix(room)
                data += [UInt8(part.count + 1), part.count == name.count ? 0x09 : 0x08] + part
            }
        }
        return data
    }
}
