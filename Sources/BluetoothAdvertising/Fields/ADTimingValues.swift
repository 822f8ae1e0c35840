import BluetoothPrimitives

/// The connection intervals that a peripheral prefers (CSS Part A §1.9), in units of 1.25 ms.
public struct ConnectionIntervalRange: Hashable, Sendable, ADValue {
    /// The minimum, 6 to 3200; nil for no preference.
    public var minimum: UInt16?
    /// The maximum, 6 to 3200; nil for no preference.
    public var maximum: UInt16?

    private static let noPreference: UInt16 = 0xFFFF

    /// A range in units of 1.25 ms.
    public init(minimum: UInt16?, maximum: UInt16?) {
        self.minimum = minimum
        self.maximum = maximum
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let minimum = try reader.readUInt16()
        let maximum = try reader.readUInt16()
        self.minimum = minimum == Self.noPreference ? nil : minimum
        self.maximum = maximum == Self.noPreference ? nil : maximum
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(minimum ?? Self.noPreference)
        try writer.write(maximum ?? Self.noPreference)
    }

    /// The minimum as a duration.
    public var minimumDuration: Duration? { minimum.map { .microseconds(1250 * Int($0)) } }
    /// The maximum as a duration.
    public var maximumDuration: Duration? { maximum.map { .microseconds(1250 * Int($0)) } }
}

extension ConnectionIntervalRange: CustomStringConvertible {
    /// Both bounds in milliseconds.
    public var description: String {
        let ends = [minimum, maximum].map { $0.map { milliseconds(1250 * UInt64($0)) } ?? "any" }
        return ends.joined(separator: " to ")
    }
}

/// An advertising interval (CSS Part A §1.15), in units of 0.625 ms.
public struct AdvertisingInterval: RawRepresentable, Hashable, Sendable, ADValue {
    /// The number of units.
    public var rawValue: UInt32

    /// An interval in units of 0.625 ms.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = UInt32(try reader.readUInt16())
    }

    /// Decodes the long form of three or four bytes.
    init(readingLong reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = reader.remaining > 3 ? try reader.readUInt32() : try reader.readUInt24()
    }

    /// The interval as a duration.
    public var duration: Duration { .microseconds(625 * Int64(rawValue)) }
}

extension AdvertisingInterval: CustomStringConvertible {
    /// The interval in milliseconds.
    public var description: String { milliseconds(625 * UInt64(rawValue)) }
}

/// A new channel map for periodic advertising and its instant (CSS Part A §1.20).
public struct ChannelMapUpdate: Hashable, Sendable, ADValue {
    /// The channel map, one bit for each of the 37 data channels.
    public let channelMap: UInt64
    /// The periodic advertising event at which the map takes effect.
    public let instant: UInt16

    /// An update with the low 37 bits of `channelMap`.
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

    /// Whether the map contains a data channel, 0 to 36.
    public func contains(_ channel: Int) -> Bool {
        (0..<37).contains(channel) && channelMap & 1 << UInt64(channel) != 0
    }
}

extension ChannelMapUpdate: CustomStringConvertible {
    /// The map in hexadecimal and the instant.
    public var description: String { "0x\(hexadecimal(channelMap, digits: 10)) from event \(instant) on" }
}

/// The timing of responses to periodic advertising (CSS Part A §1.24).
public struct PeriodicAdvertisingResponseTiming: Hashable, Sendable, ADValue {
    /// The access address of the responses.
    public var responseAccessAddress: UInt32
    /// The number of subevents in a periodic advertising event.
    public var subeventCount: UInt8
    /// The interval between subevents, in units of 1.25 ms.
    public var subeventInterval: UInt8
    /// The delay from a subevent to its first response slot, in units of 1.25 ms.
    public var responseSlotDelay: UInt8
    /// The spacing of response slots, in units of 0.125 ms.
    public var responseSlotSpacing: UInt8

    /// A timing with the given fields.
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
    /// The subevents and the response slots.
    public var description: String {
        let slots = "first answer after \(milliseconds(1250 * UInt64(responseSlotDelay)))"
        return "\(subeventCount) subevents every \(milliseconds(1250 * UInt64(subeventInterval))), \(slots), "
            + "next every \(milliseconds(125 * UInt64(responseSlotSpacing)))"
    }
}

/// A time in milliseconds, with a fraction where needed: `7.5 ms`.
private func milliseconds(_ microseconds: UInt64) -> String {
    var fraction = String(microseconds % 1000 + 1000).dropFirst()
    while fraction.last == "0" { fraction = fraction.dropLast() }
    return "\(microseconds / 1000)\(fraction.isEmpty ? "" : ".\(fraction)") ms"
}
