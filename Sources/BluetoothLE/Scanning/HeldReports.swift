import BluetoothAdvertising
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The first report of a device, held until its scan response comes.
struct HeldReport {
    /// The device, in the state that the report represents.
    let device: DeviceState
    let advertisement: Advertisement
    let rssi: Int8?
}

/// The reports of a scan that wait for their scan response, all for the same time; at most ``limit``.
struct HeldReports {
    static let limit = 256

    private struct Deadline {
        let index: Int
        let birth: UInt64
        let time: KernelInstant
    }

    private var reports: [Int: HeldReport] = [:]
    /// In order of time. A removed report leaves its deadline behind.
    private var deadlines = RingBuffer<Deadline>()

    /// The deadline of the first report; nil when none is held.
    var nextDeadline: KernelInstant? { reports.isEmpty ? nil : deadlines.first?.time }

    /// Holds a report, or replaces that of the same device, which keeps its deadline; returns the report removed to
    /// make room.
    mutating func insert(_ report: HeldReport, until time: KernelInstant) -> HeldReport? {
        guard reports.updateValue(report, forKey: report.device.index) == nil else { return nil }
        deadlines.append(Deadline(index: report.device.index, birth: report.device.birth, time: time))
        return deadlines.count > Self.limit ? removeFirst() : nil
    }

    /// Removes the report of the device that had this index before its present one.
    mutating func remove(at index: Int, bornBefore birth: UInt64) -> HeldReport? {
        guard !reports.isEmpty, let report = reports[index], report.device.birth < birth else { return nil }
        return reports.removeValue(forKey: index)
    }

    mutating func remove(at index: Int) {
        if !reports.isEmpty { reports[index] = nil }
    }

    /// Removes the next report that is due; with nil, the next in any case.
    mutating func removeDue(at now: KernelInstant?) -> HeldReport? {
        while let first = deadlines.first, now.map({ first.time <= $0 }) ?? true {
            if let report = removeFirst() { return report }
        }
        return nil
    }

    /// Removes the first deadline and its report, if the report is still held.
    private mutating func removeFirst() -> HeldReport? {
        guard let first = deadlines.popFirst(), reports[first.index]?.device.birth == first.birth else { return nil }
        return reports.removeValue(forKey: first.index)
    }
}
