import BluetoothPackets
import BluetoothPrimitives

// The commands and events about the size of an LE link's packets and their PHY.

/// LE Set Data Length (Core Vol 4 Part E §7.8.33).
public struct LESetDataLength: HCICommand {
    /// The connection.
    public typealias Return = ConnectionHandle
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2022, "LE Set Data Length")
    /// The connection.
    public var handle: ConnectionHandle
    /// The preferred maximum payload of a transmitted packet in bytes, 27 to 251.
    public var octets: UInt16
    /// The preferred maximum duration of a transmitted packet in microseconds, 328 to 17040.
    public var time: UInt16

    /// The command with preferences for a connection.
    public init(_ handle: ConnectionHandle, octets: UInt16, time: UInt16) {
        self.handle = handle
        self.octets = octets
        self.time = time
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), octets: reader.read(), time: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, octets, time) }

    /// The connection and the preferences.
    public var parameterDescription: String { "handle \(handle), \(octets) bytes, \(time) µs" }

    /// Whether the connection is the same.
    public func mayBeAnswered(by answer: ConnectionHandle) -> Bool { answer == handle }
}

/// LE Read Maximum Data Length (Core Vol 4 Part E §7.8.46).
public struct LEReadMaximumDataLength: HCICommand, EmptyPacket {
    /// The maxima that the controller supports.
    public typealias Return = LEDataLength
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x202F, "LE Read Maximum Data Length")

    /// The command.
    public init() {}
}

/// The maximum sizes and durations of the packets of a link, or of a controller.
public struct LEDataLength: PacketField, Hashable, Sendable {
    /// The maximum payload of a transmitted packet in bytes, 27 to 251.
    public var transmitOctets: UInt16
    /// The maximum duration of a transmitted packet in microseconds.
    public var transmitTime: UInt16
    /// The maximum payload of a received packet in bytes, 27 to 251.
    public var receiveOctets: UInt16
    /// The maximum duration of a received packet in microseconds.
    public var receiveTime: UInt16

    /// Maxima for both directions.
    public init(transmitOctets: UInt16, transmitTime: UInt16, receiveOctets: UInt16, receiveTime: UInt16) {
        self.transmitOctets = transmitOctets
        self.transmitTime = transmitTime
        self.receiveOctets = receiveOctets
        self.receiveTime = receiveTime
    }

    /// Reads the maxima.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            transmitOctets: reader.read(), transmitTime: reader.read(), receiveOctets: reader.read(),
            receiveTime: reader.read())
    }

    /// Writes the maxima.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(transmitOctets, transmitTime)
        try writer.write(receiveOctets, receiveTime)
    }
}

/// LE Data Length Change (Core Vol 4 Part E §7.7.65.7).
public struct LEDataLengthChange: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x07, "LE Data Length Change")
    /// The connection.
    public var handle: ConnectionHandle
    /// The maxima of its packets.
    public var length: LEDataLength

    /// A change of a connection's data length.
    public init(handle: ConnectionHandle, length: LEDataLength) {
        self.handle = handle
        self.length = length
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(handle: reader.read(), length: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, length) }

    /// The connection and its maxima in both directions.
    public var parameterDescription: String {
        "handle \(handle), transmit \(length.transmitOctets) bytes \(length.transmitTime) µs, "
            + "receive \(length.receiveOctets) bytes \(length.receiveTime) µs"
    }
}

/// LE Read PHY (Core Vol 4 Part E §7.8.47).
public struct LEReadPHY: HCILinkCommand {
    /// The PHYs of the connection.
    public typealias Return = LELinkPHYs
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2030, "LE Read PHY")
    /// The connection.
    public var handle: ConnectionHandle

    /// The command about a connection.
    public init(_ handle: ConnectionHandle) { self.handle = handle }
}

/// The PHYs of a connection.
public struct LELinkPHYs: HCILinkReturn, Hashable, Sendable {
    /// The connection.
    public var handle: ConnectionHandle
    /// The PHY for transmission.
    public var transmit: LEPHY
    /// The PHY for reception.
    public var receive: LEPHY

    /// The PHYs of a connection.
    public init(handle: ConnectionHandle, transmit: LEPHY, receive: LEPHY) {
        self.handle = handle
        self.transmit = transmit
        self.receive = receive
    }

    /// Reads the PHYs.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(handle: reader.read(), transmit: reader.read(), receive: reader.read())
    }

    /// Writes the PHYs.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, transmit, receive) }
}

/// LE PHY Update Complete (Core Vol 4 Part E §7.7.65.12).
public struct LEPHYUpdate: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x0C, "LE PHY Update Complete")
    /// The status; unless it is success, the PHYs are unchanged.
    public var status: HCIStatus
    /// The PHYs of the connection.
    public var phys: LELinkPHYs

    /// The PHYs of a connection.
    public init(status: HCIStatus = .success, phys: LELinkPHYs) {
        self.status = status
        self.phys = phys
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), phys: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(status, phys) }

    /// The connection and its PHYs.
    public var parameterDescription: String {
        "handle \(phys.handle), \(status), transmit \(phys.transmit), receive \(phys.receive)"
    }
}

/// LE Set PHY (Core Vol 4 Part E §7.8.49).
public struct LESetPHY: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2032, "LE Set PHY")
    /// The connection.
    public var handle: ConnectionHandle
    /// The preferred PHYs.
    public var preference: LEPHYPreference

    /// The command with preferences for a connection.
    public init(_ handle: ConnectionHandle, _ preference: LEPHYPreference) {
        self.handle = handle
        self.preference = preference
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, preference) }

    /// The connection and the preferences.
    public var parameterDescription: String {
        let any = "any"
        return "handle \(handle), transmit \(preference.transmit?.description ?? any), "
            + "receive \(preference.receive?.description ?? any)"
    }
}

/// The PHY preferences in LE Set PHY (Core Vol 4 Part E §7.8.49).
public struct LEPHYPreference: PacketField, Hashable, Sendable {
    /// The preferred PHYs for transmission; nil for no preference.
    public var transmit: LEPHYSet?
    /// The preferred PHYs for reception; nil for no preference.
    public var receive: LEPHYSet?
    /// The preferred coding of LE Coded: 0 none, 1 S=2 (500 kbit/s), 2 S=8 (125 kbit/s).
    public var codedOptions: UInt16

    /// Preferences for both directions.
    public init(transmit: LEPHYSet?, receive: LEPHYSet?, codedOptions: UInt16 = 0) {
        self.transmit = transmit
        self.receive = receive
        self.codedOptions = codedOptions
    }

    /// Reads the preferences.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let without = try reader.readUInt8()
        let transmit: LEPHYSet = try reader.read()
        let receive: LEPHYSet = try reader.read()
        self.transmit = without & 0x01 == 0 ? transmit : nil
        self.receive = without & 0x02 == 0 ? receive : nil
        codedOptions = try reader.read()
    }

    /// Writes the preferences.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write((transmit == nil ? 0x01 : 0) | (receive == nil ? 0x02 : 0) as UInt8)
        try writer.write(transmit ?? [], receive ?? [], codedOptions)
    }
}
