import BluetoothAdvertising
import BluetoothSockets
import BluetoothHCI

/// One consumer of what a controller hears.
struct ScanSession {
    let id: UInt64
    let settings: ScanSettings
    let channel: StreamChannel<Advertisement>
    let whenAdapterLeaves: AdapterLeavePolicy
    private let filter: ScanFilter
    private let isFilterStable: Bool
    private let rule: DuplicatePolicy.Rule
    private let isActive: Bool
    private let scanResponseTimeout: Duration
    /// By the place at which a device is remembered.
    private var devices: [Device] = []
    /// What waits for a scan response.
    private var held = HeldReports()

    /// What has become of a device in this session.
    private struct Device {
        /// The state of the device that was handed out last.
        var handedOut: UInt64 = 0
        /// The state that the filter refused last.
        var refused: UInt64 = 0
        /// The state in which it is waited for the scan response.
        var awaited: UInt64 = 0
        /// The signal strength that was handed out last.
        var rssi: Int8?
    }

    init(id: UInt64, options: ScanOptions, settings: ScanSettings, channel: StreamChannel<Advertisement>) {
        self.id = id
        self.channel = channel
        self.settings = settings
        whenAdapterLeaves = options.whenAdapterLeaves
        filter = options.filter
        isFilterStable = options.filter.dependsOnDataOnly
        rule = options.duplicates.rule
        isActive = settings.isActive
        scanResponseTimeout = options.scanResponseTimeout
    }

    /// Whether a report may be handed out, if it passes the filter.
    mutating func mayWant(_ heard: HeardDevice, _ report: borrowing AdvertisingReport) -> Bool {
        if rule == .all { return true }
        while devices.count <= heard.index { devices.append(Device()) }
        // The device that was remembered in this place has made room for another.
        if let forgotten = held.take(at: heard.index, bornBefore: heard.birth) { channel.send(forgotten.advertisement) }
        return isDue(heard, report)
    }

    /// Hands out a report that ``mayWant(_:_:)`` let through, if it passes the filter, now or when its scan response has
    /// come.
    mutating func receive(_ heard: HeardDevice, _ advertisement: Advertisement, _ report: borrowing AdvertisingReport) {
        guard filter.matches(advertisement) else {
            if isFilterStable, rule != .all { devices[heard.index].refused = heard.state }
            return
        }
        if rule == .all { return _ = channel.send(advertisement) }
        if isAwaitingScanResponse(heard, advertisement) {
            if scanResponseTimeout > .zero {
                return hold(HeldReport(heard, advertisement, rssi: report.rssi))
            } else if rule == .once, devices[heard.index].awaited < heard.birth {
                return devices[heard.index].awaited = heard.state
            }
        }
        held.remove(at: heard.index)
        handOut(HeldReport(heard, advertisement, rssi: report.rssi))
    }

    private mutating func handOut(_ report: HeldReport) {
        devices[report.index].handedOut = report.state
        devices[report.index].rssi = report.rssi
        channel.send(report.advertisement)
    }

    // MARK: Scan responses

    /// When the next report has waited long enough for its scan response; nil when none waits.
    var nextDeadline: KernelInstant? { held.nextDeadline }

    private mutating func hold(_ report: HeldReport) {
        let deadline = report.advertisement.time.advanced(by: scanResponseTimeout)
        if let evicted = held.insert(report, until: deadline) { handOut(evicted) }
    }

    /// Hands out the reports whose scan response has not come in time; nil is all that wait.
    mutating func releaseHeld(at now: KernelInstant?) {
        while let report = held.takeDue(at: now) { handOut(report) }
    }

    /// Whether the device has something new to say, and the filter may let it.
    private func isDue(_ heard: HeardDevice, _ report: borrowing AdvertisingReport) -> Bool {
        let device = devices[heard.index]
        guard device.refused != heard.state else { return false }
        if device.handedOut < heard.birth { return true }
        guard case .merge(let rssiChange) = rule else { return false }
        if device.handedOut < heard.state { return true }
        guard let rssiChange, let now = report.rssi else { return false }
        guard let before = device.rssi else { return true }
        return abs(Int(now) - Int(before)) >= rssiChange
    }

    /// Whether a device that was not handed out may still answer a scan request.
    private func isAwaitingScanResponse(_ heard: HeardDevice, _ advertisement: Advertisement) -> Bool {
        isActive && advertisement.isScannable && !heard.hasScanResponse
            && devices[heard.index].handedOut < heard.birth
    }
}
