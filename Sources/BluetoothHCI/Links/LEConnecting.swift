import BluetoothPackets
import BluetoothPrimitives

// The commands and events of connecting, and the filter accept list.

/// LE Create Connection (Core Vol 4 Part E §7.8.12).
public struct LECreateConnection: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200D, "LE Create Connection")
    /// The scan interval, in units of 0.625 ms, 4 to 0x4000.
    public var scanInterval: UInt16
    /// The scan window, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// Whether to connect to any device on the filter accept list; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// The peer.
    public var peer: LEPeerAddress
    /// The type of the initiator's address.
    public var ownAddressType: LEOwnAddressType
    /// The connection parameters.
    public var parameters: LEConnectionParameters
    /// The expected length of connection events.
    public var eventLength: LEConnectionEventLength

    /// Parameters of a legacy connection attempt.
    public init(
        scanInterval: UInt16, scanWindow: UInt16, usesAcceptList: Bool = false, peer: LEPeerAddress,
        ownAddressType: LEOwnAddressType = .public, parameters: LEConnectionParameters,
        eventLength: LEConnectionEventLength = LEConnectionEventLength()
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.usesAcceptList = usesAcceptList
        self.peer = peer
        self.ownAddressType = ownAddressType
        self.parameters = parameters
        self.eventLength = eventLength
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            scanInterval: reader.read(), scanWindow: reader.read(), usesAcceptList: reader.read(), peer: reader.read(),
            ownAddressType: reader.read(), parameters: reader.read(), eventLength: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(scanInterval, scanWindow, usesAcceptList)
        try writer.write(peer, ownAddressType)
        try writer.write(parameters, eventLength)
    }

    /// The peer and the connection parameters.
    public var parameterDescription: String { "\(usesAcceptList ? "accept list" : "\(peer)"), \(parameters)" }
}

/// The parameters of LE Extended Create Connection for one PHY.
public struct LEInitiatingParameters: PacketField, Hashable, Sendable {
    /// The scan interval, in units of 0.625 ms.
    public var scanInterval: UInt16
    /// The scan window, in units of 0.625 ms.
    public var scanWindow: UInt16
    /// The connection parameters.
    public var parameters: LEConnectionParameters
    /// The expected length of connection events.
    public var eventLength: LEConnectionEventLength

    /// Parameters for one PHY.
    public init(
        scanInterval: UInt16, scanWindow: UInt16, parameters: LEConnectionParameters,
        eventLength: LEConnectionEventLength = LEConnectionEventLength()
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.parameters = parameters
        self.eventLength = eventLength
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            scanInterval: reader.read(), scanWindow: reader.read(), parameters: reader.read(),
            eventLength: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(scanInterval, scanWindow)
        try writer.write(parameters, eventLength)
    }
}

/// LE Extended Create Connection (Core Vol 4 Part E §7.8.66).
public struct LEExtendedCreateConnection: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2043, "LE Extended Create Connection")
    /// Whether to connect to any device on the filter accept list; ``peer`` is then ignored.
    public var usesAcceptList: Bool
    /// The type of the initiator's address.
    public var ownAddressType: LEOwnAddressType
    /// The peer.
    public var peer: LEPeerAddress
    /// The parameters for LE 1M; nil disables it.
    public var le1M: LEInitiatingParameters?
    /// The parameters for LE 2M, which has no primary advertising but connections; nil disables it.
    public var le2M: LEInitiatingParameters?
    /// The parameters for LE Coded; nil disables it.
    public var leCoded: LEInitiatingParameters?

    /// Parameters of an extended connection attempt, for at least one PHY.
    public init(
        usesAcceptList: Bool = false, ownAddressType: LEOwnAddressType = .public, peer: LEPeerAddress,
        le1M: LEInitiatingParameters?, le2M: LEInitiatingParameters? = nil, leCoded: LEInitiatingParameters? = nil
    ) {
        self.usesAcceptList = usesAcceptList
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.le1M = le1M
        self.le2M = le2M
        self.leCoded = leCoded
    }

    /// The PHYs that have parameters.
    public var phys: LEPHYSet {
        [le1M == nil ? [] : .le1M, le2M == nil ? [] : .le2M, leCoded == nil ? [] : .leCoded]
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        usesAcceptList = try reader.read()
        ownAddressType = try reader.read()
        peer = try reader.read()
        let phys: LEPHYSet = try reader.read()
        le1M = phys.contains(.le1M) ? try reader.read() : nil
        le2M = phys.contains(.le2M) ? try reader.read() : nil
        leCoded = phys.contains(.leCoded) ? try reader.read() : nil
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(usesAcceptList, ownAddressType)
        try writer.write(peer, phys)
        try le1M?.write(to: &writer)
        try le2M?.write(to: &writer)
        try leCoded?.write(to: &writer)
    }

    /// The peer and the PHYs.
    public var parameterDescription: String { "\(usesAcceptList ? "accept list" : "\(peer)"), \(phys)" }
}

/// LE Create Connection Cancel (Core Vol 4 Part E §7.8.13).
public struct LECreateConnectionCancel: HCICommand, EmptyPacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200E, "LE Create Connection Cancel")

    /// The command.
    public init() {}
}

/// LE Read Filter Accept List Size (Core Vol 4 Part E §7.8.14).
public struct LEReadFilterAcceptListSize: HCICommand, EmptyPacket {
    /// The number of entries.
    public typealias Return = UInt8
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200F, "LE Read Filter Accept List Size")

    /// The command.
    public init() {}
}

/// LE Clear Filter Accept List (Core Vol 4 Part E §7.8.15).
public struct LEClearFilterAcceptList: HCICommand, EmptyPacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2010, "LE Clear Filter Accept List")

    /// The command.
    public init() {}
}

/// LE Add Device To Filter Accept List (Core Vol 4 Part E §7.8.16).
public struct LEAddDeviceToFilterAcceptList: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2011, "LE Add Device To Filter Accept List")
    /// The new entry.
    public var value: LEFilterAcceptListEntry

    /// The command with the entry `value`.
    public init(_ value: LEFilterAcceptListEntry) { self.value = value }
}

/// LE Remove Device From Filter Accept List (Core Vol 4 Part E §7.8.17).
public struct LERemoveDeviceFromFilterAcceptList: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2012, "LE Remove Device From Filter Accept List")
    /// The entry.
    public var value: LEFilterAcceptListEntry

    /// The command with the entry `value`.
    public init(_ value: LEFilterAcceptListEntry) { self.value = value }
}

/// An entry of the filter accept list (Core Vol 4 Part E §7.8.16).
public enum LEFilterAcceptListEntry: PacketField, Hashable, Sendable {
    /// A device.
    case device(BluetoothAddress)
    /// All anonymous advertisers.
    case anonymousAdvertisers

    /// The address type of anonymous advertisers.
    static let anonymousType: UInt8 = 0xFF

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let type = try reader.readUInt8()
        let address = try reader.readAddress(LEPeerAddress.kind(ofType: type))
        self = type == Self.anonymousType ? .anonymousAdvertisers : .device(address)
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .device(let address):
            try writer.write(address.kind.rawValue, address)
        case .anonymousAdvertisers:
            try writer.write(Self.anonymousType, BluetoothAddress.zero)
        }
    }
}

extension LEFilterAcceptListEntry: CustomStringConvertible {
    /// The device, or `anonymous advertisers`.
    public var description: String {
        switch self {
        case .device(let address): return "\(LEPeerAddress(address))"
        case .anonymousAdvertisers: return "anonymous advertisers"
        }
    }
}

/// The role of this device in a connection.
public struct LEConnectionRole: PacketCode, Hashable, Sendable, CustomStringConvertible {
    /// The role as sent, one byte.
    public let rawValue: UInt8

    /// The role with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The central, which initiated the connection.
    public static let central = LEConnectionRole(rawValue: 0x00)
    /// The peripheral, which advertised.
    public static let peripheral = LEConnectionRole(rawValue: 0x01)

    /// The name of the role.
    public var description: String {
        codeName(rawValue, ["central", "peripheral"])
            ?? "role 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// LE Connection Complete (Core Vol 4 Part E §7.7.65.1).
public struct LEConnectionComplete: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x01, "LE Connection Complete")
    /// The status; unless it is success, all other fields are meaningless.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The role of this device.
    public var role: LEConnectionRole
    /// The peer.
    public var peer: LEPeerAddress
    /// The local resolvable private address that the controller generated; enhanced event only.
    public var localResolvablePrivateAddress: BluetoothAddress?
    /// The peer's resolvable private address that the controller resolved; enhanced event only.
    public var peerResolvablePrivateAddress: BluetoothAddress?
    /// The initial connection parameters.
    public var parameters: LEActiveConnectionParameters
    /// The central's clock accuracy, 0 (500 ppm) to 7 (20 ppm); only for a peripheral.
    public var centralClockAccuracy: UInt8

    /// A new connection, or a failed attempt with another status than success.
    public init(
        status: HCIStatus = .success, handle: ConnectionHandle, role: LEConnectionRole, peer: LEPeerAddress,
        localResolvablePrivateAddress: BluetoothAddress? = nil, peerResolvablePrivateAddress: BluetoothAddress? = nil,
        parameters: LEActiveConnectionParameters, centralClockAccuracy: UInt8 = 0
    ) {
        self.status = status
        self.handle = handle
        self.role = role
        self.peer = peer
        self.localResolvablePrivateAddress = localResolvablePrivateAddress
        self.peerResolvablePrivateAddress = peerResolvablePrivateAddress
        self.parameters = parameters
        self.centralClockAccuracy = centralClockAccuracy
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reading: &reader, isEnhanced: false)
    }

    fileprivate init(reading reader: inout ByteReader, isEnhanced: Bool) throws(TruncatedBytes) {
        status = try reader.read()
        handle = try reader.read()
        role = try reader.read()
        peer = try reader.read()
        if isEnhanced {
            let local = try reader.readAddress(.random)
            let peer = try reader.readAddress(.random)
            localResolvablePrivateAddress = local.isZero ? nil : local
            peerResolvablePrivateAddress = peer.isZero ? nil : peer
        }
        parameters = try reader.read()
        centralClockAccuracy = try reader.read()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try write(to: &writer, isEnhanced: false) }

    fileprivate func write(to writer: inout ByteWriter, isEnhanced: Bool) throws(BufferFull) {
        try writer.write(status, handle)
        try writer.write(role, peer)
        if isEnhanced {
            try writer.write(localResolvablePrivateAddress ?? .zero)
            try writer.write(peerResolvablePrivateAddress ?? .zero)
        }
        try writer.write(parameters, centralClockAccuracy)
    }

    /// The connection and its peer, or the status of a failure.
    public var parameterDescription: String {
        status.isSuccess ? "handle \(handle), \(role), peer \(peer), \(parameters)" : "\(status)"
    }
}

/// LE Enhanced Connection Complete, which also has the private addresses in use (Core Vol 4 Part E §7.7.65.10).
public struct LEEnhancedConnectionComplete: HCIEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x0A, "LE Enhanced Connection Complete")
    /// The connection.
    public var value: LEConnectionComplete

    /// The event about a connection.
    public init(_ value: LEConnectionComplete) { self.value = value }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        value = try LEConnectionComplete(reading: &reader, isEnhanced: true)
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try value.write(to: &writer, isEnhanced: true) }

    /// The connection and its peer, or the status of a failure.
    public var parameterDescription: String { value.parameterDescription }
}
