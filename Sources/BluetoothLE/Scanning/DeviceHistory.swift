import BluetoothLoop
import BluetoothSockets

/// When and how strongly a device was heard lately: the signal strengths of its last reports, and how often it
/// advertises.
///
/// Of fixed size, without memory beside its own: 16 signal strengths and 12 intervals are kept.
public struct DeviceHistory: Sendable {
    /// How many signal strengths are kept.
    public static let rssiCapacity = 16
    /// How many times between two advertisements are kept.
    static let intervalCapacity = 12

    /// When the device was heard first.
    public let first: KernelInstant
    /// When the device was heard last.
    public private(set) var last: KernelInstant
    /// How many reports there were, scan responses among them.
    public private(set) var reportCount: UInt32 = 0

    // No array: it would cost 32 bytes more and an allocation for each of thousands of devices.
    private var strengths = InlineArray<16, Int8>(repeating: 0)
    private var strengthCount: UInt8 = 0
    private var nextStrength: UInt8 = 0
    private var nextInterval: UInt8 = 0
    private var intervalCount: UInt8 = 0
    /// In microseconds.
    private var intervals = InlineArray<12, UInt32>(repeating: 0)
    private var lastAdvertising: KernelInstant?

    /// A history that begins with an advertisement.
    public init(_ advertisement: Advertisement) {
        first = advertisement.time
        last = advertisement.time
        record(advertisement)
    }

    /// Takes in another advertisement of the same device, and of the same advertising set; those of the past are not.
    public mutating func record(_ advertisement: Advertisement) {
        reportCount &+= 1
        last = max(last, advertisement.time)
        if let rssi = advertisement.rssi { record(Int8(clamping: rssi)) }
        // Scan responses come right after what they answer and tell nothing of its rhythm.
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
        // One advertisement goes out on three channels within 10 ms and may be heard on several; the next one comes
        // 20 ms later at the earliest (Core Vol 6 Part B §4.4.2).
        guard microseconds >= Self.advertisingEvent else { return }
        lastAdvertising = time
        intervals[Int(nextInterval)] = UInt32(clamping: microseconds)
        nextInterval = (nextInterval &+ 1) % UInt8(Self.intervalCapacity)
        intervalCount = min(intervalCount &+ 1, UInt8(Self.intervalCapacity))
    }

    /// How long the packets of one advertisement may take, and up to how much chance delays each, in microseconds.
    private static let advertisingEvent: Int64 = 10_000

    // MARK: What follows

    /// The last signal strengths in dBm, oldest first; at most ``rssiCapacity``.
    public var rssi: [Int] {
        let start = Int(nextStrength) - Int(strengthCount) + Self.rssiCapacity
        return (0..<Int(strengthCount)).map { Int(strengths[(start + $0) % Self.rssiCapacity]) }
    }

    /// The mean of the last signal strengths in dBm; nil when the controller could not tell any.
    public var meanRSSI: Double? {
        guard strengthCount > 0 else { return nil }
        return Double(rssi.reduce(0, +)) / Double(strengthCount)
    }

    /// How often the device advertises, as far as can be told from what was heard; nil before its second advertisement.
    ///
    /// Advertisements that were missed make the time between two a multiple of the interval, and chance adds up to
    /// 10 ms to each (advDelay, Core Vol 6 Part B §4.4.2.2.1). Both are reckoned with: this is the longest interval of
    /// which all times that were kept are multiples, less the 5 ms that chance adds on the average. As long as every
    /// other advertisement or more is missed by chance, a dozen of them are enough.
    public var advertisingInterval: Duration? {
        let times = (0..<Int(intervalCount)).map { Double(intervals[$0]) }
        return IntervalEstimate.interval(times).map { .microseconds(Int64($0.rounded())) }
    }
}

/// The interval behind the times between advertisements, some of which were missed.
enum IntervalEstimate {
    /// The mean of what chance adds to each interval.
    private static let meanDelay = 5_000.0
    /// What it adds at most.
    private static let maximumDelay = 10_000.0
    /// By how much the moments themselves are off.
    private static let jitter = 4_000.0
    /// The shortest interval that is allowed.
    private static let shortest = 20_000.0

    /// In microseconds, like the times; nil when there are none.
    static func interval(_ times: [Double]) -> Double? {
        guard let least = times.min() else { return nil }
        // The least time is one interval, or, when two in succession were never heard, a few.
        var best: (period: Double, misfits: Int)?
        for count in 1...4 {
            let period = refined(times, from: least / Double(count))
            guard period - meanDelay >= shortest * 0.75 || count == 1 else { break }
            let misfits = times.count { !fits($0, period) }
            // A shorter period fits whatever a longer one does, so it has to fit clearly better.
            if best == nil || misfits * 2 < best?.misfits ?? 0 { best = (period, misfits) }
            if misfits == 0 { break }
        }
        return best.map { max(0, $0.period - meanDelay) }
    }

    /// The mean period, when every time is taken for as many of them as come closest.
    private static func refined(_ times: [Double], from guess: Double) -> Double {
        // The shortest times first: for them it is surest how many periods they are.
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

    /// Whether a time is a multiple of the period, as far as chance lets one tell.
    private static func fits(_ time: Double, _ period: Double) -> Bool {
        let multiple = max(1, (time / period).rounded())
        let slack = min(maximumDelay / 2 * multiple.squareRoot() + jitter, period * 0.45)
        return abs(time - multiple * period) <= slack
    }
}
