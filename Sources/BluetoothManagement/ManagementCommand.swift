import BluetoothPackets
import BluetoothPrimitives

/// A command to the kernel's management socket: its opcode and name, its parameters, and its reply.
///
/// A program encodes it and a simulated kernel decodes it. Most commands need CAP_NET_ADMIN.
public protocol ManagementCommand: DefinedPacket where Code == ManagementOpcode {
    /// The return parameters after the status of success.
    associatedtype Reply: ManagementReply = ManagementNoReply
    /// Whether the parameters contain a key, a passkey or out-of-band data, which must not be printed or recorded.
    static var carriesSecret: Bool { get }
    /// Whether the reply contains out-of-band data.
    static var returnsSecret: Bool { get }
}

/// The return parameters of a command.
public typealias ManagementReply = PacketField & Hashable & Sendable & CustomStringConvertible

/// The opcode of a command and its name in the kernel's documentation.
public typealias ManagementCommandDefinition = PacketDefinition<ManagementOpcode>

extension ManagementCommandDefinition {
    /// The definition of a command.
    public init(_ opcode: UInt16, _ name: String) { self.init(code: ManagementOpcode(rawValue: opcode), name) }
}

/// The reply to a command that returns only a status.
public struct ManagementNoReply: EmptyPacket, Hashable, Sendable, CustomStringConvertible {
    /// No return parameters.
    public init() {}

    /// No answer.
    public var description: String { "no answer" }
}

/// A command that changes a setting of the adapter; the reply is all of them.
public protocol ManagementSettingCommand: ManagementCommand, SingleValuePacket where Reply == ManagementSettings {}

/// A command about a device without other parameters; the reply is the device.
public protocol ManagementDeviceCommand: ManagementCommand, SingleValuePacket
where Value == ManagementAddress, Reply == ManagementAddress {}

extension ManagementCommand {
    /// The opcode.
    public static var opcode: ManagementOpcode { definition.code }

    /// The opcode.
    public var opcode: ManagementOpcode { Self.opcode }

    /// The name in the kernel's documentation.
    public var name: String { Self.definition.name }

    /// Whether the parameters contain a secret: no.
    public static var carriesSecret: Bool { false }

    /// Whether the reply contains a secret: no.
    public static var returnsSecret: Bool { false }

    /// The command as a packet for the adapter hci`index`, or for none.
    ///
    /// Throws ``BufferFull`` when the parameters take more than 65535 bytes, or advertising data more than 255.
    public func packet(for index: UInt16 = ManagementPacket.noController) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(growingTo: ManagementPacket.headerByteCount + Int(UInt16.max))
        try encode(for: index, into: &writer)
        return writer.bytes
    }

    /// Appends the command as a packet for the adapter hci`index`, or for none.
    ///
    /// Throws ``BufferFull`` when `writer` or the command has no room for it, leaving `writer` unchanged.
    public func encode(
        for index: UInt16 = ManagementPacket.noController, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try writer.writePacket(code: Self.opcode.rawValue, index: index) { (writer) throws(BufferFull) in
            try write(to: &writer)
        }
    }

    /// The reply in words.
    static func replyText(_ reader: inout ByteReader) throws(TruncatedBytes) -> String {
        try Reply(reading: &reader).description
    }
}

extension ManagementCommand where Self: SingleValuePacket {
    /// The command with a list.
    public init<Element>(_ elements: [Element]) where Value == ManagementList<Element> {
        self.init(ManagementList(elements))
    }
}

/// A command of any type.
public struct AnyManagementCommand: Hashable, Sendable, CustomStringConvertible {
    /// The command.
    public let base: any ManagementCommand

    /// Wraps a command.
    public init(_ base: some ManagementCommand) {
        self.base = base
    }

    /// The command's opcode.
    public var opcode: ManagementOpcode { base.opcode }

    /// Whether the two are equal commands of the same type.
    public static func == (first: Self, second: Self) -> Bool { AnyHashable(first.base) == AnyHashable(second.base) }

    /// Hashes the command.
    public func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(base)) }

    /// The command's name and its parameters.
    public var description: String { base.description }
}

extension ManagementPacket {
    /// The command; nil if its opcode has no type. Excess parameters are ignored, and undefined values are kept where the
    /// type can hold them, so that a command which does not encode to the bytes it came from is one the kernel refuses
    /// with Invalid Parameters.
    ///
    /// Throws when it has too few parameters.
    public func command() throws(TruncatedBytes) -> (any ManagementCommand)? {
        guard let type = ManagementOpcode(rawValue: code).type else { return nil }
        var reader = ByteReader(parameters)
        return try type.init(reading: &reader)
    }
}

/// The number of elements, and each.
func numbered(_ elements: [some CustomStringConvertible]) -> String {
    (["\(elements.count)"] + elements.map(\.description)).joined(separator: "; ")
}

/// Elements of one kind, preceded by their number in two bytes.
public struct ManagementList<Element: ManagementReply>: ManagementReply {
    /// The elements.
    public var elements: [Element]

    /// A list of the elements, at most 65535.
    public init(_ elements: [Element] = []) {
        self.elements = elements
    }

    /// Reads the elements.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        elements = []
        for _ in 0..<(try reader.readUInt16()) { elements.append(try reader.read()) }
    }

    /// Writes the elements.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.writeCount(elements.count)
        for element in elements { try writer.write(element) }
    }

    /// The number of elements, and each.
    public var description: String { numbered(elements) }
}
