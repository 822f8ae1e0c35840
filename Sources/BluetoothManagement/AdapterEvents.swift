import BluetoothPackets
import BluetoothPrimitives

// The events about commands and adapters.

extension ManagementStatus: PacketCode {}
extension ManagementSettings: PacketCode {}

/// Command Complete: the reply to a command.
public struct ManagementCommandComplete: ~Escapable {
    /// The command's opcode.
    public var opcode: ManagementOpcode
    /// The command's status.
    public var status: ManagementStatus
    /// The return parameters, which ``reply(to:)`` decodes.
    public var returnParameters: RawSpan

    /// Creates a reply from its bytes.
    @_lifetime(copy returnParameters)
    public init(opcode: ManagementOpcode, status: ManagementStatus, returnParameters: RawSpan) {
        self.opcode = opcode
        self.status = status
        self.returnParameters = returnParameters
    }

    /// The event as a packet about the adapter hci`index`, or about none.
    ///
    /// Throws ``BufferFull`` when the parameters take more than 65535 bytes.
    public func packet(for index: UInt16 = ManagementPacket.noController) throws(BufferFull) -> [UInt8] {
        try ManagementEventCode.commandComplete.packet(for: index) { (writer) throws(BufferFull) in
            try writer.write(opcode, status)
            try writer.write(returnParameters)
        }
    }

    /// The reply to a command of the given type.
    ///
    /// Throws when it is too short.
    public func reply<Command: ManagementCommand>(to type: Command.Type) throws(TruncatedBytes) -> Command.Reply {
        var reader = ByteReader(returnParameters)
        return try Command.Reply(reading: &reader)
    }

    /// The command, its status and its reply. Commands about a device name it in failures as well, if they got that far.
    public var description: String {
        var reader = ByteReader(returnParameters)
        let isEmpty = returnParameters.isEmpty && !status.isSuccess
        let reply = isEmpty ? "\(ManagementNoReply())" : try? opcode.type?.replyText(&reader)
        return "\(opcode), \(status), \(reply ?? "\(returnParameters.byteCount) bytes")"
    }
}

extension ManagementPacket {
    /// The event if it is Command Complete, nil otherwise.
    ///
    /// Throws when it has too few parameters.
    @_lifetime(copy self)
    public func commandComplete() throws(TruncatedBytes) -> ManagementCommandComplete? {
        guard eventCode == .commandComplete else { return nil }
        var reader = ByteReader(parameters)
        return ManagementCommandComplete(
            opcode: try reader.read(), status: try reader.read(), returnParameters: reader.readRemaining())
    }
}

/// Command Status: a command was refused, or is being carried out.
public struct ManagementCommandStatus: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0002, "Command Status")
    /// The command.
    public var opcode: ManagementOpcode
    /// Its status.
    public var status: ManagementStatus

    /// The event with its parameters.
    public init(_ opcode: ManagementOpcode, _ status: ManagementStatus) {
        self.opcode = opcode
        self.status = status
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(opcode, status) }

    /// The parameters in words.
    public var parameterDescription: String { "\(opcode), \(status)" }
}

/// Controller Error: the controller reported a fault.
public struct ManagementControllerError: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0003, "Controller Error")
    /// The vendor-specific code.
    public var value: UInt8

    /// The event with the parameter `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The parameter in words.
    public var parameterDescription: String { "0x\(hexadecimal(value, digits: 2))" }
}

/// Index Added: an adapter was added.
public struct ManagementIndexAdded: ManagementEvent, EmptyPacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0004, "Index Added")

    /// The event.
    public init() {}
}

/// Index Removed: an adapter was removed.
public struct ManagementIndexRemoved: ManagementEvent, EmptyPacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0005, "Index Removed")

    /// The event.
    public init() {}
}

/// New Settings: an adapter's settings changed.
public struct ManagementNewSettings: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0006, "New Settings")
    /// The settings that are on.
    public var value: ManagementSettings

    /// The event with the parameter `value`.
    public init(_ value: ManagementSettings) { self.value = value }
}

/// Discovering: a discovery began or ended.
public struct ManagementDiscovering: ManagementEvent {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0013, "Discovering")
    /// The address types of the discovery.
    public var types: ManagementAddressTypes
    /// Whether it began.
    public var isDiscovering: Bool

    /// The event with its parameters.
    public init(_ types: ManagementAddressTypes, isDiscovering: Bool) {
        self.types = types
        self.isDiscovering = isDiscovering
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), isDiscovering: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(types, isDiscovering) }

    /// The parameters in words.
    public var parameterDescription: String { "\(types), \(onOff(isDiscovering))" }
}

/// Advertising Added: another program added an advertising instance.
public struct ManagementAdvertisingAdded: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0023, "Advertising Added")
    /// The instance's number.
    public var value: UInt8

    /// The event with the parameter `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The parameter in words.
    public var parameterDescription: String { "instance \(value)" }
}

/// Advertising Removed: another program, or a time limit, removed an advertising instance.
public struct ManagementAdvertisingRemoved: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x0024, "Advertising Removed")
    /// The instance's number.
    public var value: UInt8

    /// The event with the parameter `value`.
    public init(_ value: UInt8) { self.value = value }

    /// The parameter in words.
    public var parameterDescription: String { "instance \(value)" }
}
