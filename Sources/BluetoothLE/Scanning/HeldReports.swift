import BluetoothAdvertising
import BluetoothPrimitives
import BluetoothSockets

/// The first report of a device, which waits for the scan response.
struct HeldReport {
    /// The place at which the device is remembered.
    let index: Int
    /// The number of the device's first state.
    let birth: UInt64
    /// The number of the state the report shows.
    let state: UInt64
    let rssi: Int8?
    let advertisement: Advertisement

    init(_ heard: HeardDevice, _ advertisement: Advertisement, rssi: Int8?) {
        (index, birth, state) = (heard.index, heard.birth, heard.state)
        self.rssi = rssi
        self.advertisement = advertisement
    }
}

/// The reports of a scan that wait for their scan response, all of them for the same time. Bounded.
struct HeldReports {
    static let limit = 256

    private struct Deadline {
        let index: Int
        let birth: UInt64
        let time: KernelInstant
    }

    private var reports: [Int: HeldReport] = [:]
    /// In the order in which they began to wait, which is that of their deadlines. A report that was taken out leaves its
    /// deadline behind.
    private var deadlines = RingBuffer<Deadline>()

    /// When the next report has waited long enough; nil when none waits.
    var nextDeadline: KernelInstant? { reports.isEmpty ? nil : deadlines.first?.time }

    /// Holds a report, or replaces the one of the same device, which keeps its deadline; returns the one that makes room.
    mutating func insert(_ report: HeldReport, until time: KernelInstant) -> HeldReport? {
        guard reports.updateValue(report, forKey: report.index) == nil else { return nil }
        deadlines.append(Deadline(index: report.index, birth: report.birth, time: time))
        return deadlines.count > Self.limit ? takeFirst() : nil
    }

    /// Takes out the report of a device that was remembered in a place before another.
    mutating func take(at index: Int, bornBefore birth: UInt64) -> HeldReport? {
        guard !reports.isEmpty, let report = reports[index], report.birth < birth else { return nil }
        return reports.removeValue(forKey: index)
    }

    mutating func remove(at index: Int) {
        if !reports.isEmpty { reports[index] = nil }
    }

    /// Takes out the next report whose time has come; nil for `now` takes any.
    mutating func takeDue(at now: KernelInstant?) -> HeldReport? {
        while let first = deadlines.first, now.map({ first.time <= $0 }) ?? true {
            if let report = takeFirst() { return report }
        }
        return nil
    }

    /// Takes out the first deadline and its report, if that still waits.
    private mutating func takeFirst() -> HeldReport? {
        guard let first = deadlines.popFirst(), reports[first.index]?.birth == first.birth else { return nil }
        return reports.removeValue(forKey: first.index)
    }
}
