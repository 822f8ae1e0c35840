/// The distribution of durations, in a fixed amount of memory.
///
/// Durations are counted in microseconds, in intervals of at most 1/64 of their value. So a percentile differs from the
/// exact one by at most 0.8 %; the least, the greatest and the mean are exact to the microsecond.
struct DurationStatistics: Sendable {
    private static let parts = 64
    /// 12 days; what is longer counts as this.
    private static let longest: UInt64 = 1 << 40

    private var counts = [Int](repeating: 0, count: parts * 36)
    private(set) var count = 0
    private var sum: UInt64 = 0
    private var least: UInt64 = .max
    private var greatest: UInt64 = 0

    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let microseconds =
            seconds < 0 || attoseconds < 0
            ? 0 : UInt64(clamping: min(seconds, 2_000_000)) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
        let value = min(microseconds, Self.longest)
        counts[Self.index(of: value)] += 1
        count += 1
        sum &+= value
        least = min(least, value)
        greatest = max(greatest, value)
    }

    /// Nil without durations.
    var minimum: Duration? { count > 0 ? .microseconds(Int64(least)) : nil }
    var maximum: Duration? { count > 0 ? .microseconds(Int64(greatest)) : nil }
    var mean: Duration? { count > 0 ? .microseconds(Int64(clamping: sum) / Int64(count)) : nil }

    /// The least duration that is not exceeded by `percent` of them: number ⌈count × percent / 100⌉ in ascending order,
    /// as the middle of its interval.
    func percentile(_ percent: Int) -> Duration? {
        guard count > 0 else { return nil }
        let rank = max(1, min(count, (count * max(0, percent) + 99) / 100))
        // The first and the last are known exactly.
        if rank == count { return maximum }
        if rank == 1 { return minimum }
        var passed = 0
        for (index, number) in counts.enumerated() where number > 0 {
            passed += number
            if passed >= rank {
                return .microseconds(Int64(min(max(Self.middle(of: index), least), greatest)))
            }
        }
        return maximum
    }

    /// Below 64 µs each has its own; above, 64 to each power of two.
    private static func index(of value: UInt64) -> Int {
        guard value >= parts else { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - 6
        return parts * shift + Int(value >> UInt64(shift))
    }

    private static func middle(of index: Int) -> UInt64 {
        guard index >= 2 * parts else { return UInt64(index) }
        let shift = index / parts - 1
        let start = UInt64(index - parts * shift) << UInt64(shift)
        return start + (1 << UInt64(shift)) / 2
    }
}
