import BluetoothPackets
import BluetoothPrimitives

// The commands and events of advertising sets.

/// LE Set Extended Advertising Parameters, which creates or changes a set (Core Vol 4 Part E §7.8.53).
public struct LESetExtendedAdvertisingParameters: HCICommand {
    /// The selected transmit power in dBm.
    public typealias Return = Int8
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2036, "LE Set Extended Advertising Parameters")
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.read()
        properties = try reader.read()
        intervalMinimum = try reader.readUInt24()
        intervalMaximum = try reader.readUInt24()
        channels = try reader.read()
        ownAddressType = try reader.read()
        peer = try reader.read()
        filterPolicy = try reader.read()
        transmitPower = unlessUnavailable(try reader.read())
        primaryPHY = try reader.read()
        secondaryMaximumSkip = try reader.read()
        secondaryPHY = try reader.read()
        advertisingSetID = try reader.read()
        notifiesScanRequests = try reader.read()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(advertisingHandle, properties)
        try writer.writeUInt24(min(intervalMinimum, 0xFF_FFFF))
        try writer.writeUInt24(min(intervalMaximum, 0xFF_FFFF))
        try writer.write(channels, ownAddressType, peer)
        try writer.write(filterPolicy, transmitPower ?? powerUnavailable, primaryPHY)
        try writer.write(secondaryMaximumSkip, secondaryPHY)
        try writer.write(advertisingSetID, notifiesScanRequests)
    }

    /// The set, its properties, the address type and the intervals.
    public var parameterDescription: String {
        "set \(advertisingHandle), \(properties), own address \(ownAddressType), "
            + "interval \(intervalMinimum)-\(intervalMaximum) x 0.625 ms"
    }
}

/// The fragment of an advertising set's data in a command (Core Vol 4 Part E §7.8.54).
public struct LEAdvertisingDataOperation: PacketCode, Hashable, Sendable {
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
        codeName(rawValue, ["intermediate fragment", "first fragment", "last fragment", "complete", "unchanged"])
            ?? "operation 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The parameters of LE Set Extended Advertising Data and LE Set Extended Scan Response Data
/// (Core Vol 4 Part E §7.8.54, §7.8.55).
public struct LEExtendedAdvertisingData: PacketField, Hashable, Sendable, CustomStringConvertible {
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.read()
        operation = try reader.read()
        mayBeFragmented = try reader.readUInt8() == 0
        let count = Int(try reader.readUInt8())
        data = [UInt8](try reader.read(count))
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: data.count), count <= 251 else {
            throw BufferFull(needed: data.count, available: 251)
        }
        try writer.write(advertisingHandle, operation)
        try writer.write(!mayBeFragmented, count)
        try writer.write(data)
    }

    /// The set, the fragment and the data.
    public var description: String { "set \(advertisingHandle), \(operation), \(data.hexadecimal)" }
}

/// An advertising set in LE Set Extended Advertising Enable (Core Vol 4 Part E §7.8.56).
public struct LEAdvertisingSetEnable: PacketField, Hashable, Sendable {
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(advertisingHandle: reader.read(), duration: reader.read(), maximumEvents: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(advertisingHandle, duration, maximumEvents)
    }
}

/// LE Set Extended Advertising Data (Core Vol 4 Part E §7.8.54).
public struct LESetExtendedAdvertisingData: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2037, "LE Set Extended Advertising Data")
    /// The set and its data.
    public var value: LEExtendedAdvertisingData

    /// The command with the data of a set.
    public init(_ value: LEExtendedAdvertisingData) { self.value = value }
}

/// LE Set Extended Scan Response Data (Core Vol 4 Part E §7.8.55).
public struct LESetExtendedScanResponseData: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2038, "LE Set Extended Scan Response Data")
    /// The set and its data.
    public var value: LEExtendedAdvertisingData

    /// The command with the data of a set.
    public init(_ value: LEExtendedAdvertisingData) { self.value = value }
}

/// LE Set Extended Advertising Enable; disabling without sets disables all (Core Vol 4 Part E §7.8.56).
public struct LESetExtendedAdvertisingEnable: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2039, "LE Set Extended Advertising Enable")
    /// Whether to enable the sets.
    public var isEnabled: Bool
    /// The sets, at most 63.
    public var sets: [LEAdvertisingSetEnable]

    /// The command that enables or disables sets.
    public init(_ isEnabled: Bool, sets: [LEAdvertisingSetEnable]) {
        self.isEnabled = isEnabled
        self.sets = sets
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        isEnabled = try reader.read()
        sets = []
        for _ in 0..<(try reader.readUInt8()) { sets.append(try reader.read()) }
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: sets.count) else {
            throw BufferFull(needed: 2 + 4 * sets.count, available: 255)
        }
        try writer.write(isEnabled, count)
        for set in sets { try writer.write(set) }
    }

    /// Whether the sets are enabled, and the sets.
    public var parameterDescription: String {
        ([onOff(isEnabled)] + sets.map { "set \($0.advertisingHandle)" }).joined(separator: ", ")
    }
}

/// LE Set Advertising Set Random Address (Core Vol 4 Part E §7.8.52).
public struct LESetAdvertisingSetRandomAddress: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2035, "LE Set Advertising Set Random Address")
    /// The advertising handle.
    public var advertisingHandle: UInt8
    /// The random address.
    public var address: BluetoothAddress

    /// The command with the address of a set.
    public init(advertisingHandle: UInt8, _ address: BluetoothAddress) {
        self.advertisingHandle = advertisingHandle
        self.address = address
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        advertisingHandle = try reader.read()
        address = try reader.readAddress(.random)
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(advertisingHandle, address) }

    /// The set and the address.
    public var parameterDescription: String { "set \(advertisingHandle), \(address.digits)" }
}

/// LE Read Maximum Advertising Data Length (Core Vol 4 Part E §7.8.57).
public struct LEReadMaximumAdvertisingDataLength: HCICommand, EmptyPacket {
    /// The maximum length, 31 to 1650 bytes.
    public typealias Return = UInt16
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x203A, "LE Read Maximum Advertising Data Length")

    /// The command.
    public init() {}
}

/// LE Read Number of Supported Advertising Sets (Core Vol 4 Part E §7.8.58).
public struct LEReadNumberOfSupportedAdvertisingSets: HCICommand, EmptyPacket {
    /// The number of sets.
    public typealias Return = UInt8
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x203B, "LE Read Number of Supported Advertising Sets")

    /// The command.
    public init() {}
}

/// LE Remove Advertising Set (Core Vol 4 Part E §7.8.59).
public struct LERemoveAdvertisingSet: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x203C, "LE Remove Advertising Set")
    /// The advertising handle.
    public var value: UInt8

    /// The command for the set with the handle `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The set.
    public var parameterDescription: String { "set \(value)" }
}

/// LE Clear Advertising Sets (Core Vol 4 Part E §7.8.60).
public struct LEClearAdvertisingSets: HCICommand, EmptyPacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x203D, "LE Clear Advertising Sets")

    /// The command.
    public init() {}
}

/// LE Advertising Set Terminated (Core Vol 4 Part E §7.7.65.18).
public struct LEAdvertisingSetTerminated: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x12, "LE Advertising Set Terminated")
    /// Success if the set ended with a connection; advertising timeout or limit reached if it expired.
    public var status: HCIStatus
    /// The advertising handle.
    public var advertisingHandle: UInt8
    /// The connection; meaningless unless the status is success.
    public var connectionHandle: ConnectionHandle
    /// The number of completed advertising events, if the set has a limit.
    public var completedEvents: UInt8

    /// The end of an advertising set.
    public init(
        status: HCIStatus, advertisingHandle: UInt8, connectionHandle: ConnectionHandle = 0, completedEvents: UInt8 = 0
    ) {
        self.status = status
        self.advertisingHandle = advertisingHandle
        self.connectionHandle = connectionHandle
        self.completedEvents = completedEvents
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            status: reader.read(), advertisingHandle: reader.read(), connectionHandle: reader.read(),
            completedEvents: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status, advertisingHandle)
        try writer.write(connectionHandle, completedEvents)
    }

    /// The set and the reason for its end.
    public var parameterDescription: String {
        status.isSuccess
            ? "set \(advertisingHandle), connected as \(connectionHandle)" : "set \(advertisingHandle), \(status)"
    }
}
