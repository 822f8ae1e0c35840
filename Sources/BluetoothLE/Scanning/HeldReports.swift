import BluetoothAdvertising
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The first report of a device, held until its scan response comes.
struct HeldReport {
    /// The index at which the joiner remembers the device.
    let index: Int
    /// The number of the device's first state.
    let birth: UInt64
    /// The number of the state the report shows.
    let state: UInt64
    let rssi: Int8?
    let advertisement: Advertisement

    init(_ heard: DeviceState, _ advertisement: Advertisement, rssi: Int8?) {
        (index, birth, state) = (heard.index, heard.birth, heard.state)
        self.rssi = rssi
        self.advertisement = advertisement
    }
}

/// The reports of a scan that wait for their scan response, each for the same time; at most ``limit``.
struct HeldReports {
    static let limit = 256

    private struct Deadline {
        let index: Int
        let birth: UInt64
        let time: KernelInstant
    }

    private var reports: [Int: HeldReport] = [:]
    /// In order of time. A report that was removed leaves its deadline behind.
    private var deadlines = RingBuffer<Deadline>()

    /// When the first report is due; nil when none is held.
    var nextDeadline: KernelInstant? { reports.isEmpty ? nil : deadlines.first?.time }

    /// Holds a report, or replaces that of the same device, which keeps its deadline; returns the one that makes room.
    mutating func insert(_ report: HeldReport, until time: KernelInstant) -> HeldReport? {
        guard reports.updateValue(report, forKey: report.index) == nil else { return nil }
        deadlines.append(Deadline(index: report.index, birth: report.birth, time: time))
        return deadlines.count > Self.limit ? removeFirst() : nil
    }

    /// Removes the report of the device that had an index before another.
    mutating func remove(at index: Int, bornBefore birth: UInt64) -> HeldReport? {
        guard !reports.isEmpty, let report = reports[index], report.birth < birth else { return nil }
        return reports.removeValue(forKey: index)
    }

    mutating func remove(at index: Int) {
        if !reports.isEmpty { reports[index] = nil }
    }

    /// Removes the next report that is due; for nil, the next of all.
    mutating func removeDue(at now: KernelInstant?) -> HeldReport? {
        while let first = deadlines.first, now.map({ first.time <= $0 }) ?? true {
            if let report = removeFirst() { return report }
        }
        return nil
    }

    /// Removes the first deadline and its report, if that is still held.
    private mutating func removeFirst() -> HeldReport? {
        guard let first = deadlines.popFirst(), reports[first.index]?.birth == first.birth else { return nil }
        return reports.removeValue(forKey: first.index)
    }
}
