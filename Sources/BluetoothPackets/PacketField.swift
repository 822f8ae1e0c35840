import BluetoothPrimitives

/// A value with one form in packets: an integer, a code, an address, or a structure of them.
///
/// A packet is a field as well: its ``init(reading:)`` and ``write(to:)`` are the one definition of its layout.
public protocol PacketField {
    /// Reads the value.
    init(reading reader: inout ByteReader) throws(TruncatedBytes)
    /// Writes the value.
    func write(to writer: inout ByteWriter) throws(BufferFull)
}

/// A code or a set of bits, which keeps values without a name.
public protocol PacketCode: RawRepresentable, PacketField where RawValue: PacketField {
    /// The code with the value `rawValue`.
    init(rawValue: RawValue)
}

/// A packet without parameters.
public protocol EmptyPacket: PacketField {
    /// The packet.
    init()
}

/// A packet with one parameter.
public protocol SingleValuePacket: PacketField {
    /// The type of the parameter.
    associatedtype Value: PacketField
    /// The parameter.
    var value: Value { get }
    /// A packet with the parameter `value`.
    init(_ value: Value)
}

/// A packet with a code, such as a command or an event: the one definition of its code, name, parameters and description.
public protocol DefinedPacket: PacketField, Hashable, Sendable, CustomStringConvertible {
    /// The type of the code.
    associatedtype Code: Hashable & Sendable
    /// The code and the name.
    static var definition: PacketDefinition<Code> { get }
    /// The parameters in words, without secrets; empty if there are none.
    var parameterDescription: String { get }
}

/// The code of a packet and its name in the specification.
public struct PacketDefinition<Code: Hashable & Sendable>: Hashable, Sendable {
    /// The code.
    public let code: Code
    /// The name.
    public let name: String

    /// The definition of a packet.
    public init(code: Code, _ name: String) {
        self.code = code
        self.name = name
    }
}

/// A packet that is decoded by its code to be described.
public struct DescribedPacket<Code: Hashable & Sendable>: Sendable {
    /// The code and the name.
    public let definition: PacketDefinition<Code>
    /// Reads the packet and returns its description.
    public let text: @Sendable (inout ByteReader) throws(TruncatedBytes) -> String

    /// A packet of the given type.
    public init<Packet: DefinedPacket>(_ type: Packet.Type) where Packet.Code == Code {
        definition = Packet.definition
        text = { (reader) throws(TruncatedBytes) in try Packet(reading: &reader).description }
    }
}

extension DefinedPacket {
    /// The name and the parameters.
    public var description: String { described(Self.definition.name, parameterDescription) }
}

extension DefinedPacket where Self: EmptyPacket {
    /// No parameters.
    public var parameterDescription: String { "" }
}

extension DefinedPacket where Self: SingleValuePacket, Value: CustomStringConvertible {
    /// The parameter in words.
    public var parameterDescription: String { value.description }
}

extension DefinedPacket where Self: SingleValuePacket, Value == Bool {
    /// Whether it is on or off.
    public var parameterDescription: String { onOff(value) }
}

extension DefinedPacket where Self: SingleValuePacket, Value == BluetoothAddress {
    /// The address; its type is not sent.
    public var parameterDescription: String { value.digits }
}

/// The name of a packet, and its parameters unless they are empty.
public func described(_ name: String, _ parameters: String) -> String {
    parameters.isEmpty ? name : "\(name): \(parameters)"
}

/// The description of a switch.
public func onOff(_ isOn: Bool) -> String { isOn ? "on" : "off" }

extension PacketCode {
    /// Reads the code.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(rawValue: try RawValue(reading: &reader))
    }

    /// Writes the code.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try rawValue.write(to: &writer) }
}

extension EmptyPacket {
    /// Reads nothing.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self.init() }

    /// Writes nothing.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) {}
}

extension SingleValuePacket {
    /// Reads the parameter.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self.init(try Value(reading: &reader)) }

    /// Writes the parameter.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try value.write(to: &writer) }
}

extension UInt8: PacketField {
    /// Reads one byte.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readUInt8() }

    /// Writes one byte.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension Int8: PacketField {
    /// Reads one byte in two's complement.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readInt8() }

    /// Writes one byte in two's complement.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension UInt16: PacketField {
    /// Reads two bytes, least significant first.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readUInt16() }

    /// Writes two bytes, least significant first.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension UInt32: PacketField {
    /// Reads four bytes, least significant first.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readUInt32() }

    /// Writes four bytes, least significant first.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension UInt64: PacketField {
    /// Reads eight bytes, least significant first.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readUInt64() }

    /// Writes eight bytes, least significant first.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension Bool: PacketField {
    /// Reads one byte; every value other than zero is true.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readUInt8() != 0 }

    /// Writes one byte.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self ? 1 : 0 as UInt8) }
}

/// An address whose kind is not in the field.
extension BluetoothAddress: PacketField {
    /// Reads an address as a public one.
    @inlinable
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self = try reader.readAddress(.public) }

    /// Writes the address.
    @inlinable
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(self) }
}

extension LEPHY: PacketCode {}
extension LEPHYSet: PacketCode {}

extension ByteReader {
    /// Reads a field.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func read<Field: PacketField>() throws(TruncatedBytes) -> Field { try Field(reading: &self) }
}

extension ByteWriter {
    /// Writes a field.
    @inlinable
    public mutating func write(_ field: some PacketField) throws(BufferFull) { try field.write(to: &self) }

    /// Writes two fields.
    @inlinable
    public mutating func write(_ first: some PacketField, _ second: some PacketField) throws(BufferFull) {
        try first.write(to: &self)
        try second.write(to: &self)
    }

    /// Writes three fields.
    @inlinable
    public mutating func write(
        _ first: some PacketField, _ second: some PacketField, _ third: some PacketField
    ) throws(BufferFull) {
        try write(first, second)
        try third.write(to: &self)
    }
}
