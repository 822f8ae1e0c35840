/// A date and time of day as devices send it: without a time zone, mostly the local time (GATT Specification Supplement,
/// Date Time).
public struct DateTime: Hashable, Sendable, CustomStringConvertible {
    /// The year, 1582 to 9999; 0 is unknown.
    public var year: Int
    /// The month, 1 to 12; 0 is unknown.
    public var month: Int
    /// The day of the month, 1 to 31; 0 is unknown.
    public var day: Int
    /// The hours, 0 to 23.
    public var hours: Int
    /// The minutes, 0 to 59.
    public var minutes: Int
    /// The seconds, 0 to 59.
    public var seconds: Int

    /// A date and time of day; unknown without arguments.
    public init(
        year: Int = 0, month: Int = 0, day: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0
    ) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hours, self.minutes, self.seconds) = (hours, minutes, seconds)
    }

    /// The first part that is neither in its range nor unknown.
    var partOutOfRange: Int? {
        let parts = [
            (year == 0 ? 9999 : year, 1582...9999), (month, 0...12), (day, 0...31), (hours, 0...23), (minutes, 0...59),
            (seconds, 0...59),
        ]
        return parts.first { !$1.contains($0) }?.0
    }

    /// The time in ISO 8601, such as `2026-11-03T09:30:00`.
    public var description: String {
        func padded(_ value: Int, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return [padded(year, 4), padded(month, 2), padded(day, 2)].joined(separator: "-") + "T"
            + [hours, minutes, seconds].map { padded($0, 2) }.joined(separator: ":")
    }
}
