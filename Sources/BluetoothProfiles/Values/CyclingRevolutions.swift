/// The revolutions of a wheel or a crank, as sensors of bicycles count them.
public struct CyclingRevolutions: Hashable, Sendable {
    /// The number of revolutions so far; that of a crank starts again at 0 after 65,535.
    public var count: UInt32
    /// The time of the last revolution on the sensor's clock, in seconds. The clock starts again after 64 s, that of the
    /// wheel in the Cycling Power service after 32 s.
    public var time: Double

    /// Revolutions up to a time in seconds.
    ///
    /// A sensor counts on: the encoding keeps what the field holds of larger values.
    public init(count: UInt32 = 0, time: Double = 0) {
        (self.count, self.time) = (count, time)
    }

    /// The part of a bicycle that turns.
    enum Part {
        case wheel
        case crank
    }

    /// The revolutions per second since an earlier measurement; nil without a new one. Those of a wheel are negative when it
    /// turns backwards.
    func rate(since earlier: CyclingRevolutions?, of part: Part, clock: Double) -> Double? {
        guard let earlier else { return nil }
        var seconds = (time - earlier.time).truncatingRemainder(dividingBy: clock)
        if seconds < 0 { seconds += clock }
        guard seconds > 0 else { return nil }
        let turns = count &- earlier.count
        return switch part {
        case .wheel: Double(Int32(truncatingIfNeeded: turns)) / seconds
        case .crank: Double(UInt16(truncatingIfNeeded: turns)) / seconds
        }
    }
}

extension FieldCoder {
    /// The revolutions that a flag announces, on a clock with this many ticks in a second.
    mutating func revolutions(
        _ part: CyclingRevolutions.Part, _ value: inout CyclingRevolutions?, ticks: Double, flag: Int
    ) throws(MalformedValue) {
        let (name, format, limit) =
            part == .wheel ? ("wheel", NumberFormat.u32, UInt32.max) : ("crank", .u16, UInt32(UInt16.max))
        try group(&value, flag: flag, initial: CyclingRevolutions()) { (value, fields) throws(MalformedValue) in
            var count = Double(value.count & limit)
            try fields.number(name, &count, format, unit: "revolutions")
            value.count = UInt32(count)
            var time = (value.time * ticks).rounded().truncatingRemainder(dividingBy: 65_536)
            if time < 0 { time += 65_536 }
            value.time = time / ticks
            try fields.number(name + " time", &value.time, .u16, .over(ticks), unit: "s")
        }
    }
}
