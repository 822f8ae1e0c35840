import BluetoothHCI
import BluetoothManagement

/// An adapter's advertising through the management interface: the instances of programs, and Set Advertising.
final class AdapterAdvertising {
    private unowned let adapter: SimulatedAdapter
    private var instances: [UInt8: AdvertisedInstance] = [:]
    /// The mode of Set Advertising.
    private var mode = AdvertisingMode.off
    /// The current instance on a controller that has only one, and the time of the next one's turn.
    private var current: UInt8?
    private var rotation: ScheduledEvent?

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    private var controller: Controller { adapter.controller }
    var isSettingOn: Bool { mode != .off }
    /// The instances that Read Advertising Features lists: the kernel omits numbers above the number of instances.
    private var listedNumbers: [UInt8] { instances.keys.filter { $0 <= instances.count }.sorted() }
    private var numbers: [UInt8] { instances.filter { !$0.value.isPending }.keys.sorted() }

    private var isExtended: Bool { controller.configuration.features.advertisingFamily == .extended }
    private var maximumInstances: UInt8 { isExtended ? max(1, controller.advertisingSetCount) : 3 }
    private var maximumLength: Int { isExtended ? 251 : 31 }
    private static let defaultDuration = Duration.seconds(2)
    /// The time for which the kernel waits for the controller's answer to one command.
    private static let commandPatience = Duration.seconds(2)

    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        guard controller.configuration.hasLE else { return request.fail(.notSupported) }
        if adapter.isRunning, controller.isSilent, addsAdvertising(command) {
            adapter.world.schedule(after: Self.commandPatience) { request.fail(.authenticationFailed) }
            return
        }
        switch command {
        case is ManagementReadAdvertisingFeatures:
            request.complete(
                AdvertisingFeatures(
                    supportedFlags: supportedFlags, maximumAdvertisingDataLength: UInt8(clamping: maximumLength),
                    maximumScanResponseLength: UInt8(clamping: maximumLength),
                    maximumInstances: maximumInstances, instances: listedNumbers))
        case let command as ManagementSetAdvertising:
            guard adapter.settings.isLEEnabled else { return request.fail(.rejected) }
            adapter.settings.change(request) {
                mode = command.value
                applySetAdvertising()
            }
        case let wanted as ManagementAddAdvertising:
            guard adapter.settings.isLEEnabled else { return request.fail(.rejected) }
            guard isAcceptable(wanted.instance, wanted.flags, wanted.advertisingData, wanted.scanResponse) else {
                return request.fail(.invalidParameters)
            }
            var instance = AdvertisedInstance(
                flags: wanted.flags, duration: wanted.duration, data: wanted.advertisingData,
                scanResponse: wanted.scanResponse)
            if wanted.timeout > 0 { instance.timer = expiry(of: wanted.instance, after: wanted.timeout) }
            instances[wanted.instance]?.timer?.cancel()
            publish(instance, wanted.instance, isNew: instances[wanted.instance] == nil, for: request)
        case let command as ManagementRemoveAdvertising: remove(command.value, for: request)
        case let wanted as ManagementAddExtendedAdvertisingParameters: begin(wanted, for: request)
        case let wanted as ManagementAddExtendedAdvertisingData: finish(wanted, for: request)
        default: request.fail(.unknownCommand)
        }
    }

    /// Whether the kernel passes the command on to the controller before it answers.
    private func addsAdvertising(_ command: any ManagementCommand) -> Bool {
        command is ManagementAddAdvertising || command is ManagementAddExtendedAdvertisingParameters
            || command is ManagementAddExtendedAdvertisingData
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
            && AdvertisedInstance.isWellFormed(data, flags, isScanResponse: false)
            && AdvertisedInstance.isWellFormed(scanResponse, flags, isScanResponse: true)
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

    private func expiry(of number: UInt8, after seconds: UInt16) -> ScheduledEvent {
        adapter.world.schedule(after: .seconds(Int(seconds))) { [weak self] in
            guard let self, instances[number] != nil else { return }
            drop(number)
            adapter.send(ManagementAdvertisingRemoved(number))
        }
    }

    /// Stores an instance with its data, puts it on the air, and answers.
    private func publish(_ instance: AdvertisedInstance, _ number: UInt8, isNew: Bool, for request: ManagementRequest) {
        instances[number] = instance
        if isNew { adapter.send(ManagementAdvertisingAdded(number), skipping: request.socket) }
        start(number)
        request.complete(number)
    }

    // MARK: Extended commands

    private func begin(_ wanted: ManagementAddExtendedAdvertisingParameters, for request: ManagementRequest) {
        guard adapter.settings.isLEEnabled else { return request.fail(.rejected) }
        guard isAcceptable(wanted.instance, wanted.flags, [], []) else { return request.fail(.invalidParameters) }
        guard adapter.isRunning else { return request.fail(.rejected) }
        let before = instances[wanted.instance]
        before?.timer?.cancel()
        // An existing instance keeps its data, and no event reports it again.
        var instance = AdvertisedInstance(
            flags: wanted.flags, duration: wanted.duration ?? 0, intervals: wanted.intervals,
            transmitPower: wanted.transmitPower, data: before?.data ?? [], scanResponse: before?.scanResponse ?? [],
            isPending: before?.isPending ?? true)
        if let timeout = wanted.timeout, timeout > 0 { instance.timer = expiry(of: wanted.instance, after: timeout) }
        instances[wanted.instance] = instance
        request.complete(
            ExtendedAdvertisingInstanceLimits(
                instance: wanted.instance, transmitPower: wanted.transmitPower ?? 0,
                maximumAdvertisingDataLength: UInt8(clamping: maximumDataLength(wanted.flags)),
                maximumScanResponseLength: UInt8(clamping: maximumScanResponseLength(wanted.flags))))
    }

    private func finish(_ wanted: ManagementAddExtendedAdvertisingData, for request: ManagementRequest) {
        guard var instance = instances[wanted.instance] else { return request.fail(.invalidParameters) }
        guard adapter.isRunning else { return request.fail(.rejected) }
        guard isAcceptable(wanted.instance, instance.flags, wanted.advertisingData, wanted.scanResponse) else {
            drop(wanted.instance)
            return request.fail(.invalidParameters)
        }
        let isNew = instance.isPending
        instance.isPending = false
        instance.data = wanted.advertisingData
        instance.scanResponse = wanted.scanResponse
        publish(instance, wanted.instance, isNew: isNew, for: request)
    }

    // MARK: Removing

    private func remove(_ number: UInt8, for request: ManagementRequest) {
        let removed = number == 0 ? instances.keys.sorted() : [number]
        guard number == 0 || instances[number] != nil else { return request.fail(.invalidParameters) }
        for number in removed {
            drop(number)
            adapter.send(ManagementAdvertisingRemoved(number), skipping: request.socket)
        }
        request.complete(number)
    }

    private func drop(_ number: UInt8) {
        instances[number]?.timer?.cancel()
        instances[number] = nil
        guard adapter.isRunning else { return }
        if isExtended {
            removeSet(number)
        } else if current == number {
            adapter.perform(LESetAdvertisingEnable(false))
            current = nil
            rotate()
        }
    }

    private func removeSet(_ number: UInt8) {
        guard disableSet(number) else { return }
        adapter.perform(LERemoveAdvertisingSet(number))
    }

    /// Disables an advertising set; false if the controller has none with this number.
    @discardableResult
    private func disableSet(_ number: UInt8) -> Bool {
        guard controller.advertising.hasSet(number) else { return false }
        let set = LEAdvertisingSetEnable(advertisingHandle: number)
        adapter.perform(LESetExtendedAdvertisingEnable(false, sets: [set]))
        return true
    }

    /// Removes the instances of a controller with advertising sets before the adapter is off; those of other
    /// controllers are restored when it is back.
    func powerOff() {
        if isExtended { removeAll() }
    }

    func removeAll() {
        for number in instances.keys.sorted() {
            drop(number)
            adapter.send(ManagementAdvertisingRemoved(number))
        }
    }

    // MARK: On the air

    /// Starts all instances, after powering on and after a link.
    func resume() {
        guard adapter.isRunning, adapter.settings.isLEEnabled else { return }
        if isExtended {
            for number in numbers where !controller.advertising.isSetEnabled(number) { start(number) }
        } else if !controller.advertising.isLegacyEnabled {
            current = nil
            rotate()
        }
        applySetAdvertising()
    }

    private func start(_ number: UInt8) {
        guard adapter.isRunning, adapter.settings.isLEEnabled, let instance = instances[number], !instance.isPending
        else { return }
        guard isExtended else {
            current = number
            return advertiseLegacy(instance)
        }
        let isLegacy = instance.flags.isDisjoint(with: [.secondaryLE1M, .secondaryLE2M, .secondaryLECoded])
        let isConnectable = instance.flags.contains(.connectable) || adapter.settings.isConnectable
        let intervals = instance.intervals ?? adapter.keys.defaults.advertising
        var properties: LEAdvertisingEventProperties = isLegacy ? .legacy : []
        if isConnectable {
            properties.formUnion(isLegacy ? [.connectable, .scannable] : .connectable)
        } else if !instance.scanResponse.isEmpty || instance.flags.contains(.localName) {
            properties.insert(.scannable)
        }
        disableSet(number)
        adapter.perform(
            LESetExtendedAdvertisingParameters(
                advertisingHandle: number, properties: properties, intervalMinimum: intervals.minimum,
                intervalMaximum: intervals.maximum, ownAddressType: adapter.privacy.ownAddressType(instance.flags),
                transmitPower: instance.transmitPower,
                secondaryPHY: instance.flags.contains(.secondaryLE2M) ? .le2M : .le1M))
        if adapter.privacy.usesPrivateAddress(instance.flags) {
            adapter.perform(
                LESetAdvertisingSetRandomAddress(
                    advertisingHandle: number, adapter.privacy.address(ofInstance: number)))
        } else if adapter.identityAddress.kind == .random {
            adapter.perform(LESetAdvertisingSetRandomAddress(advertisingHandle: number, adapter.identityAddress))
        }
        let (data, response) = payloads(instance)
        adapter.perform(LESetExtendedAdvertisingData(LEExtendedAdvertisingData(advertisingHandle: number, data: data)))
        adapter.perform(
            LESetExtendedScanResponseData(LEExtendedAdvertisingData(advertisingHandle: number, data: response)))
        adapter.perform(
            LESetExtendedAdvertisingEnable(true, sets: [LEAdvertisingSetEnable(advertisingHandle: number)]))
    }

    /// An instance's data with the kernel's additions.
    private func payloads(_ instance: AdvertisedInstance) -> (data: [UInt8], scanResponse: [UInt8]) {
        let settings = adapter.settings
        return (
            instance.advertisingData(isBREDREnabled: settings.isBREDREnabled),
            instance.scanResponseData(localName: settings.localName, maximumLength: maximumLength)
        )
    }

    private func advertiseLegacy(_ instance: AdvertisedInstance) {
        if controller.advertising.isLegacyEnabled { adapter.perform(LESetAdvertisingEnable(false)) }
        adapter.privacy.updateRandomAddress()
        let intervals = instance.intervals ?? adapter.keys.defaults.advertising
        let isConnectable = instance.flags.contains(.connectable) || adapter.settings.isConnectable
        adapter.perform(
            LESetAdvertisingParameters(
                intervalMinimum: UInt16(clamping: intervals.minimum),
                intervalMaximum: UInt16(clamping: intervals.maximum),
                type: isConnectable
                    ? .connectableUndirected
                    : instance.scanResponse.isEmpty ? .nonConnectableUndirected : .scannableUndirected,
                ownAddressType: adapter.privacy.ownAddressType(instance.flags)))
        let (data, response) = payloads(instance)
        adapter.perform(LESetAdvertisingData(data))
        adapter.perform(LESetScanResponseData(response))
        adapter.perform(LESetAdvertisingEnable(true))
        rotation?.cancel()
        guard numbers.count > 1 else { return }
        let duration = instance.duration == 0 ? Self.defaultDuration : .seconds(Int(instance.duration))
        rotation = adapter.world.schedule(after: duration) { [weak self] in self?.rotate() }
    }

    /// Changes the private addresses of the advertising.
    func renewAddresses() {
        guard isExtended else {
            guard controller.advertising.isLegacyEnabled else { return }
            adapter.perform(LESetAdvertisingEnable(false))
            return resume()
        }
        for number in numbers where controller.advertising.isSetEnabled(number) { start(number) }
        applySetAdvertising()
    }

    /// Starts the turn of the next instance on a controller that can advertise only one.
    private func rotate() {
        let numbers = numbers
        guard let first = numbers.first else { return }
        let turn = current ?? 0
        start(numbers.first { $0 > turn } ?? first)
    }

    private func applySetAdvertising() {
        guard adapter.isRunning else { return }
        let instance = AdvertisedInstance(
            flags: mode == .connectable ? [.connectable, .managedFlags] : .managedFlags)
        if isExtended {
            guard isSettingOn else { return removeSet(0) }
            instances[0] = instance
            start(0)
            instances[0] = nil
        } else if isSettingOn {
            advertiseLegacy(instance)
        } else if numbers.isEmpty, controller.advertising.isLegacyEnabled {
            adapter.perform(LESetAdvertisingEnable(false))
        }
    }
}
