import BluetoothPackets
import BluetoothPrimitives

// The commands that add and remove advertising instances.

/// Add Advertising: an instance in one command, at the kernel's interval.
public struct ManagementAddAdvertising: ManagementCommand {
    /// The instance's number.
    public typealias Reply = UInt8
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x003E, "Add Advertising")

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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(instance: reader.read(), flags: reader.read(), duration: reader.read(), timeout: reader.read())
        (advertisingData, scanResponse) = try reader.readAdvertisingData()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance, flags)
        try writer.write(duration, timeout)
        try writer.write(advertisingData: advertisingData, scanResponse: scanResponse)
    }

    /// The parameters in words.
    public var parameterDescription: String {
        "instance \(instance), \(flags), data \(advertisingData.hexadecimal), scan response \(scanResponse.hexadecimal)"
    }
}

/// Add Extended Advertising Parameters: the first of the two commands that add an instance with an interval and a
/// transmit power of its own.
public struct ManagementAddExtendedAdvertisingParameters: ManagementCommand {
    /// The instance's power and room.
    public typealias Reply = ExtendedAdvertisingInstanceLimits
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0054, "Add Extended Advertising Parameters")

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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
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

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        var all = flags.subtracting(.parameterPresence)
        if duration != nil { all.insert(.duration) }
        if timeout != nil { all.insert(.timeout) }
        if intervals != nil { all.insert(.intervals) }
        if transmitPower != nil { all.insert(.requestedTransmitPower) }
        try writer.write(instance, all)
        try writer.write(duration ?? 0, timeout ?? 0)
        try writer.write(intervals?.minimum ?? 0, intervals?.maximum ?? 0, transmitPower ?? 0)
    }

    /// The parameters in words.
    public var parameterDescription: String { "instance \(instance), \(flags)" }
}

/// The answer to Add Extended Advertising Parameters.
public struct ExtendedAdvertisingInstanceLimits: ManagementReply {
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

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            instance: reader.read(), transmitPower: reader.read(), maximumAdvertisingDataLength: reader.read(),
            maximumScanResponseLength: reader.read())
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance, transmitPower)
        try writer.write(maximumAdvertisingDataLength, maximumScanResponseLength)
    }

    /// The values in words.
    public var description: String {
        "instance \(instance), transmit power \(transmitPower) dBm, data \(maximumAdvertisingDataLength), "
            + "scan response \(maximumScanResponseLength)"
    }
}

/// Add Extended Advertising Data: the second of the two commands, after which the instance advertises.
public struct ManagementAddExtendedAdvertisingData: ManagementCommand {
    /// The instance's number.
    public typealias Reply = UInt8
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0055, "Add Extended Advertising Data")

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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        instance = try reader.readUInt8()
        (advertisingData, scanResponse) = try reader.readAdvertisingData()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(instance)
        try writer.write(advertisingData: advertisingData, scanResponse: scanResponse)
    }

    /// The parameters in words.
    public var parameterDescription: String {
        "instance \(instance), data \(advertisingData.hexadecimal), scan response \(scanResponse.hexadecimal)"
    }
}

/// Remove Advertising: removes an advertising instance.
public struct ManagementRemoveAdvertising: ManagementCommand, SingleValuePacket {
    /// The instance's number.
    public typealias Reply = UInt8
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x003F, "Remove Advertising")
    /// The instance's number; zero is all instances.
    public var value: UInt8

    /// The command with the parameter `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The instance in words.
    public var parameterDescription: String { value == 0 ? "all instances" : "instance \(value)" }
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
