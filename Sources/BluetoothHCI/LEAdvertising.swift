import BluetoothPrimitives

/// What kind of legacy advertisement to send (Core Vol 4 Part E §7.8.5).
public struct LEAdvertisingType: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A type of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Anybody may connect and ask for the scan response (ADV_IND).
    public static let connectableUndirected = LEAdvertisingType(rawValue: 0x00)
    /// One device may connect; as fast as the radio can, for 1.28 s (ADV_DIRECT_IND).
    public static let connectableDirectedHighDutyCycle = LEAdvertisingType(rawValue: 0x01)
    /// Nobody may connect, anybody may ask for the scan response (ADV_SCAN_IND).
    public static let scannableUndirected = LEAdvertisingType(rawValue: 0x02)
    /// Nobody may connect nor ask (ADV_NONCONN_IND).
    public static let nonConnectableUndirected = LEAdvertisingType(rawValue: 0x03)
    /// One device may connect, at the interval that was set (ADV_DIRECT_IND).
    public static let connectableDirectedLowDutyCycle = LEAdvertisingType(rawValue: 0x04)
}

extension LEAdvertisingType: CustomStringConvertible {
    /// The type in words.
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

/// The three channels that advertisements start on.
public struct LEAdvertisingChannelMap: OptionSet, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// 2402 MHz.
    public static let channel37 = LEAdvertisingChannelMap(rawValue: 1 << 0)
    /// 2426 MHz.
    public static let channel38 = LEAdvertisingChannelMap(rawValue: 1 << 1)
    /// 2480 MHz.
    public static let channel39 = LEAdvertisingChannelMap(rawValue: 1 << 2)
    /// All three.
    public static let all: LEAdvertisingChannelMap = [.channel37, .channel38, .channel39]
}

/// Who may ask for the scan response and who may connect.
public struct LEAdvertisingFilterPolicy: OptionSet, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A policy from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Only devices on the filter accept list may ask for the scan response.
    public static let scanRequestsFromAcceptListOnly = LEAdvertisingFilterPolicy(rawValue: 1 << 0)
    /// Only devices on the filter accept list may connect.
    public static let connectionsFromAcceptListOnly = LEAdvertisingFilterPolicy(rawValue: 1 << 1)
}

/// LE Set Advertising Parameters (Core Vol 4 Part E §7.8.5).
public struct LEAdvertisingParameters: Hashable, Sendable {
    /// The shortest interval, in units of 0.625 ms, 0x20 to 0x4000.
    public var intervalMinimum: UInt16
    /// The longest interval, in units of 0.625 ms, 0x20 to 0x4000.
    public var intervalMaximum: UInt16
    /// What may be done with the advertisement.
    public var type: LEAdvertisingType
    /// The advertiser's address.
    public var ownAddressType: LEOwnAddressType
    /// To whom directed advertisements are directed; zero otherwise.
    public var peer: LEPeerAddress
    /// The channels to use.
    public var channels: LEAdvertisingChannelMap
    /// Who is answered.
    public var filterPolicy: LEAdvertisingFilterPolicy

    /// Parameters of legacy advertising; intervals in units of 0.625 ms, 0x0800 being the specification's default.
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

/// The data of LE Set Advertising Data and LE Set Scan Response Data: a length and always 31 bytes (Core Vol 4 Part E
/// §7.8.7).
enum LELegacyAdvertisingData {
    static let byteCount = 31

    static func read(from reader: inout ByteReader) throws(TruncatedBytes) -> [UInt8] {
        let count = Int(try reader.readUInt8())
        // Controllers take the padding for granted; a host that leaves it out is understood all the same.
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

/// What an advertising set sends (Core Vol 4 Part E §7.8.53).
public struct LEAdvertisingEventProperties: OptionSet, Hashable, Sendable {
    /// The two bytes in the packet.
    public let rawValue: UInt16

    /// A set from its bits.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// A central may connect.
    public static let connectable = LEAdvertisingEventProperties(rawValue: 1 << 0)
    /// A scanner may ask for more.
    public static let scannable = LEAdvertisingEventProperties(rawValue: 1 << 1)
    /// Meant for one device.
    public static let directed = LEAdvertisingEventProperties(rawValue: 1 << 2)
    /// Directed and as fast as the radio can, for 1.28 s.
    public static let highDutyCycleDirected = LEAdvertisingEventProperties(rawValue: 1 << 3)
    /// Sent as legacy PDUs, which every scanner understands; at most 31 bytes.
    public static let legacy = LEAdvertisingEventProperties(rawValue: 1 << 4)
    /// Without the advertiser's address.
    public static let anonymous = LEAdvertisingEventProperties(rawValue: 1 << 5)
    /// With the transmit power in the header.
    public static let includeTransmitPower = LEAdvertisingEventProperties(rawValue: 1 << 6)

    /// What legacy connectable advertising is as an advertising set (ADV_IND).
    public static let legacyConnectable: LEAdvertisingEventProperties = [.connectable, .scannable, .legacy]
}

extension LEAdvertisingEventProperties: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "connectable", 1: "scannable", 2: "directed", 3: "high duty cycle", 4: "legacy", 5: "anonymous",
                6: "transmit power",
            ])
    }
}

/// LE Set Extended Advertising Parameters (Core Vol 4 Part E §7.8.53).
public struct LEExtendedAdvertisingParameters: Hashable, Sendable {
    /// Which advertising set, 0x00 to 0xEF.
    public var advertisingHandle: UInt8
    /// What the set sends.
    public var properties: LEAdvertisingEventProperties
    /// The shortest interval, in units of 0.625 ms, 0x20 to 0xFFFFFF.
    public var intervalMinimum: UInt32
    /// The longest interval, in units of 0.625 ms, 0x20 to 0xFFFFFF.
    public var intervalMaximum: UInt32
    /// The channels to use.
    public var channels: LEAdvertisingChannelMap
    /// The advertiser's address.
    public var ownAddressType: LEOwnAddressType
    /// To whom directed advertisements are directed; zero otherwise.
    public var peer: LEPeerAddress
    /// Who is answered.
    public var filterPolicy: LEAdvertisingFilterPolicy
    /// The wanted transmit power in dBm; nil leaves it to the controller.
    public var transmitPower: Int8?
    /// LE 1M or LE Coded; legacy is always LE 1M.
    public var primaryPHY: LEPHY
    /// How many events the secondary channel may leave out.
    public var secondaryMaximumSkip: UInt8
    /// The PHY of the secondary channel.
    public var secondaryPHY: LEPHY
    /// The set's number on the air, 0x00 to 0x0F.
    public var advertisingSetID: UInt8
    /// Whether the controller tells when somebody asks for the scan response.
    public var notifiesScanRequests: Bool

    /// Parameters of an advertising set; intervals in units of 0.625 ms.
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

/// Stands in HCI for a transmit power or signal strength that is not known or not chosen.
@usableFromInline let powerUnavailable: Int8 = 127

/// The value, or nil for the one that stands for "none".
@inlinable
func unlessUnavailable(_ power: Int8) -> Int8? {
    power == 127 ? nil : power
}

/// Which part of an advertising set's data a command brings (Core Vol 4 Part E §7.8.54).
public struct LEAdvertisingDataOperation: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// An operation of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A part between the first and the last.
    public static let intermediateFragment = LEAdvertisingDataOperation(rawValue: 0x00)
    /// The first part.
    public static let firstFragment = LEAdvertisingDataOperation(rawValue: 0x01)
    /// The last part.
    public static let lastFragment = LEAdvertisingDataOperation(rawValue: 0x02)
    /// All of the data.
    public static let complete = LEAdvertisingDataOperation(rawValue: 0x03)
    /// No data: keeps it and only tells scanners that it is new.
    public static let unchanged = LEAdvertisingDataOperation(rawValue: 0x04)
}

extension LEAdvertisingDataOperation: CustomStringConvertible {
    /// The operation in words.
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

/// LE Set Extended Advertising Data and LE Set Extended Scan Response Data (Core Vol 4 Part E §7.8.54, §7.8.55).
public struct LEExtendedAdvertisingData: Hashable, Sendable {
    /// Which advertising set.
    public var advertisingHandle: UInt8
    /// Which part of the data this is.
    public var operation: LEAdvertisingDataOperation
    /// Whether the controller may divide the data over several PDUs as it likes.
    public var mayBeFragmented: Bool
    /// The data, at most 251 bytes in one command.
    public var data: [UInt8]

    /// A part of an advertising set's data, by default all of it.
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

/// One advertising set in LE Set Extended Advertising Enable (Core Vol 4 Part E §7.8.56).
public struct LEAdvertisingSetEnable: Hashable, Sendable {
    /// Which advertising set.
    public var advertisingHandle: UInt8
    /// For how long, in units of 10 ms; zero is until disabled.
    public var duration: UInt16
    /// After how many advertisements to stop; zero is never.
    public var maximumEvents: UInt8

    /// Advertises with the set, by default until disabled.
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
