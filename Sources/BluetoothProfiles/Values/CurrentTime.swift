import BluetoothPrimitives

// Current Time Service 1.1.

/// The time of a clock, and why it was adjusted (Current Time).
public struct CurrentTime: Hashable, Sendable {
    /// The reasons for an adjustment.
    public struct Adjustments: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
        /// The bits of the value.
        public let rawValue: UInt8

        /// The reasons with these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A person set the clock.
        public static let manual = Self(rawValue: 1 << 0)
        /// A reference set the clock.
        public static let reference = Self(rawValue: 1 << 1)
        /// Another time zone.
        public static let timeZone = Self(rawValue: 1 << 2)
        /// The beginning or the end of daylight saving time.
        public static let daylightSaving = Self(rawValue: 1 << 3)

        /// The names of the reasons.
        static let names = ["manual update", "reference update", "time zone", "DST"]
    }

    /// The local time.
    public var time: DateTime
    /// The day of the week.
    public var dayOfWeek: DayOfWeek
    /// The fraction of the second, 0 to 255/256.
    public var fraction: Double
    /// Why the clock was adjusted.
    public var adjustments: Adjustments

    /// A local time.
    public init(
        _ time: DateTime, dayOfWeek: DayOfWeek = .unknown, fraction: Double = 0, adjustments: Adjustments = []
    ) {
        (self.time, self.dayOfWeek, self.fraction, self.adjustments) = (time, dayOfWeek, fraction, adjustments)
    }

    /// The local time at a number of seconds since 1970.
    /// - Parameters:
    ///   - seconds: the seconds since 1970-01-01T00:00:00Z; those before the year 1 or after 9999 are limited to these.
    ///   - utcOffset: the seconds by which the local time is ahead of UTC.
    ///   - adjustments: why the clock was adjusted.
    public init(secondsSince1970 seconds: Double, utcOffset: Double = 0, adjustments: Adjustments = []) {
        // From 0001-01-01 to 9999-12-31; also a NaN.
        let local = max(-62_135_596_800, min(253_402_300_799.99, seconds + utcOffset))
        let ticks = (local * 256).rounded(.down)
        let whole = Int64((ticks / 256).rounded(.down))
        let (days, second) = (Int((whole + 62_135_596_800) / 86_400), Int((whole + 62_135_596_800) % 86_400))
        self.init(
            DateTime(daysSinceYear1: days, second: second), dayOfWeek: DayOfWeek(rawValue: UInt8(days % 7 + 1)),
            fraction: ticks / 256 - Double(whole), adjustments: adjustments)
    }
}

extension DateTime {
    /// The time at a second of a day, counted from 0001-01-01.
    fileprivate init(daysSinceYear1 days: Int, second: Int) {
        // Years from March to February: the leap day is the last. 306 days are from 0000-03-01 to the end of that year.
        let shifted = days + 306
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        self.init(
            year: era * 400 + yearOfEra + (month < 10 ? 0 : 1), month: month < 10 ? month + 3 : month - 9,
            day: dayOfYear - (153 * month + 2) / 5 + 1, hours: second / 3_600, minutes: second / 60 % 60,
            seconds: second % 60)
    }
}

/// A day of the week (Day of Week). An open set.
public struct DayOfWeek: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The code of the day: 1 is Monday.
    public let rawValue: UInt8

    /// The day with this code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown.
    public static let unknown = Self(rawValue: 0)
    /// Monday.
    public static let monday = Self(rawValue: 1)
    /// Tuesday.
    public static let tuesday = Self(rawValue: 2)
    /// Wednesday.
    public static let wednesday = Self(rawValue: 3)
    /// Thursday.
    public static let thursday = Self(rawValue: 4)
    /// Friday.
    public static let friday = Self(rawValue: 5)
    /// Saturday.
    public static let saturday = Self(rawValue: 6)
    /// Sunday.
    public static let sunday = Self(rawValue: 7)

    /// The names of the days.
    static let names = [
        "unknown day", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
}

/// The offset of daylight saving time (DST Offset). An open set.
public struct DSTOffset: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The offset in quarters of an hour; 255 is unknown.
    public let rawValue: UInt8

    /// The offset with this code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Standard time.
    public static let standard = Self(rawValue: 0)
    /// Half an hour.
    public static let halfHour = Self(rawValue: 2)
    /// An hour.
    public static let hour = Self(rawValue: 4)
    /// Two hours.
    public static let twoHours = Self(rawValue: 8)
    /// Unknown.
    public static let unknown = Self(rawValue: 255)

    /// The offset in minutes; nil if it is unknown.
    public var minutes: Int? { self == .unknown ? nil : Int(rawValue) * 15 }

    /// The offset: `DST +1:00`.
    public var description: String {
        switch self {
        case .standard: "standard time"
        case .halfHour: "DST +0:30"
        case .hour: "DST +1:00"
        case .twoHours: "DST +2:00"
        case .unknown: "DST unknown"
        default: "0x" + hexadecimal(rawValue, digits: 2)
        }
    }
}

/// The relation of the local time to UTC (Local Time Information).
public struct LocalTimeInformation: Hashable, Sendable {
    /// The minutes by which standard time is ahead of UTC, a multiple of 15; nil if they are unknown.
    public var timeZone: Int?
    /// The offset of daylight saving time.
    public var daylightSaving: DSTOffset

    /// The relation of a local time to UTC.
    public init(timeZone: Int?, daylightSaving: DSTOffset = .standard) {
        (self.timeZone, self.daylightSaving) = (timeZone, daylightSaving)
    }

    /// The minutes by which the local time is ahead of UTC; nil if they are unknown.
    public var utcOffset: Int? {
        guard let timeZone, let offset = daylightSaving.minutes else { return nil }
        return timeZone + offset
    }
}

/// The source of a clock's time, and the last update from it (Reference Time Information).
public struct ReferenceTimeInformation: Hashable, Sendable {
    /// A source of time. An open set.
    public struct Source: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
        /// The code of the source.
        public let rawValue: UInt8

        /// The source with this code.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Unknown.
        public static let unknown = Self(rawValue: 0)
        /// The Network Time Protocol.
        public static let networkTimeProtocol = Self(rawValue: 1)
        /// Satellites.
        public static let gps = Self(rawValue: 2)
        /// A radio time signal.
        public static let radioTimeSignal = Self(rawValue: 3)
        /// A person.
        public static let manual = Self(rawValue: 4)
        /// An atomic clock.
        public static let atomicClock = Self(rawValue: 5)
        /// A cellular network.
        public static let cellularNetwork = Self(rawValue: 6)
        /// The clock has no source.
        public static let notSynchronized = Self(rawValue: 7)

        /// The names of the sources.
        static let names = [
            "unknown", "network time protocol", "GPS", "radio time signal", "manual", "atomic clock",
            "cellular network", "not synchronized",
        ]
    }

    /// The source.
    public var source: Source
    /// The drift in seconds, in steps of 1/8; 31.75 is more than 31.625, nil unknown.
    public var accuracy: Double?
    /// The days since the last update; nil for 255 or more.
    public var days: Int?
    /// The hours since the last update, besides the days; nil for 255 days or more.
    public var hours: Int?

    /// The source of a clock's time, and the time since the last update.
    public init(_ source: Source, accuracy: Double? = nil, days: Int? = nil, hours: Int? = nil) {
        (self.source, self.accuracy, self.days, self.hours) = (source, accuracy, days, hours)
    }
}

// MARK: Characteristics

extension Characteristic where Value == CurrentTime {
    /// Current Time: read, notified when the clock is adjusted, and written by clients that may set the clock.
    public static var currentTime: Self {
        Self(
            .currentTimeCharacteristic, in: .currentTimeService, properties: [.read, .notify],
            initial: Value(DateTime())
        ) { (value, fields) throws(MalformedValue) in
            try fields.dateTime(nil, &value.time)
            try fields.code("day", &value.dayOfWeek)
            try fields.number("fractions", &value.fraction, .u8, .over(256), unit: "s")
            try fields.code("adjusted by", &value.adjustments)
        }
    }
}

extension Characteristic where Value == LocalTimeInformation {
    /// Local Time Information.
    public static var localTimeInformation: Self {
        Self(0x2A0F, in: .currentTimeService, initial: Value(timeZone: nil)) {
            (value, fields) throws(MalformedValue) in
            try fields.number("time zone", &value.timeZone, .i8, .times(15), unit: "min", unknown: 0x80)
            try fields.code("offset", &value.daylightSaving)
        }
    }
}

extension Characteristic where Value == ReferenceTimeInformation {
    /// Reference Time Information.
    public static var referenceTimeInformation: Self {
        Self(0x2A14, in: .currentTimeService, initial: Value(.unknown)) {
            (value, fields) throws(MalformedValue) in
            try fields.code("source", &value.source)
            try fields.number("accuracy", &value.accuracy, .u8, .times(125, ten: -3), unit: "s", unknown: 255)
            try fields.number("days since update", &value.days, .u8, unknown: 255)
            try fields.number("hours since update", &value.hours, .u8, unknown: 255)
        }
    }
}
