import BluetoothPackets
import BluetoothPrimitives

// The commands and events about any link.

/// Disconnect (Core Vol 4 Part E §7.1.6).
public struct HCIDisconnect: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x0406, "Disconnect")
    /// The connection.
    public var handle: ConnectionHandle
    /// The reason for the disconnection.
    public var reason: HCIStatus

    /// The command with a reason.
    public init(_ handle: ConnectionHandle, reason: HCIStatus) {
        self.handle = handle
        self.reason = reason
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), reason: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, reason) }

    /// The connection and the reason.
    public var parameterDescription: String { "handle \(handle), \(reason)" }
}

/// Disconnection Complete (Core Vol 4 Part E §7.7.5).
public struct HCIDisconnectionComplete: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(0x05, "Disconnection Complete")
    /// The status; unless it is success, the connection persists and ``reason`` is meaningless.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The reason for the disconnection.
    public var reason: HCIStatus

    /// The end of a connection.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, reason: HCIStatus) {
        self.status = status
        self.handle = handle
        self.reason = reason
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), handle: reader.read(), reason: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(status, handle, reason) }

    /// The connection and the reason, or the status of a failure.
    public var parameterDescription: String { "handle \(handle), \(status.isSuccess ? reason : status)" }
}

/// Encryption Change (Core Vol 4 Part E §7.7.8).
public struct HCIEncryptionChange: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(0x08, "Encryption Change")
    /// The status; unless it is success, the encryption is unchanged.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// Whether the connection is now encrypted.
    public var isEncrypted: Bool

    /// A change of encryption.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, isEncrypted: Bool) {
        self.status = status
        self.handle = handle
        self.isEncrypted = isEncrypted
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), handle: reader.read(), isEncrypted: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(status, handle, isEncrypted) }

    /// The connection and its encryption.
    public var parameterDescription: String {
        "handle \(handle), \(status.isSuccess ? (isEncrypted ? "encrypted" : "not encrypted") : status.description)"
    }
}

/// Read RSSI of a connection (Core Vol 4 Part E §7.5.4).
public struct HCIReadRSSI: HCILinkCommand {
    /// The connection and its RSSI.
    public typealias Return = HCILinkPower
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x1405, "Read RSSI")
    /// The connection.
    public var handle: ConnectionHandle

    /// The command about a connection.
    public init(_ handle: ConnectionHandle) { self.handle = handle }
}

/// Read Transmit Power Level, the current or the maximum level of a connection (Core Vol 4 Part E §7.3.35).
public struct HCIReadTransmitPowerLevel: HCICommand {
    /// The connection and its transmit power.
    public typealias Return = HCILinkPower
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x0C2D, "Read Transmit Power Level")
    /// The connection.
    public var handle: ConnectionHandle
    /// Whether the maximum level is read, and not the current one.
    public var maximum: Bool

    /// The command about a connection.
    public init(_ handle: ConnectionHandle, maximum: Bool) {
        self.handle = handle
        self.maximum = maximum
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), maximum: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, maximum) }

    /// The connection and the level.
    public var parameterDescription: String { "handle \(handle), \(maximum ? "maximum" : "current")" }

    /// Whether the level is of the same link.
    public func mayBeAnswered(by answer: Return) -> Bool { answer.handle == handle }
}

/// The RSSI or the transmit power of a link.
public struct HCILinkPower: HCILinkReturn, Hashable, Sendable {
    /// The connection.
    public var handle: ConnectionHandle
    /// The power in dBm, if available.
    public var power: Int8?

    /// The power of a link in dBm.
    public init(handle: ConnectionHandle, power: Int8?) {
        self.handle = handle
        self.power = power
    }

    /// Reads the handle and the power.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        handle = try reader.read()
        power = unlessUnavailable(try reader.read())
    }

    /// Writes the handle and the power.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(handle, power ?? powerUnavailable)
    }
}

/// The value of HCI for an unavailable transmit power or RSSI, or for no preference.
@usableFromInline package let powerUnavailable: Int8 = 127

/// The power in dBm, or nil for the value that means "unavailable".
@inlinable
package func unlessUnavailable(_ power: Int8) -> Int8? {
    power == 127 ? nil : power
}

extension ConnectionHandle: HCILinkReturn {
    /// The handle itself.
    public var handle: ConnectionHandle { self }
}
