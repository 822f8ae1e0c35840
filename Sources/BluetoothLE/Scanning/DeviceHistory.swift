import BluetoothLoop
import BluetoothSockets

/// The recent reception history of a device: the RSSI of its last reports and its advertising interval.
///
/// Has a fixed size and allocates no memory: it stores 16 RSSI values and 12 times between advertisements.
public struct DeviceHistory: Sendable {
    /// The maximum number of stored RSSI values.
    package static let rssiCapacity = 16
    /// The maximum number of stored times between advertisements.
    static let intervalCapacity = 12

    /// The time of the first report.
    public let first: KernelInstant
    /// The time of the latest report.
    public private(set) var last: KernelInstant
    /// The number of reports, including scan responses.
    public var reportCount: Int { Int(reports) }

    private var reports: UInt32 = 0
    // Not an array, which would take 32 bytes more and an allocation for each of thousands of devices.
    private var strengths = InlineArray<16, Int8>(repeating: 0)
    private var strengthCount: UInt8 = 0
    private var nextStrength: UInt8 = 0
    private var nextInterval: UInt8 = 0
    private var intervalCount: UInt8 = 0
    /// In microseconds.
    private var intervals = InlineArray<12, UInt32>(repeating: 0)
    private var lastAdvertising: KernelInstant?

    /// Creates a history that begins with an advertisement.
    package init(_ advertisement: Advertisement) {
        first = advertisement.time
        last = advertisement.time
        record(advertisement)
    }

    /// Records a further advertisement of the same device and advertising set. One that is older than the last adds no
    /// interval.
    package mutating func record(_ advertisement: Advertisement) {
        reports &+= 1
        last = max(last, advertisement.time)
        if let rssi = advertisement.rssi { record(Int8(clamping: rssi)) }
        // A scan response follows its advertisement and is independent of the advertising interval.
        if !advertisement.isScanResponse { recordAdvertising(at: advertisement.time) }
    }

    private mutating func record(_ rssi: Int8) {
        strengths[Int(nextStrength)] = rssi
        nextStrength = (nextStrength &+ 1) % UInt8(Self.rssiCapacity)
        strengthCount = min(strengthCount &+ 1, UInt8(Self.rssiCapacity))
    }

    private mutating func recordAdvertising(at time: KernelInstant) {
        guard let before = lastAdvertising else { return lastAdvertising = time }
        let microseconds = before.duration(to: time).clampedNanoseconds / 1000
        // An advertising event uses up to three channels within 10 ms, and several of its packets may be received. The
        // next event follows after 20 ms at the earliest (Core Vol 6 Part B §4.4.2).
        guard microseconds >= Self.advertisingEvent else { return }
        lastAdvertising = time
        intervals[Int(nextInterval)] = UInt32(clamping: microseconds)
        nextInterval = (nextInterval &+ 1) % UInt8(Self.intervalCapacity)
        intervalCount = min(intervalCount &+ 1, UInt8(Self.intervalCapacity))
    }

    /// The maximum duration of an advertising event, and the maximum of advDelay, in microseconds.
    private static let advertisingEvent: Int64 = 10_000

    // MARK: Statistics

    /// The RSSI of the last reports in dBm, oldest first; at most 16.
    public var rssi: [Int] {
        let start = Int(nextStrength) - Int(strengthCount) + Self.rssiCapacity
        return (0..<Int(strengthCount)).map { Int(strengths[(start + $0) % Self.rssiCapacity]) }
    }

    /// The mean RSSI of the last reports in dBm; nil if the controller measured none.
    public var meanRSSI: Double? {
        guard strengthCount > 0 else { return nil }
        return Double(rssi.reduce(0, +)) / Double(strengthCount)
    }

    /// The estimated advertising interval; nil before the device's second advertisement.
    ///
    /// A missed advertisement makes the time between two a multiple of the interval, and the device adds a random delay
    /// of up to 10 ms to each (advDelay, Core Vol 6 Part B §4.4.2.2.1). The estimate is the longest interval of which
    /// all stored times are multiples, less the mean delay of 5 ms. If advertisements are missed at random, even half
    /// of them or more, a dozen stored times suffice.
    public var advertisingInterval: Duration? {
        let times = (0..<Int(intervalCount)).map { Double(intervals[$0]) }
        return IntervalEstimate.interval(times).map { .microseconds(Int64($0.rounded())) }
    }
}

/// The estimate of an advertising interval from times between advertisements, some of which were missed.
enum IntervalEstimate {
    /// The mean random delay (advDelay) in microseconds.
    private static let meanDelay = 5_000.0
    /// The maximum random delay in microseconds.
    private static let maximumDelay = 10_000.0
    /// The inaccuracy of the reception times in microseconds.
    private static let jitter = 4_000.0
    /// The shortest permitted advertising interval in microseconds.
    private static let shortest = 20_000.0

    /// The estimated interval in microseconds, as the times are; nil without times.
    static func interval(_ times: [Double]) -> Double? {
        guard let least = times.min() else { return nil }
        // The shortest time is one interval, or several if no two successive advertisements were received.
        var best: (period: Double, misfits: Int)?
        for count in 1...4 {
            let period = refined(times, from: least / Double(count))
            guard period - meanDelay >= shortest * 0.75 || count == 1 else { break }
            let misfits = times.count { !fits($0, period) }
            // A shorter period fits whatever a longer one does, so it must fit clearly better.
            if best == nil || misfits * 2 < best?.misfits ?? 0 { best = (period, misfits) }
            if misfits == 0 { break }
        }
        return best.map { max(0, $0.period - meanDelay) }
    }

    /// The mean period when each time counts as the nearest multiple of it.
    private static func refined(_ times: [Double], from guess: Double) -> Double {
        // Shortest times first: their multiples are the most certain.
        var period = guess
        for limit in [1.5, 3.5, 8.5] {
            var sum = 0.0
            var count = 0.0
            for time in times where time <= guess * limit {
                let multiple = max(1, (time / period).rounded())
                sum += time
                count += multiple
            }
            if count > 0 { period = sum / count }
        }
        return period
    }

    /// Whether a time is a multiple of the period within the tolerance of the random delays.
    private static func fits(_ time: Double, _ period: Double) -> Bool {
        let multiple = max(1, (time / period).rounded())
        let slack = min(maximumDelay / 2 * multiple.squareRoot() + jitter, period * 0.45)
        return abs(time - multiple * period) <= slack
    }
}
