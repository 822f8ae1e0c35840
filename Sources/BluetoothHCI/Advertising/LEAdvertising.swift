import BluetoothPackets
import BluetoothPrimitives

/// The type of legacy advertising (Core Vol 4 Part E §7.8.5).
public struct LEAdvertisingType: PacketCode, Hashable, Sendable {
    /// The type as sent, one byte.
    public let rawValue: UInt8

    /// The type with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Connectable and scannable undirected advertising (ADV_IND).
    public static let connectableUndirected = LEAdvertisingType(rawValue: 0x00)
    /// Connectable high duty cycle directed advertising for 1.28 s (ADV_DIRECT_IND).
    public static let connectableDirectedHighDutyCycle = LEAdvertisingType(rawValue: 0x01)
    /// Scannable undirected advertising (ADV_SCAN_IND).
    public static let scannableUndirected = LEAdvertisingType(rawValue: 0x02)
    /// Non-connectable and non-scannable undirected advertising (ADV_NONCONN_IND).
    public static let nonConnectableUndirected = LEAdvertisingType(rawValue: 0x03)
    /// Connectable low duty cycle directed advertising, at the set interval (ADV_DIRECT_IND).
    public static let connectableDirectedLowDutyCycle = LEAdvertisingType(rawValue: 0x04)
}

extension LEAdvertisingType: CustomStringConvertible {
    /// The name of the type.
    public var description: String {
        codeName(
            rawValue,
            ["connectable", "directed, high duty cycle", "scannable", "non-connectable", "directed, low duty cycle"])
            ?? "advertising type 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The primary advertising channels.
public struct LEAdvertisingChannelMap: PacketCode, OptionSet, Hashable, Sendable {
    /// The channel map as sent, one byte.
    public let rawValue: UInt8

    /// The channels with the bits `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Channel 37 at 2402 MHz.
    public static let channel37 = LEAdvertisingChannelMap(rawValue: 1 << 0)
    /// Channel 38 at 2426 MHz.
    public static let channel38 = LEAdvertisingChannelMap(rawValue: 1 << 1)
    /// Channel 39 at 2480 MHz.
    public static let channel39 = LEAdvertisingChannelMap(rawValue: 1 << 2)
    /// All three channels.
    public static let all: LEAdvertisingChannelMap = [.channel37, .channel38, .channel39]
}

/// The devices whose scan and connection requests are accepted.
public struct LEAdvertisingFilterPolicy: PacketCode, OptionSet, Hashable, Sendable {
    /// The policy as sent, one byte.
    public let rawValue: UInt8

    /// The policy with the bits `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Accept scan requests only from devices on the filter accept list.
    public static let scanRequestsFromAcceptListOnly = LEAdvertisingFilterPolicy(rawValue: 1 << 0)
    /// Accept connections only from devices on the filter accept list.
    public static let connectionsFromAcceptListOnly = LEAdvertisingFilterPolicy(rawValue: 1 << 1)
}

/// LE Set Advertising Parameters (Core Vol 4 Part E §7.8.5).
public struct LESetAdvertisingParameters: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2006, "LE Set Advertising Parameters")
    /// The minimum advertising interval, in units of 0.625 ms, 0x20 to 0x4000.
    public var intervalMinimum: UInt16
    /// The maximum advertising interval, in units of 0.625 ms, 0x20 to 0x4000.
    public var intervalMaximum: UInt16
    /// The type of advertising.
    public var type: LEAdvertisingType
    /// The type of the advertiser's address.
    public var ownAddressType: LEOwnAddressType
    /// The target of directed advertising; zero otherwise.
    public var peer: LEPeerAddress
    /// The channels in use.
    public var channels: LEAdvertisingChannelMap
    /// The filter policy.
    public var filterPolicy: LEAdvertisingFilterPolicy

    /// Parameters of legacy advertising, with intervals in units of 0.625 ms; the specification's default is 0x0800.
    public init(
        intervalMinimum: UInt16 = 0x0800, intervalMaximum: UInt16 = 0x0800,
        type: LEAdvertisingType = .connectableUndirected, ownAddressType: LEOwnAddressType = .public,
        peer: LEPeerAddress = LEPeerAddress(.zero), channels: LEAdvertisingChannelMap = .all,
        filterPolicy: LEAdvertisingFilterPolicy = []
    ) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.type = type
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.channels = channels
        self.filterPolicy = filterPolicy
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            intervalMinimum: reader.read(), intervalMaximum: reader.read(), type: reader.read(),
            ownAddressType: reader.read(), peer: reader.read(), channels: reader.read(), filterPolicy: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(intervalMinimum, intervalMaximum, type)
        try writer.write(ownAddressType, peer)
        try writer.write(channels, filterPolicy)
    }

    /// The type, the address type and the intervals.
    public var parameterDescription: String {
        "\(type), own address \(ownAddressType), interval \(intervalMinimum)-\(intervalMaximum) x 0.625 ms"
    }
}

/// A command with the data of legacy advertising: a length and always 31 bytes (Core Vol 4 Part E §7.8.7).
public protocol LELegacyDataCommand: HCICommand {
    /// The data, at most 31 bytes.
    var data: [UInt8] { get }
    /// The command with the given data.
    init(_ data: [UInt8])
}

extension LELegacyDataCommand {
    /// Reads the data. Controllers ignore the padding; a command without it is accepted too.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let count = Int(try reader.readUInt8())
        self.init([UInt8](try reader.read(count)))
    }

    /// Writes the data and the padding.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: data.count), count <= 31 else {
            throw BufferFull(needed: data.count, available: 31)
        }
        try writer.write(count)
        try writer.write(data)
        try writer.writeZeros(31 - data.count)
    }

    /// The data in hexadecimal.
    public var parameterDescription: String { data.hexadecimal }
}

/// LE Set Advertising Data (Core Vol 4 Part E §7.8.7).
public struct LESetAdvertisingData: LELegacyDataCommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2008, "LE Set Advertising Data")
    /// The data, at most 31 bytes.
    public var data: [UInt8]

    /// The command with the given data.
    public init(_ data: [UInt8]) { self.data = data }
}

/// LE Set Scan Response Data (Core Vol 4 Part E §7.8.8).
public struct LESetScanResponseData: LELegacyDataCommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2009, "LE Set Scan Response Data")
    /// The data, at most 31 bytes.
    public var data: [UInt8]

    /// The command with the given data.
    public init(_ data: [UInt8]) { self.data = data }
}

/// LE Set Advertising Enable (Core Vol 4 Part E §7.8.9).
public struct LESetAdvertisingEnable: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200A, "LE Set Advertising Enable")
    /// Whether to enable advertising.
    public var value: Bool

    /// The command that enables or disables advertising.
    public init(_ value: Bool) { self.value = value }
}

/// The properties of an advertising set's events (Core Vol 4 Part E §7.8.53).
public struct LEAdvertisingEventProperties: PacketCode, OptionSet, Hashable, Sendable {
    /// The properties as sent, two bytes.
    public let rawValue: UInt16

    /// The properties with the bits `rawValue`.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Connectable advertising.
    public static let connectable = LEAdvertisingEventProperties(rawValue: 1 << 0)
    /// Scannable advertising.
    public static let scannable = LEAdvertisingEventProperties(rawValue: 1 << 1)
    /// Directed advertising.
    public static let directed = LEAdvertisingEventProperties(rawValue: 1 << 2)
    /// High duty cycle directed connectable advertising for 1.28 s.
    public static let highDutyCycleDirected = LEAdvertisingEventProperties(rawValue: 1 << 3)
    /// Legacy PDUs, which every scanner receives, with at most 31 bytes of data.
    public static let legacy = LEAdvertisingEventProperties(rawValue: 1 << 4)
    /// Anonymous advertising, without the advertiser's address.
    public static let anonymous = LEAdvertisingEventProperties(rawValue: 1 << 5)
    /// The transmit power in the extended header.
    public static let includeTransmitPower = LEAdvertisingEventProperties(rawValue: 1 << 6)

    /// The properties of legacy connectable undirected advertising (ADV_IND).
    public static let legacyConnectable: LEAdvertisingEventProperties = [.connectable, .scannable, .legacy]
}

extension LEAdvertisingEventProperties: CustomStringConvertible {
    /// The names of the properties, separated by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "connectable", 1: "scannable", 2: "directed", 3: "high duty cycle", 4: "legacy", 5: "anonymous",
                6: "transmit power",
            ])
    }
}
