import BluetoothPrimitives

/// The properties of a characteristic (Core Vol 3 Part G §3.3.1.1).
public struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    /// The properties field of the characteristic declaration, one byte.
    public let rawValue: UInt8

    /// The properties from the field of the characteristic declaration.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The server may broadcast the value.
    public static let broadcast = CharacteristicProperties(rawValue: 0x01)
    /// Clients may read the value.
    public static let read = CharacteristicProperties(rawValue: 0x02)
    /// Clients may write the value with Write Commands, which have no response.
    public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
    /// Clients may write the value with Write Requests.
    public static let write = CharacteristicProperties(rawValue: 0x08)
    /// The server may notify the value, without confirmation.
    public static let notify = CharacteristicProperties(rawValue: 0x10)
    /// The server may indicate the value, which the client confirms.
    public static let indicate = CharacteristicProperties(rawValue: 0x20)
    /// Clients may write the value with Signed Write Commands.
    public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
    /// The Characteristic Extended Properties descriptor has further properties.
    public static let extendedProperties = CharacteristicProperties(rawValue: 0x80)
}

extension CharacteristicProperties: CustomStringConvertible {
    /// The names of the properties, such as `[read, notify]`.
    public var description: String {
        describe(
            self,
            [
                (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "writeWithoutResponse"),
                (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
                (.authenticatedSignedWrites, "authenticatedSignedWrites"), (.extendedProperties, "extendedProperties"),
            ])
    }
}

/// The extended properties of a characteristic (Core Vol 3 Part G §3.3.3.1).
public struct CharacteristicExtendedProperties: OptionSet, Hashable, Sendable {
    /// The value of the descriptor, two bytes.
    public let rawValue: UInt16

    /// The properties from the value of the descriptor.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Clients may write the value reliably, with Prepare Write Requests whose echo they verify.
    public static let reliableWrite = CharacteristicExtendedProperties(rawValue: 0x0001)
    /// Clients may write the user description.
    public static let writableAuxiliaries = CharacteristicExtendedProperties(rawValue: 0x0002)
}

extension CharacteristicExtendedProperties: CustomStringConvertible {
    /// The names of the properties, such as `[reliableWrite]`.
    public var description: String {
        describe(self, [(.reliableWrite, "reliableWrite"), (.writableAuxiliaries, "writableAuxiliaries")])
    }
}

/// The value of a Client Characteristic Configuration descriptor (Core Vol 3 Part G §3.3.3.3).
public struct ClientCharacteristicConfiguration: OptionSet, Hashable, Sendable {
    /// The value of the descriptor, two bytes.
    public let rawValue: UInt16

    /// The configuration from the value of the descriptor.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The client receives notifications.
    public static let notification = ClientCharacteristicConfiguration(rawValue: 0x0001)
    /// The client receives indications.
    public static let indication = ClientCharacteristicConfiguration(rawValue: 0x0002)
}

extension ClientCharacteristicConfiguration: CustomStringConvertible {
    /// The names of the bits, such as `[notification]`.
    public var description: String {
        describe(self, [(.notification, "notification"), (.indication, "indication")])
    }
}

/// The names of the members of `set`, with unnamed bits in hexadecimal.
func describe<Options: OptionSet>(_ set: Options, _ names: [(Options, String)]) -> String
where Options.RawValue: FixedWidthInteger, Options.Element == Options {
    var parts = names.filter { set.contains($0.0) }.map { $0.1 }
    let unnamed = names.reduce(set) { $0.subtracting($1.0) }.rawValue
    if unnamed != 0 { parts.append("0x" + hexadecimal(unnamed, digits: 2 * MemoryLayout<Options.RawValue>.size)) }
    return "[" + parts.joined(separator: ", ") + "]"
}
