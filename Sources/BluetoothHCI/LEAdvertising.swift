import BluetoothPrimitives

/// The type of legacy advertising (Core Vol 4 Part E §7.8.5).
public struct LEAdvertisingType: RawRepresentable, Hashable, Sendable {
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
        switch self {
        case .connectableUndirected: return "connectable"
        case .connectableDirectedHighDutyCycle: return "directed, high duty cycle"
        case .scannableUndirected: return "scannable"
        case .nonConnectableUndirected: return "non-connectable"
        case .connectableDirectedLowDutyCycle: return "directed, low duty cycle"
        default: return "advertising type 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The primary advertising channels.
public struct LEAdvertisingChannelMap: OptionSet, Hashable, Sendable {
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
public struct LEAdvertisingFilterPolicy: OptionSet, Hashable, Sendable {
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

/// The parameters of LE Set Advertising Parameters (Core Vol 4 Part E §7.8.5).
public struct LEAdvertisingParameters: Hashable, Sendable {
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

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        intervalMinimum = try reader.readUInt16()
        intervalMaximum = try reader.readUInt16()
        type = LEAdvertisingType(rawValue: try reader.readUInt8())
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        peer = try LEPeerAddress(reading: &reader)
        channels = LEAdvertisingChannelMap(rawValue: try reader.readUInt8())
        filterPolicy = LEAdvertisingFilterPolicy(rawValue: try reader.readUInt8())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(intervalMinimum)
        try writer.write(intervalMaximum)
        try writer.write(type.rawValue)
        try writer.write(ownAddressType.rawValue)
        try peer.write(to: &writer)
        try writer.write(channels.rawValue)
        try writer.write(filterPolicy.rawValue)
    }
}

/// The data of LE Set Advertising Data and LE Set Scan Response Data: a length and always 31 bytes
/// (Core Vol 4 Part E §7.8.7).
enum LELegacyAdvertisingData {
    static let byteCount = 31

    static func read(from reader: inout ByteReader) throws(TruncatedBytes) -> [UInt8] {
        let count = Int(try reader.readUInt8())
        // Controllers ignore the padding; a command without it is accepted too.
        let data = [UInt8](try reader.read(count))
        return data
    }

    static func write(_ data: [UInt8], to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: data.count), data.count <= byteCount else {
            throw BufferFull(needed: data.count, available: byteCount)
        }
        try writer.write(count)
        try writer.write(data)
        try writer.writeZeros(byteCount - data.count)
    }
}

/// The properties of an advertising set's events (Core Vol 4 Part E §7.8.53).
public struct LEAdvertisingEventProperties: OptionSet, Hashable, Sendable {
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

/// The parameters of LE Set Extended Advertising Parameters (Core Vol 4 Part E §7.8.53).
public struct LEExtendedAdvertisingParameters: Hashable, Sendable {
    /// The advertising handle, 0x00 to 0xEF.
    public var advertisingHandle: UInt8
    /// The properties of the set's events.
    public var properties: LEAdvertisingEventProperties
    /// The minimum advertising interval, in units of 0.625 ms, 0x20 to 0xFFFFFF.
    public var intervalMinimum: UInt32
    /// The maximum advertising interval, in units of 0.625 ms, 0x20 to 0xFFFFFF.
    public var intervalMaximum: UInt32
    /// The primary channels in use.
    public var channels: LEAdvertisingChannelMap
    /// The type of the advertiser's address.
    public var ownAddressType: LEOwnAddressType
    /// The target of directed advertising; zero otherwise.
    public var peer: LEPeerAddress
    /// The filter policy.
    public var filterPolicy: LEAdvertisingFilterPolicy
    /// The requested transmit power in dBm; nil for no preference.
    public var transmitPower: Int8?
    /// The primary PHY, LE 1M or LE Coded; legacy advertising uses LE 1M.
    public var primaryPHY: LEPHY
    /// The maximum number of advertising events that the secondary channel may skip.
    public var secondaryMaximumSkip: UInt8
    /// The secondary PHY.
    public var secondaryPHY: LEPHY
    /// The advertising SID, 0x00 to 0x0F.
    public var advertisingSetID: UInt8
    /// Whether the controller reports scan requests.
    public var notifiesScanRequests: Bool

    /// Parameters of an advertising set, with intervals in units of 0.625 ms.
    public init(
        advertisingHandle: UInt8, properties: LEAdvertisingEventProperties, intervalMinimum: UInt32 = 0x0800,
        intervalMaximum: UInt32 = 0x0800, channels: LEAdvertisingChannelMap = .all,
        ownAddressType: LEOwnAddressType = .public, peer: LEPeerAddress = LEPeerAddress(.zero),
        filterPolicy: LEAdvertisingFilterPolicy = [], transmitPower: Int8? = nil, primaryPHY: LEPHY = .le1M,
        secondaryMaximumSkip: UInt8 = 0, secondaryPHY: LEPHY = .le1M, advertisingSetID: UInt8 = 0,
        notifiesScanRequests: Bool = false
    ) {
        self.advertisingHandle = advertisingHandle
        self.properties = properties
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.channels = channels
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.filterPolicy = filterPolicy
        self.transmitPower = transmitPower
        self.primaryPHY = primaryPHY
        self.secondaryMaximumSkip = secondaryMaximumSkip
        self.secondaryPHY = secondaryPHY
        self.advertisingSetID = advertisingSetID
        self.notifiesScanRequests = notifiesScanRequests
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.readUInt8()
        properties = LEAdvertisingEventProperties(rawValue: try reader.readUInt16())
        intervalMinimum = try reader.readUInt24()
        intervalMaximum = try reader.readUInt24()
        channels = LEAdvertisingChannelMap(rawValue: try reader.readUInt8())
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        peer = try LEPeerAddress(reading: &reader)
        filterPolicy = LEAdvertisingFilterPolicy(rawValue: try reader.readUInt8())
        transmitPower = unlessUnavailable(try reader.readInt8())
        primaryPHY = LEPHY(rawValue: try reader.readUInt8())
        secondaryMaximumSkip = try reader.readUInt8()
        secondaryPHY = LEPHY(rawValue: try reader.readUInt8())
        advertisingSetID = try reader.readUInt8()
        notifiesScanRequests = try reader.readBool()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(advertisingHandle)
        try writer.write(properties.rawValue)
        try writer.writeUInt24(min(intervalMinimum, 0xFF_FFFF))
        try writer.writeUInt24(min(intervalMaximum, 0xFF_FFFF))
        try writer.write(channels.rawValue)
        try writer.write(ownAddressType.rawValue)
        try peer.write(to: &writer)
        try writer.write(filterPolicy.rawValue)
        try writer.write(transmitPower ?? powerUnavailable)
        try writer.write(primaryPHY.rawValue)
        try writer.write(secondaryMaximumSkip)
        try writer.write(secondaryPHY.rawValue)
        try writer.write(advertisingSetID)
        try writer.write(notifiesScanRequests)
    }
}

/// The value of HCI for an unavailable transmit power or RSSI, or for no preference.
@usableFromInline let powerUnavailable: Int8 = 127

/// The power in dBm, or nil for the value that means "unavailable".
@inlinable
func unlessUnavailable(_ power: Int8) -> Int8? {
    power == 127 ? nil : power
}

/// The fragment of an advertising set's data in a command (Core Vol 4 Part E §7.8.54).
public struct LEAdvertisingDataOperation: RawRepresentable, Hashable, Sendable {
    /// The operation as sent, one byte.
    public let rawValue: UInt8

    /// The operation with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A fragment between the first and the last.
    public static let intermediateFragment = LEAdvertisingDataOperation(rawValue: 0x00)
    /// The first fragment.
    public static let firstFragment = LEAdvertisingDataOperation(rawValue: 0x01)
    /// The last fragment.
    public static let lastFragment = LEAdvertisingDataOperation(rawValue: 0x02)
    /// The complete data.
    public static let complete = LEAdvertisingDataOperation(rawValue: 0x03)
    /// Unchanged data, with a new Advertising DID for scanners.
    public static let unchanged = LEAdvertisingDataOperation(rawValue: 0x04)
}

extension LEAdvertisingDataOperation: CustomStringConvertible {
    /// The name of the operation.
    public var description: String {
        switch self {
        case .intermediateFragment: return "intermediate fragment"
        case .firstFragment: return "first fragment"
        case .lastFragment: return "last fragment"
        case .complete: return "complete"
        case .unchanged: return "unchanged"
        default: return "operation 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The parameters of LE Set Extended Advertising Data and LE Set Extended Scan Response Data
/// (Core Vol 4 Part E §7.8.54, §7.8.55).
public struct LEExtendedAdvertisingData: Hashable, Sendable {
    /// The advertising handle.
    public var advertisingHandle: UInt8
    /// The fragment of the data.
    public var operation: LEAdvertisingDataOperation
    /// Whether the controller may fragment the data in several PDUs.
    public var mayBeFragmented: Bool
    /// The data, at most 251 bytes in a command.
    public var data: [UInt8]

    /// A fragment of a set's data, by default the complete data.
    public init(
        advertisingHandle: UInt8, operation: LEAdvertisingDataOperation = .complete, mayBeFragmented: Bool = false,
        data: [UInt8]
    ) {
        self.advertisingHandle = advertisingHandle
        self.operation = operation
        self.mayBeFragmented = mayBeFragmented
        self.data = data
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.readUInt8()
        operation = LEAdvertisingDataOperation(rawValue: try reader.readUInt8())
        mayBeFragmented = try reader.readUInt8() == 0
        let count = Int(try reader.readUInt8())
        data = [UInt8](try reader.read(count))
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: data.count), count <= 251 else {
            throw BufferFull(needed: data.count, available: 251)
        }
        try writer.write(advertisingHandle)
        try writer.write(operation.rawValue)
        try writer.write(!mayBeFragmented)
        try writer.write(count)
        try writer.write(data)
    }
}

/// An advertising set in LE Set Extended Advertising Enable (Core Vol 4 Part E §7.8.56).
public struct LEAdvertisingSetEnable: Hashable, Sendable {
    /// The advertising handle.
    public var advertisingHandle: UInt8
    /// The duration in units of 10 ms; zero for no limit.
    public var duration: UInt16
    /// The maximum number of advertising events; zero for no limit.
    public var maximumEvents: UInt8

    /// A set to enable, by default without limits.
    public init(advertisingHandle: UInt8, duration: UInt16 = 0, maximumEvents: UInt8 = 0) {
        self.advertisingHandle = advertisingHandle
        self.duration = duration
        self.maximumEvents = maximumEvents
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.readUInt8()
        duration = try reader.readUInt16()
        maximumEvents = try reader.readUInt8()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(advertisingHandle)
        try writer.write(duration)
        try writer.write(maximumEvents)
    }
}
