import BluetoothPrimitives

/// The connection intervals that a peripheral would like (CSS Part A §1.9), in units of 1.25 ms.
public struct ConnectionIntervalRange: Hashable, Sendable {
    /// The shortest, 6 to 3200; nil means that the device does not say.
    public var minimum: UInt16?
    /// The longest, 6 to 3200; nil means that the device does not say.
    public var maximum: UInt16?

    private static let notSaid: UInt16 = 0xFFFF

    /// A range in units of 1.25 ms.
    public init(minimum: UInt16?, maximum: UInt16?) {
        self.minimum = minimum
        self.maximum = maximum
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let minimum = try reader.readUInt16()
        let maximum = try reader.readUInt16()
        self.minimum = minimum == Self.notSaid ? nil : minimum
        self.maximum = maximum == Self.notSaid ? nil : maximum
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(minimum ?? Self.notSaid)
        try writer.write(maximum ?? Self.notSaid)
    }

    /// The shortest interval as time.
    public var minimumDuration: Duration? { minimum.map { .microseconds(1250 * Int($0)) } }
    /// The longest interval as time.
    public var maximumDuration: Duration? { maximum.map { .microseconds(1250 * Int($0)) } }
}

extension ConnectionIntervalRange: CustomStringConvertible {
    /// Both ends in milliseconds.
    public var description: String {
        let ends = [minimum, maximum].map { $0.map { milliseconds(1250 * UInt64($0)) } ?? "any" }
        return ends.joined(separator: " to ")
    }
}

/// How often a device advertises (CSS Part A §1.15), in units of 0.625 ms.
public struct AdvertisingInterval: RawRepresentable, Hashable, Sendable {
    /// The number of units.
    public var rawValue: UInt32

    /// An interval of that many units of 0.625 ms.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = UInt32(try reader.readUInt16())
    }

    /// Reads the long form, which has three bytes or four.
    init(readingLong reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = reader.remaining > 3 ? try reader.readUInt32() : try reader.readUInt24()
    }

    /// The interval as time.
    public var duration: Duration { .microseconds(625 * Int64(rawValue)) }
}

extension AdvertisingInterval: CustomStringConvertible {
    /// The interval in milliseconds.
    public var description: String { milliseconds(625 * UInt64(rawValue)) }
}

/// A new channel map for periodic advertising and when it comes into use (CSS Part A §1.20).
public struct ChannelMapUpdate: Hashable, Sendable {
    /// One bit for each of the 37 data channels.
    public let channelMap: UInt64
    /// The periodic advertising event from which on it holds.
    public let instant: UInt16

    /// An update from the low 37 bits of `channelMap`.
    public init(channelMap: UInt64, instant: UInt16) {
        self.channelMap = channelMap & 0x1F_FFFF_FFFF
        self.instant = instant
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let low = try reader.readUInt32()
        let high = try reader.readUInt8()
        self.init(channelMap: UInt64(low) | UInt64(high) << 32, instant: try reader.readUInt16())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(UInt32(truncatingIfNeeded: channelMap))
        try writer.write(UInt8(truncatingIfNeeded: channelMap >> 32))
        try writer.write(instant)
    }

    /// Whether a data channel, 0 to 36, is used.
    public func contains(_ channel: Int) -> Bool {
        (0..<37).contains(channel) && channelMap & 1 << UInt64(channel) != 0
    }
}

extension ChannelMapUpdate: CustomStringConvertible {
    /// The map in hexadecimal and the instant.
    public var description: String { "0x\(hexadecimal(channelMap, digits: 10)) from event \(instant) on" }
}

/// When and where answers to periodic advertising are sent (CSS Part A §1.24).
public struct PeriodicAdvertisingResponseTiming: Hashable, Sendable {
    /// The access address of the answers.
    public var responseAccessAddress: UInt32
    /// How many subevents a periodic advertising event has.
    public var subeventCount: UInt8
    /// The time between two subevents, in units of 1.25 ms.
    public var subeventInterval: UInt8
    /// The time from a subevent to its first answer, in units of 1.25 ms.
    public var responseSlotDelay: UInt8
    /// The time between two answers, in units of 0.125 ms.
    public var responseSlotSpacing: UInt8

    /// Timing from its five numbers.
    public init(
        responseAccessAddress: UInt32, subeventCount: UInt8, subeventInterval: UInt8, responseSlotDelay: UInt8,
        responseSlotSpacing: UInt8
    ) {
        self.responseAccessAddress = responseAccessAddress
        self.subeventCount = subeventCount
        self.subeventInterval = subeventInterval
        self.responseSlotDelay = responseSlotDelay
        self.responseSlotSpacing = responseSlotSpacing
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        responseAccessAddress = try reader.readUInt32()
        subeventCount = try reader.readUInt8()
        subeventInterval = try reader.readUInt8()
        responseSlotDelay = try reader.readUInt8()
        responseSlotSpacing = try reader.readUInt8()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(responseAccessAddress)
        try writer.write(subeventCount)
        try writer.write(subeventInterval)
        try writer.write(responseSlotDelay)
        try writer.write(responseSlotSpacing)
    }
}

extension PeriodicAdvertisingResponseTiming: CustomStringConvertible {
    /// The subevents and the answers' slots.
    public var description: String {
        let slots = "first answer after \(milliseconds(1250 * UInt64(responseSlotDelay)))"
        return "\(subeventCount) subevents every \(milliseconds(1250 * UInt64(subeventInterval))), \(slots), "
            + "next every \(milliseconds(125 * UInt64(responseSlotSpacing)))"
    }
}

/// A time in milliseconds with the fraction it needs: `7.5 ms`.
private func milliseconds(_ microseconds: UInt64) -> String {
    var fraction = String(microseconds % 1000 + 1000).dropFirst()
    while fraction.last == "0" { fraction = fraction.dropLast() }
    return "\(microseconds / 1000)\(fraction.isEmpty ? "" : ".\(fraction)") ms"
}
