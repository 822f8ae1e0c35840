import BluetoothLE
import BluetoothAdvertising
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The merger of the reports of several adapters: a device once, with its signals.
///
/// One adapter, the one with the best signal, decides on the content of a device; the others contribute their RSSI. So a
/// device that two adapters receive in turn, one of them without its scan responses, does not change with each report.
struct ScanMerger {
    struct MergedDevice {
        /// The adapter that decides on the content.
        var leader: Int
        /// The content delivered last; nil before the first.
        var content: Content?
        /// Whether the first report waits for the scan response.
        var isAwaited = false
        var signals: [SignalTable.Signal]
        /// The RSSI delivered last, by adapter.
        var delivered: [Int: Int] = [:]
    }

    /// What makes a report new.
    struct Content: Hashable {
        var data: AdvertisementData
        var isConnectable: Bool
        var isScannable: Bool
        var isDirected: Bool

        /// The content of a report. A scan response says nothing about the type of the advertisement.
        init(_ report: Advertisement, after before: Content?) {
            let type = report.isScanResponse ? before : nil
            data = report.data
            isConnectable = type?.isConnectable ?? report.isConnectable
            isScannable = type?.isScannable ?? report.isScannable
            isDirected = type?.isDirected ?? report.isDirected
        }
    }

    /// The time after which another adapter decides if the first has received nothing.
    private static let patience = Duration.seconds(10)

    private let rule: DuplicatePolicy.Rule
    private let isActive: Bool
    private(set) var devices: RecentlyUsed<MergedDevice>
    /// The identity of bonded devices by their address on the air, for the adapters without the bond.
    private var identities: RecentlyUsed<BluetoothAddress>

    init(_ duplicates: DuplicatePolicy, isActive: Bool, deviceLimit: Int) {
        rule = duplicates.rule
        self.isActive = isActive
        devices = RecentlyUsed(limit: deviceLimit)
        identities = RecentlyUsed(limit: deviceLimit)
    }

    /// A report to deliver, with the signals of the device at all adapters.
    typealias Delivery = (advertisement: Advertisement, signals: [SignalTable.Signal])

    /// Receives a report of one adapter; returns what is to be delivered.
    mutating func receive(_ report: Advertisement, from member: Int) -> Delivery? {
        let report = resolved(report)
        let signal = SignalTable.Signal(member: member, rssi: report.rssi, time: report.time)
        guard report.address != nil else { return (report, [signal]) }
        let key = AdvertisementJoiner.key(report.address, report.advertisingSetID)
        let (index, _) = devices.use(key, orInsert: MergedDevice(leader: member, signals: []))
        devices[index].signals.record(signal)
        guard Self.isDue(report, signal, &devices[index], rule, isActive: isActive) || rule == .all else { return nil }
        if let rssi = report.rssi { devices[index].delivered[member] = rssi }
        return (report, devices[index].signals.sorted { ($0.rssi ?? Int.min) > ($1.rssi ?? Int.min) })
    }

    /// Removes the signals at an adapter that has left the group.
    mutating func remove(_ member: Int) {
        for index in 0..<devices.count {
            devices[index].signals.removeAll { $0.member == member }
            devices[index].delivered[member] = nil
        }
    }

    /// The report under the identity of a bonded device, if another adapter has the bond.
    private mutating func resolved(_ report: Advertisement) -> Advertisement {
        guard let address = report.address else { return report }
        if let onAir = report.privateAddress {
            let (index, _) = identities.use(AdvertisementJoiner.key(onAir, nil), orInsert: address)
            identities[index] = address
            return report
        }
        guard let index = identities.index(of: AdvertisementJoiner.key(address, nil)) else { return report }
        var report = report
        (report.address, report.privateAddress) = (identities[index], address)
        return report
    }

    /// Whether a report is new; updates the device.
    ///
    /// A method of the merger, of which the device is a part, would copy all devices.
    private static func isDue(
        _ report: Advertisement, _ signal: SignalTable.Signal, _ device: inout MergedDevice,
        _ rule: DuplicatePolicy.Rule, isActive: Bool
    ) -> Bool {
        chooseLeader(signal, &device)
        let (wasKnown, before) = (device.content != nil, device.content)
        if !wasKnown, rule == .once, isActive, report.isScannable, report.data.scanResponse.isEmpty, !device.isAwaited {
            device.isAwaited = true
            return false
        }
        if device.leader == signal.member || !wasKnown { device.content = Content(report, after: before) }
        guard wasKnown else { return true }
        guard case .merge(let rssiChange) = rule else { return false }
        if device.content != before { return true }
        guard let rssiChange, let rssi = signal.rssi else { return false }
        return device.delivered[signal.member].map { abs(rssi - $0) >= rssiChange } ?? true
    }

    private static func chooseLeader(_ signal: SignalTable.Signal, _ device: inout MergedDevice) {
        guard device.leader != signal.member else { return }
        guard let leader = device.signals.first(where: { $0.member == device.leader }),
            leader.time.duration(to: signal.time) < patience
        else { return device.leader = signal.member }
        if let mine = signal.rssi, mine >= (leader.rssi ?? Int.min / 2) + GroupChooser.margin {
            device.leader = signal.member
        }
    }
}
