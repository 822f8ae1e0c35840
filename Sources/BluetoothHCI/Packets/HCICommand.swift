import BluetoothPackets
import BluetoothPrimitives

/// An HCI command: its opcode and name, its parameters, and its return parameters (Core Vol 4 Part E §5.4.1).
///
/// A host encodes it and a controller decodes it. A vendor's command can be another type that conforms.
public protocol HCICommand: DefinedPacket where Code == HCIOpcode {
    /// The return parameters after the status of success.
    associatedtype Return: PacketField & Hashable & Sendable = HCINoParameters
    /// Whether the return parameters can be of this command, and not of another one with the same opcode.
    func mayBeAnswered(by answer: Return) -> Bool
}

/// The opcode of a command and its name in the specification.
public typealias HCICommandDefinition = PacketDefinition<HCIOpcode>

extension HCICommandDefinition {
    /// The definition of a command.
    public init(_ opcode: UInt16, _ name: String) { self.init(code: HCIOpcode(rawValue: opcode), name) }
}

/// The return parameters of a command that returns only a status.
public struct HCINoParameters: EmptyPacket, Hashable, Sendable {
    /// No parameters.
    public init() {}
}

/// A command about one link, without other parameters.
public protocol HCILinkCommand: HCICommand {
    /// The connection.
    var handle: ConnectionHandle { get }
    /// A command about the connection `handle`.
    init(_ handle: ConnectionHandle)
}

/// Return parameters about a link, or the handle alone.
public protocol HCILinkReturn: PacketField {
    /// The connection.
    var handle: ConnectionHandle { get }
}

extension HCICommand {
    /// The opcode.
    public static var opcode: HCIOpcode { definition.code }

    /// Whether the return parameters can be of this command: always.
    public func mayBeAnswered(by answer: Return) -> Bool { true }

    /// The command packet with its leading 0x01.
    ///
    /// - Throws: `BufferFull` when a list or data does not fit into the command.
    public func packet() throws(BufferFull) -> [UInt8] { try AnyHCICommand(self).packet() }

    /// The Command Complete event of success, as a packet with its leading 0x04.
    ///
    /// - Throws: `BufferFull` when the return parameters do not fit into an event.
    public static func complete(
        _ answer: Return, allowedCommandPackets: UInt8 = 1
    ) throws(BufferFull) -> [UInt8] {
        try opcode.complete(.success, answer, allowedCommandPackets: allowedCommandPackets)
    }
}

extension HCILinkCommand {
    /// Reads the handle.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self.init(try reader.read()) }

    /// Writes the handle.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(handle) }

    /// The handle in words.
    public var parameterDescription: String { "handle \(handle)" }
}

extension HCILinkCommand where Return: HCILinkReturn {
    /// Whether the return parameters are about the same link.
    public func mayBeAnswered(by answer: Return) -> Bool { answer.handle == handle }
}

/// The opcode and parameters of a command packet (Core Vol 4 Part E §5.4.1).
public struct HCICommandPacket: ~Escapable {
    /// The maximum size of a command packet in bytes: type, opcode, length and 255 bytes of parameters.
    public static let maximumByteCount = 259

    /// The opcode.
    public let opcode: HCIOpcode
    /// The parameters, the bytes after the length.
    public let parameters: RawSpan

    /// Decodes a packet with its leading 0x01, ignoring bytes after its length.
    @_lifetime(copy packet)
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        var reader = ByteReader(packet)
        let type: HCIPacketType
        do throws(TruncatedBytes) {
            type = try reader.read()
            opcode = try reader.read()
            let count = Int(try reader.readUInt8())
            parameters = try reader.read(count)
        } catch {
            throw .truncated(error)
        }
        guard type == .command else { throw .unexpectedPacketType(type) }
    }

    @_lifetime(copy parameters)
    init(_ opcode: HCIOpcode, parameters: RawSpan) {
        self.opcode = opcode
        self.parameters = parameters
    }

    /// The command if it is of the given type, nil otherwise.
    ///
    /// Reserved values are preserved where the type can represent them, so that a command which encodes to other bytes
    /// had invalid values. Additional parameters are ignored.
    ///
    /// - Throws: `TruncatedBytes` when it has too few parameters.
    public func `as`<Command: HCICommand>(_ type: Command.Type) throws(TruncatedBytes) -> Command? {
        guard opcode == Command.opcode else { return nil }
        var reader = ByteReader(parameters)
        return try Command(reading: &reader)
    }

    /// The name of the command and its parameters, in hexadecimal if this module does not define it; keys never appear.
    ///
    /// - Throws: `TruncatedBytes` when a defined command has too few parameters.
    public func text() throws(TruncatedBytes) -> String {
        var reader = ByteReader(parameters)
        if let known = opcode.known { return try known.text(&reader) }
        return described(
            opcode.description, hidden(parameters, if: opcode.carriesSecret))
    }
}

/// The bytes in hexadecimal, or their number if they are secret.
func hidden(_ bytes: RawSpan, if isSecret: Bool) -> String {
    isSecret ? "\(bytes.byteCount) bytes" : [UInt8](bytes).hexadecimal
}

/// A command of any type, with its encoded parameters.
public struct AnyHCICommand: Hashable, Sendable, CustomStringConvertible {
    /// The opcode.
    public let opcode: HCIOpcode
    /// The encoded parameters, at most 255 bytes.
    public let parameters: [UInt8]

    /// A command with encoded parameters, such as one without a type.
    public init(_ opcode: HCIOpcode, parameters: [UInt8]) {
        self.opcode = opcode
        self.parameters = parameters
    }

    /// Encodes a command.
    ///
    /// - Throws: `BufferFull` when a list or data does not fit into the command.
    public init(_ command: some HCICommand) throws(BufferFull) {
        var writer = ByteWriter(capacity: 255)
        try command.write(to: &writer)
        self.init(type(of: command).opcode, parameters: writer.bytes)
    }

    /// Copies a packet with its leading 0x01.
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        let packet = try HCICommandPacket(decoding: packet)
        self.init(packet.opcode, parameters: [UInt8](packet.parameters))
    }

    /// The command if it is of the given type and has all its parameters, nil otherwise.
    public func `as`<Command: HCICommand>(_ type: Command.Type) -> Command? {
        // Nil for too few parameters as well.
        (try? HCICommandPacket(opcode, parameters: parameters.span.bytes).as(type)) ?? nil
    }

    /// Whether the command has the opcode of the given type.
    public func `is`<Command: HCICommand>(_ type: Command.Type) -> Bool { opcode == Command.opcode }

    /// The command packet with its leading 0x01.
    ///
    /// - Throws: `BufferFull` for more than 255 bytes of parameters.
    public func packet() throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: HCICommandPacket.maximumByteCount)
        try writer.write(HCIPacketType.command, opcode)
        guard let count = UInt8(exactly: parameters.count) else {
            throw BufferFull(needed: parameters.count, available: 255)
        }
        try writer.write(count)
        try writer.write(parameters)
        return writer.bytes
    }

    /// The name of the command and its parameters.
    public var description: String {
        let text = try? HCICommandPacket(opcode, parameters: parameters.span.bytes).text()
        return text ?? "malformed \(opcode)"
    }
}
