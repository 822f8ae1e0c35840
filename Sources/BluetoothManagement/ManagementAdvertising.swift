import BluetoothPackets
import BluetoothPrimitives

/// The kind of an advertising instance, and the data that the kernel adds.
public struct AdvertisingInstanceFlags: OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A central may connect, regardless of the connectable setting.
    public static let connectable = AdvertisingInstanceFlags(rawValue: 1 << 0)
    /// General discoverable; the kernel adds the Flags AD structure, three bytes.
    public static let generalDiscoverable = AdvertisingInstanceFlags(rawValue: 1 << 1)
    /// Limited discoverable; the kernel adds the Flags AD structure, three bytes.
    public static let limitedDiscoverable = AdvertisingInstanceFlags(rawValue: 1 << 2)
    /// The kernel adds the Flags AD structure and keeps it up to date, three bytes.
    public static let managedFlags = AdvertisingInstanceFlags(rawValue: 1 << 3)
    /// The kernel adds the transmit power, three bytes.
    public static let transmitPower = AdvertisingInstanceFlags(rawValue: 1 << 4)
    /// The kernel adds the appearance to the scan response, four bytes.
    public static let appearance = AdvertisingInstanceFlags(rawValue: 1 << 5)
    /// The kernel adds the adapter's name to the scan response, as much of it as fits.
    public static let localName = AdvertisingInstanceFlags(rawValue: 1 << 6)
    /// Extended advertising with the data on LE 1M.
    public static let secondaryLE1M = AdvertisingInstanceFlags(rawValue: 1 << 7)
    /// Extended advertising with the data on LE 2M.
    public static let secondaryLE2M = AdvertisingInstanceFlags(rawValue: 1 << 8)
    /// Extended advertising on LE Coded.
    public static let secondaryLECoded = AdvertisingInstanceFlags(rawValue: 1 << 9)
    /// Only reported by the kernel: a transmit power can be requested.
    public static let canSetTransmitPower = AdvertisingInstanceFlags(rawValue: 1 << 10)
    /// Only reported by the kernel: the controller has advertising sets.
    public static let hardwareOffload = AdvertisingInstanceFlags(rawValue: 1 << 11)

    // These flags select which parameters of Add Extended Advertising Parameters apply, and which commands follow.
    static let duration = AdvertisingInstanceFlags(rawValue: 1 << 12)
    static let timeout = AdvertisingInstanceFlags(rawValue: 1 << 13)
    static let intervals = AdvertisingInstanceFlags(rawValue: 1 << 14)
    static let requestedTransmitPower = AdvertisingInstanceFlags(rawValue: 1 << 15)

    /// In Add Extended Advertising Parameters: a scan response follows, so the set has to be scannable.
    public static let scanResponse = AdvertisingInstanceFlags(rawValue: 1 << 16)

    static let parameterPresence: AdvertisingInstanceFlags = [.duration, .timeout, .intervals, .requestedTransmitPower]
}

extension AdvertisingInstanceFlags: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "connectable", 1: "general discoverable", 2: "limited discoverable", 3: "managed flags",
                4: "transmit power", 5: "appearance", 6: "local name", 7: "secondary LE 1M", 8: "secondary LE 2M",
                9: "secondary LE Coded", 10: "can set transmit power", 11: "hardware offload", 12: "duration",
                13: "timeout", 14: "intervals", 15: "requested transmit power", 16: "scan response",
            ])
    }
}

/// Add Advertising: an instance in one command, at the kernel's interval.
public struct AdvertisingInstance: Hashable, Sendable {
    /// The instance's number, 1 to the adapter's maximum; an existing one is changed.
    public var instance: UInt8
    /// The kind, and the data that the kernel adds.
    public var flags: AdvertisingInstanceFlags
    /// The time it is advertised before the next instance has its turn, in seconds; zero is the default, 2.
    public var duration: UInt16
    /// The time until the instance is removed, in seconds; zero is never.
    public var timeout: UInt16
    /// The advertising data: AD structures.
    public var advertisingData: [UInt8]
    /// The scan response data: AD structures.
    public var scanResponse: [UInt8]

    /// Creates an advertising instance.
    public init(
        instance: UInt8, flags: AdvertisingInstanceFlags, duration: UInt16 = 0, timeout: UInt16 = 0,
        advertisingData: [UInt8] = [], scanResponse: [UInt8] = []
    ) {
        self.instance = instance
        self.flags = flags
        self.duration = duration
        self.timeout = timeout
        self.advertisingData = advertisingData
        self.scanResponse = scanResponse
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        instance = try reader.readUInt8()
        flags = AdvertisingInstanceFlags(rawValue: try reader.readUInt32())
        duration = try reader.readUInt16()
        timeout = try reader.readUInt16()
        (advertisingData, scanResponse) = try reader.readAdvertisingData()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance)
        try writer.write(flags.rawValue)
        try writer.write(duration)
        try writer.write(timeout)
        try writer.write(advertisingData: advertisingData, scanResponse: scanResponse)
    }
}

/// Add Extended Advertising Parameters: the first of the two commands that add an instance with an interval and a
/// transmit power of its own.
public struct ExtendedAdvertisingInstanceParameters: Hashable, Sendable {
    /// A range of advertising intervals, in units of 0.625 ms, 0x20 to 0xFFFFFF.
    public struct Intervals: Hashable, Sendable {
        /// The shortest, in units of 0.625 ms.
        public var minimum: UInt32
        /// The longest, in units of 0.625 ms, not below ``minimum``.
        public var maximum: UInt32

        /// Creates a range of intervals in units of 0.625 ms.
        public init(minimum: UInt32, maximum: UInt32) {
            self.minimum = minimum
            self.maximum = maximum
        }
    }

    /// The instance's number, 1 to the adapter's maximum; an existing one is changed.
    public var instance: UInt8
    /// The kind, and the data that the kernel adds. The bits that select the parameters given are set automatically.
    public var flags: AdvertisingInstanceFlags
    /// The time it is advertised before the next instance has its turn, in seconds.
    public var duration: UInt16?
    /// The time until the instance is removed, in seconds.
    public var timeout: UInt16?
    /// The range of advertising intervals.
    public var intervals: Intervals?
    /// The requested transmit power in dBm, -127 to 20.
    public var transmitPower: Int8?

    /// Creates parameters; the kernel chooses those that are nil.
    public init(
        instance: UInt8, flags: AdvertisingInstanceFlags, duration: UInt16? = nil, timeout: UInt16? = nil,
        intervals: Intervals? = nil, transmitPower: Int8? = nil
    ) {
        self.instance = instance
        self.flags = flags.subtracting(.parameterPresence)
        self.duration = duration
        self.timeout = timeout
        self.intervals = intervals
        self.transmitPower = transmitPower
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        instance = try reader.readUInt8()
        let all = AdvertisingInstanceFlags(rawValue: try reader.readUInt32())
        let duration = try reader.readUInt16()
        let timeout = try reader.readUInt16()
        let intervals = Intervals(minimum: try reader.readUInt32(), maximum: try reader.readUInt32())
        let transmitPower = try reader.readInt8()
        flags = all.subtracting(.parameterPresence)
        self.duration = all.contains(.duration) ? duration : nil
        self.timeout = all.contains(.timeout) ? timeout : nil
        self.intervals = all.contains(.intervals) ? intervals : nil
        self.transmitPower = all.contains(.requestedTransmitPower) ? transmitPower : nil
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        var all = flags.subtracting(.parameterPresence)
        if duration != nil { all.insert(.duration) }
        if timeout != nil { all.insert(.timeout) }
        if intervals != nil { all.insert(.intervals) }
        if transmitPower != nil { all.insert(.requestedTransmitPower) }
        try writer.write(instance)
        try writer.write(all.rawValue)
        try writer.write(duration ?? 0)
        try writer.write(timeout ?? 0)
        try writer.write(intervals?.minimum ?? 0)
        try writer.write(intervals?.maximum ?? 0)
        try writer.write(transmitPower ?? 0)
    }
}

/// Add Extended Advertising Data: the second of the two commands, after which the instance advertises.
public struct ExtendedAdvertisingInstanceData: Hashable, Sendable {
    /// The instance's number.
    public var instance: UInt8
    /// The advertising data: AD structures.
    public var advertisingData: [UInt8]
    /// The scan response data: AD structures.
    public var scanResponse: [UInt8]

    /// Creates the data of an advertising instance.
    public init(instance: UInt8, advertisingData: [UInt8] = [], scanResponse: [UInt8] = []) {
        self.instance = instance
        self.advertisingData = advertisingData
        self.scanResponse = scanResponse
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        instance = try reader.readUInt8()
        (advertisingData, scanResponse) = try reader.readAdvertisingData()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance)
        try writer.write(advertisingData: advertisingData, scanResponse: scanResponse)
    }
}

extension ByteReader {
    /// Reads two lengths and then the two pieces of data.
    @_lifetime(self: copy self)
    mutating func readAdvertisingData() throws(TruncatedBytes) -> (advertisingData: [UInt8], scanResponse: [UInt8]) {
        let advertisingCount = Int(try readUInt8())
        let scanResponseCount = Int(try readUInt8())
        return ([UInt8](try read(advertisingCount)), [UInt8](try read(scanResponseCount)))
    }
}

extension ByteWriter {
    mutating func write(advertisingData: [UInt8], scanResponse: [UInt8]) throws(BufferFull) {
        for data in [advertisingData, scanResponse] {
            guard let count = UInt8(exactly: data.count) else { throw BufferFull(needed: data.count, available: 255) }
            try write(count)
        }
        try write(advertisingData)
        try write(scanResponse)
    }
}

/// The answer to Read Advertising Features.
public struct AdvertisingFeatures: Hashable, Sendable {
    /// The flags that an instance may have.
    public var supportedFlags: AdvertisingInstanceFlags
    /// The capacity of the advertising data in bytes, including the flags' share.
    public var maximumAdvertisingDataLength: UInt8
    /// The capacity of the scan response in bytes, including the flags' share.
    public var maximumScanResponseLength: UInt8
    /// The maximum number of instances.
    public var maximumInstances: UInt8
    /// The numbers of the present instances.
    public var instances: [UInt8]

    /// Creates the features from their values.
    public init(
        supportedFlags: AdvertisingInstanceFlags, maximumAdvertisingDataLength: UInt8,
        maximumScanResponseLength: UInt8, maximumInstances: UInt8, instances: [UInt8] = []
    ) {
        self.supportedFlags = supportedFlags
        self.maximumAdvertisingDataLength = maximumAdvertisingDataLength
        self.maximumScanResponseLength = maximumScanResponseLength
        self.maximumInstances = maximumInstances
        self.instances = instances
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        supportedFlags = AdvertisingInstanceFlags(rawValue: try reader.readUInt32())
        maximumAdvertisingDataLength = try reader.readUInt8()
        maximumScanResponseLength = try reader.readUInt8()
        maximumInstances = try reader.readUInt8()
        let count = Int(try reader.readUInt8())
        instances = [UInt8](try reader.read(count))
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: instances.count) else {
            throw BufferFull(needed: instances.count, available: 255)
        }
        try writer.write(supportedFlags.rawValue)
        try writer.write(maximumAdvertisingDataLength)
        try writer.write(maximumScanResponseLength)
        try writer.write(maximumInstances)
        try writer.write(count)
        try writer.write(instances)
    }
}

/// The answer to Add Extended Advertising Parameters.
public struct ExtendedAdvertisingInstanceLimits: Hashable, Sendable {
    /// The instance's number.
    public var instance: UInt8
    /// The transmit power the controller chose, in dBm.
    public var transmitPower: Int8
    /// The capacity of the advertising data in bytes, without the flags' share.
    public var maximumAdvertisingDataLength: UInt8
    /// The capacity of the scan response in bytes, without the flags' share.
    public var maximumScanResponseLength: UInt8

    /// Creates the limits from their values.
    public init(
        instance: UInt8, transmitPower: Int8, maximumAdvertisingDataLength: UInt8, maximumScanResponseLength: UInt8
    ) {
        self.instance = instance
        self.transmitPower = transmitPower
        self.maximumAdvertisingDataLength = maximumAdvertisingDataLength
        self.maximumScanResponseLength = maximumScanResponseLength
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        instance = try reader.readUInt8()
        transmitPower = try reader.readInt8()
        maximumAdvertisingDataLength = try reader.readUInt8()
        maximumScanResponseLength = try reader.readUInt8()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance)
        try writer.write(transmitPower)
        try writer.write(maximumAdvertisingDataLength)
        try writer.write(maximumScanResponseLength)
    }
}
