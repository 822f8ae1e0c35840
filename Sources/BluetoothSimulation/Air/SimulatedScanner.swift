import BluetoothHCI

/// A controller's scanner: its parameters, and its reports.
final class SimulatedScanner {
    private unowned let controller: Controller
    private(set) var isEnabled = false
    private(set) var isExtended = false
    /// The timing on LE 1M; nil if it does not scan there.
    private(set) var timing: LEScanTiming? = LEScanTiming(type: .passive, interval: 0x10, window: 0x10)
    /// The timing on LE Coded; nil if it does not scan there.
    private(set) var coded: LEScanTiming?
    private(set) var filterPolicy = LEScanFilterPolicy.all
    private(set) var duplicates = LEDuplicateFilter.disabled
    /// The reported advertisements, while duplicates are filtered.
    private var reported: Set<ReportKey> = []
    private var end: ScheduledEvent?

    private struct ReportKey: Hashable {
        var address: BluetoothAddress
        var isResponse: Bool
        var set: UInt8
    }

    init(controller: Controller) { self.controller = controller }

    deinit { end?.cancel() }

    private var world: World { controller.world }
    var usesAcceptList: Bool { isEnabled && filterPolicy.rawValue & 1 == 1 }

    // MARK: Commands

    func perform(_ command: AnyHCICommand) -> HCIStatus {
        if let parameters = command.as(LESetScanParameters.self) {
            return set(parameters.timing, nil, policy: parameters.filterPolicy)
        }
        if let parameters = command.as(LESetExtendedScanParameters.self) {
            guard parameters.leCoded == nil || controller.configuration.hasCoded else {
                return .unsupportedFeatureOrParameterValue
            }
            return set(parameters.le1M, parameters.leCoded, policy: parameters.filterPolicy)
        }
        if let enable = command.as(LESetScanEnable.self) {
            return setEnabled(enable.isEnabled, isExtended: false, duplicates: enable.duplicates, duration: 0)
        }
        if let enable = command.as(LESetExtendedScanEnable.self) {
            return setEnabled(
                enable.isEnabled, isExtended: true, duplicates: enable.duplicates,
                duration: enable.period == 0 ? enable.duration : 0)
        }
        return .invalidHCICommandParameters
    }

    private func set(_ timing: LEScanTiming?, _ coded: LEScanTiming?, policy: LEScanFilterPolicy) -> HCIStatus {
        guard !isEnabled else { return .commandDisallowed }
        let timings = [timing, coded].compactMap { $0 }
        guard !timings.isEmpty, timings.allSatisfy({ $0.interval >= 4 && $0.window >= 4 && $0.window <= $0.interval })
        else { return .invalidHCICommandParameters }
        self.timing = timing
        self.coded = coded
        filterPolicy = policy
        return .success
    }

    private func setEnabled(_ isOn: Bool, isExtended: Bool, duplicates: LEDuplicateFilter, duration: UInt16)
        -> HCIStatus
    {
        // Disabling a disabled scanner is refused; enabling an enabled one restarts it.
        guard isOn || isEnabled else { return .commandDisallowed }
        if !isOn { controller.intervene(.scanRestart) }
        isEnabled = isOn
        self.isExtended = isExtended
        self.duplicates = duplicates
        reported = []
        end?.cancel()
        end = nil
        if isOn, duration > 0 {
            end = world.schedule(after: .milliseconds(10) * Int(duration)) { [unowned self] in
                isEnabled = false
                world.updateAdvertising()
                controller.emit(LEScanTimeout())
            }
        }
        world.updateAdvertising()
        return .success
    }

    // MARK: Reports

    /// The timing for an advertisement; nil if it is not received.
    func timing(for advertisement: SimulatedAdvertisement) -> LEScanTiming? {
        advertisement.primaryPHY == .leCoded && !advertisement.isLegacy ? coded : timing
    }

    /// Reports a received advertisement, and requests the scan response if the scan is active.
    func hear(_ advertiser: Advertiser, timing: LEScanTiming?) {
        let advertisement = advertiser.advertisement
        guard isEnabled, let timing, passesFilter(advertiser), advertisement.isLegacy || isExtended else { return }
        report(advertiser, isResponse: false)
        if timing.type == .active, advertisement.isScannable, !world.happens(world.conditions.scanResponseLoss) {
            report(advertiser, isResponse: true)
        }
    }

    private func passesFilter(_ advertiser: Advertiser) -> Bool {
        switch filterPolicy {
        case .acceptList, .acceptListAndUnresolvedDirected:
            return controller.acceptList.contains(
                advertiser.advertisement.isAnonymous ? .anonymousAdvertisers : .device(advertiser.address))
        default: return true
        }
    }

    private func report(_ advertiser: Advertiser, isResponse: Bool) {
        let advertisement = advertiser.advertisement
        if duplicates != .disabled {
            let key = ReportKey(
                address: advertiser.address, isResponse: isResponse,
                set: advertisement.isLegacy ? 0xFF : advertisement.setIdentifier)
            guard reported.insert(key).inserted else { return }
        }
        let variation = world.conditions.signalVariation.magnitude
        let strength =
            Int(advertiser.node.signalStrength) + Int(controller.configuration.receiverGain)
            + (variation == 0 ? 0 : Int.random(in: -Int(variation)...Int(variation), using: &world.generator))
        let rssi = Int8(clamping: max(-127, min(20, strength)))
        let data = isResponse ? advertisement.scanResponse : advertisement.data
        // An extended report holds 229 bytes of data; longer data is reported in several events.
        let heard =
            advertisement.isLegacy ? data.count : min(data.count, max(0, advertisement.receivedByteLimit ?? data.count))
        var start = 0
        repeat {
            let end = min(start + 229, heard)
            let part = Array(data[start..<end])
            let report = AdvertisingReport(
                address: advertisement.isAnonymous ? nil : advertiser.address,
                properties: advertisement.properties(isResponse: isResponse),
                dataStatus: end < heard ? .moreToCome : heard < data.count ? .truncated : .complete,
                primaryPHY: advertisement.primaryPHY,
                secondaryPHY: advertisement.isLegacy ? nil : advertisement.secondaryPHY,
                advertisingSetID: advertisement.isLegacy ? nil : advertisement.setIdentifier,
                transmitPower: advertisement.isLegacy ? nil : advertisement.transmitPower, rssi: rssi,
                periodicAdvertisingInterval: advertisement.isLegacy ? nil : advertisement.periodicInterval,
                directAddress: advertisement.target, data: part.span.bytes)
            var event = AdvertisingReportEvent(layout: isExtended ? .extended : .legacy)
            // A part of at most 229 bytes fits.
            try? event.append(report)
            controller.emit(event.packet)
            start = end
        } while start < heard
        controller.host?.heard(advertiser, isResponse: isResponse, rssi: rssi)
    }
}

extension SimulatedAdvertisement {
    fileprivate func properties(isResponse: Bool) -> AdvertisingReport.Properties {
        var properties: AdvertisingReport.Properties = []
        if isConnectable { properties.insert(.connectable) }
        if isScannable { properties.insert(.scannable) }
        if target != nil { properties.insert(.directed) }
        if isResponse { properties.insert(.scanResponse) }
        if isLegacy { properties.insert(.legacy) }
        return properties
    }
}
