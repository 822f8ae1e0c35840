import HCI

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
    /// By the place at which a device is remembered.
    private var devices: [Device] = []

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
    }

    /// Takes a report and hands it out if it passes the filter and is no duplicate.
    mutating func receive(_ heard: HeardDevice, _ advertisement: Advertisement, _ report: borrowing AdvertisingReport) {
        if rule == .all {
            if filter.matches(advertisement) { channel.send(advertisement) }
            return
        }
        while devices.count <= heard.index { devices.append(Device()) }
        let isDue = isDue(heard, report)
        guard isDue else { return }
        guard filter.matches(advertisement) else {
            if isFilterStable { devices[heard.index].refused = heard.state }
            return
        }
        if rule == .once, isWaitingForScanResponse(heard, advertisement) { return }
        devices[heard.index].handedOut = heard.state
        devices[heard.index].rssi = report.rssi
        channel.send(advertisement)
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

    /// Whether a device that will answer a scan request has not yet, in its first report.
    private mutating func isWaitingForScanResponse(_ heard: HeardDevice, _ advertisement: Advertisement) -> Bool {
        guard isActive, advertisement.isScannable, !heard.hasScanResponse,
            devices[heard.index].awaited < heard.birth
        else { return false }
        devices[heard.index].awaited = heard.state
        return true
    }
}

/// A device that was just heard, as the sessions tell it from others and from what it was before.
struct HeardDevice {
    /// The place at which it is remembered.
    var index: Int
    /// The number of the state it is in; every change of any device has a higher one than all before.
    var state: UInt64
    /// The number of its first state.
    var birth: UInt64
    var hasScanResponse: Bool
}
