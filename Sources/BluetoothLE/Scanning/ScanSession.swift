import BluetoothAdvertising
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// A scan: its filter, its duplicate policy and its stream.
struct ScanSession {
    let id: UInt64
    let settings: ScanSettings
    let channel: StreamChannel<Advertisement>
    let whenAdapterUnavailable: AdapterUnavailablePolicy
    private let filter: ScanFilter
    private let isFilterStable: Bool
    private let rule: DuplicatePolicy.Rule
    private let isActive: Bool
    private let scanResponseTimeout: Duration
    /// The timer that ends the scan after its duration.
    var timer: LoopTimer?
    /// By the index of the device in the joiner.
    private var devices: [Device] = []
    /// The reports that wait for their scan response.
    private var held = HeldReports()

    /// The progress of a device in this scan, as numbers of its states.
    private struct Device {
        /// The last delivered state.
        var delivered: UInt64 = 0
        /// The last state that the filter rejected.
        var rejected: UInt64 = 0
        /// The state that lacked its scan response.
        var pendingScanResponse: UInt64 = 0
        /// The last delivered RSSI.
        var rssi: Int8?
    }

    init(id: UInt64, options: ScanOptions, settings: ScanSettings, channel: StreamChannel<Advertisement>) {
        self.id = id
        self.channel = channel
        self.settings = settings
        whenAdapterUnavailable = options.whenAdapterUnavailable
        filter = options.filter
        isFilterStable = options.filter.dependsOnDataOnly
        rule = options.duplicates.rule
        isActive = settings.isActive
        // A scan response may wait in the socket for the time of a batch.
        scanResponseTimeout =
            options.scanResponseTimeout > .zero ? options.scanResponseTimeout + settings.batching : .zero
    }

    /// Whether the scan may deliver a report, provided that it passes the filter.
    mutating func mayWant(_ heard: DeviceState, _ report: borrowing AdvertisingReport) -> Bool {
        if rule == .all { return true }
        while devices.count <= heard.index { devices.append(Device()) }
        // The previous device at this index was evicted.
        if let forgotten = held.remove(at: heard.index, bornBefore: heard.birth) {
            channel.send(forgotten.advertisement)
        }
        return isDue(heard, report)
    }

    /// Delivers a report accepted by ``mayWant(_:_:)`` if it passes the filter: at once, or with its scan response.
    mutating func receive(_ heard: DeviceState, _ advertisement: Advertisement, _ report: borrowing AdvertisingReport) {
        guard filter.matches(advertisement) else {
            if isFilterStable, rule != .all, !filter.isPostponed(advertisement) {
                devices[heard.index].rejected = heard.state
            }
            return
        }
        if rule == .all { return _ = channel.send(advertisement) }
        if isAwaitingScanResponse(heard, advertisement) {
            if scanResponseTimeout > .zero {
                return hold(HeldReport(device: heard, advertisement: advertisement, rssi: report.rssi))
            } else if rule == .once, devices[heard.index].pendingScanResponse < heard.birth {
                return devices[heard.index].pendingScanResponse = heard.state
            }
        }
        held.remove(at: heard.index)
        handOut(HeldReport(device: heard, advertisement: advertisement, rssi: report.rssi))
    }

    private mutating func handOut(_ report: HeldReport) {
        devices[report.device.index].delivered = report.device.state
        devices[report.device.index].rssi = report.rssi
        channel.send(report.advertisement)
    }

    // MARK: Scan responses

    /// The deadline of the first held report; nil when none is held.
    var nextDeadline: KernelInstant? { held.nextDeadline }

    private mutating func hold(_ report: HeldReport) {
        let deadline = report.advertisement.time.advanced(by: scanResponseTimeout)
        if let evicted = held.insert(report, until: deadline) { handOut(evicted) }
    }

    /// Delivers the held reports that are due; with nil, all of them.
    mutating func releaseHeld(at now: KernelInstant?) {
        while let report = held.removeDue(at: now) { handOut(report) }
    }

    /// Whether the report is new to this scan, and the filter has not rejected this state of the device.
    private func isDue(_ heard: DeviceState, _ report: borrowing AdvertisingReport) -> Bool {
        let device = devices[heard.index]
        guard device.rejected != heard.state else { return false }
        if device.delivered < heard.birth { return true }
        guard case .merge(let rssiChange) = rule else { return false }
        if device.delivered < heard.state { return true }
        guard let rssiChange, let now = report.rssi else { return false }
        guard let before = device.rssi else { return true }
        return abs(Int(now) - Int(before)) >= rssiChange
    }

    /// Whether the scan response of a device that was not yet delivered may still arrive.
    private func isAwaitingScanResponse(_ heard: DeviceState, _ advertisement: Advertisement) -> Bool {
        isActive && advertisement.isScannable && !heard.hasScanResponse
            && devices[heard.index].delivered < heard.birth
    }
}
