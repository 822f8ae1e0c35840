import BluetoothPackets
import BluetoothPrimitives

// The commands and events about an LE link.

/// The connection parameters that a host requests (Core Vol 4 Part E §7.8.12).
public struct LEConnectionParameters: PacketField, Hashable, Sendable {
    /// The minimum connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMinimum: UInt16
    /// The maximum connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMaximum: UInt16
    /// The peripheral latency in connection events, 0 to 499.
    public var latency: UInt16
    /// The supervision timeout, in units of 10 ms, 10 to 3200; it must exceed twice the maximum interval times (latency
    /// + 1).
    public var supervisionTimeout: UInt16

    /// Connection parameters in the units of HCI.
    public init(intervalMinimum: UInt16, intervalMaximum: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            intervalMinimum: reader.read(), intervalMaximum: reader.read(), latency: reader.read(),
            supervisionTimeout: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(intervalMinimum, intervalMaximum)
        try writer.write(latency, supervisionTimeout)
    }
}

extension LEConnectionParameters: CustomStringConvertible {
    /// The values with their units.
    public var description: String {
        "interval \(intervalMinimum)-\(intervalMaximum) x 1.25 ms, latency \(latency), "
            + "supervision timeout \(supervisionTimeout) x 10 ms"
    }
}

/// The expected length of connection events, a hint to the controller's scheduler.
public struct LEConnectionEventLength: PacketField, Hashable, Sendable {
    /// The minimum length, in units of 0.625 ms.
    public var minimum: UInt16
    /// The maximum length, in units of 0.625 ms.
    public var maximum: UInt16

    /// A hint, none by default.
    public init(minimum: UInt16 = 0, maximum: UInt16 = 0) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// Reads the lengths.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(minimum: reader.read(), maximum: reader.read())
    }

    /// Writes the lengths.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(minimum, maximum) }
}

/// The current parameters of a connection.
public struct LEActiveConnectionParameters: PacketField, Hashable, Sendable, CustomStringConvertible {
    /// The connection interval, in units of 1.25 ms.
    public var interval: UInt16
    /// The peripheral latency in connection events.
    public var latency: UInt16
    /// The supervision timeout, in units of 10 ms.
    public var supervisionTimeout: UInt16

    /// Connection parameters in the units of HCI.
    public init(interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(interval: reader.read(), latency: reader.read(), supervisionTimeout: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(interval, latency, supervisionTimeout)
    }

    /// The values with their units.
    public var description: String {
        "interval \(interval) x 1.25 ms, latency \(latency), supervision timeout \(supervisionTimeout) x 10 ms"
    }
}

/// LE Connection Update (Core Vol 4 Part E §7.8.18).
public struct LEConnectionUpdate: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2013, "LE Connection Update")
    /// The connection.
    public var handle: ConnectionHandle
    /// The requested parameters.
    public var parameters: LEConnectionParameters
    /// The expected length of connection events.
    public var eventLength: LEConnectionEventLength

    /// The command with parameters for a connection.
    public init(
        _ handle: ConnectionHandle, _ parameters: LEConnectionParameters,
        eventLength: LEConnectionEventLength = LEConnectionEventLength()
    ) {
        self.handle = handle
        self.parameters = parameters
        self.eventLength = eventLength
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), reader.read(), eventLength: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(handle, parameters, eventLength)
    }

    /// The connection and the requested parameters.
    public var parameterDescription: String { "handle \(handle), \(parameters)" }
}

/// LE Connection Update Complete (Core Vol 4 Part E §7.7.65.3).
public struct LEConnectionUpdateComplete: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x03, "LE Connection Update Complete")
    /// The status; unless it is success, the parameters are unchanged.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The current connection parameters.
    public var parameters: LEActiveConnectionParameters

    /// An update of connection parameters.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, parameters: LEActiveConnectionParameters) {
        self.status = status
        self.handle = handle
        self.parameters = parameters
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), handle: reader.read(), parameters: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(status, handle, parameters) }

    /// The connection and its parameters.
    public var parameterDescription: String { "handle \(handle), \(status), \(parameters)" }
}

/// LE Remote Connection Parameter Request (Core Vol 4 Part E §7.7.65.6).
public struct LERemoteConnectionParameterRequest: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x06, "LE Remote Connection Parameter Request")
    /// The connection.
    public var handle: ConnectionHandle
    /// The parameters that the peer requests.
    public var parameters: LEConnectionParameters

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        handle = try reader.read()
        parameters = try reader.read()
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle, parameters) }

    /// The connection and the requested parameters.
    public var parameterDescription: String { "handle \(handle), \(parameters)" }
}

/// LE Read Remote Features (Core Vol 4 Part E §7.8.21).
public struct LEReadRemoteFeatures: HCILinkCommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2016, "LE Read Remote Features")
    /// The connection.
    public var handle: ConnectionHandle

    /// The command about a connection.
    public init(_ handle: ConnectionHandle) { self.handle = handle }
}

/// LE Read Remote Features Complete (Core Vol 4 Part E §7.7.65.4).
public struct LERemoteFeatures: HCIEvent {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x04, "LE Read Remote Features Complete")
    /// The status of the exchange.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The peer's LE features.
    public var features: LEFeatures

    /// The features of a peer.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, features: LEFeatures) {
        self.status = status
        self.handle = handle
        self.features = features
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(status: reader.read(), handle: reader.read(), features: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(status, handle, features) }

    /// The connection and the peer's features.
    public var parameterDescription: String { "handle \(handle), \(status), \(features)" }
}
