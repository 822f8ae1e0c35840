import BluetoothPrimitives

/// How the value of a characteristic may be used (Core Vol 3 Part G §3.3.1.1).
public struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    /// The byte in the characteristic declaration.
    public let rawValue: UInt8

    /// Properties from the byte in the characteristic declaration.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value may be broadcast.
    public static let broadcast = CharacteristicProperties(rawValue: 0x01)
    /// The value may be read.
    public static let read = CharacteristicProperties(rawValue: 0x02)
    /// The value may be written with a Write Command, which is not answered.
    public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
    /// The value may be written with a Write Request, which is answered.
    public static let write = CharacteristicProperties(rawValue: 0x08)
    /// The value may be sent to subscribed clients without confirmation.
    public static let notify = CharacteristicProperties(rawValue: 0x10)
    /// The value may be sent to subscribed clients, which confirm it.
    public static let indicate = CharacteristicProperties(rawValue: 0x20)
    /// The value may be written with a Signed Write Command.
    public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
    /// More properties stand in the extended properties descriptor.
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

/// Properties that have no room in the declaration (Core Vol 3 Part G §3.3.3.1).
public struct CharacteristicExtendedProperties: OptionSet, Hashable, Sendable {
    /// The two bytes of the descriptor.
    public let rawValue: UInt16

    /// Properties from the two bytes of the descriptor.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The value may be written with Prepare Write, whose echo the client compares.
    public static let reliableWrite = CharacteristicExtendedProperties(rawValue: 0x0001)
    /// The user description may be written.
    public static let writableAuxiliaries = CharacteristicExtendedProperties(rawValue: 0x0002)
}

extension CharacteristicExtendedProperties: CustomStringConvertible {
    /// The names of the properties, such as `[reliableWrite]`.
    public var description: String {
        describe(self, [(.reliableWrite, "reliableWrite"), (.writableAuxiliaries, "writableAuxiliaries")])
    }
}

/// What a client asks to be sent: the value of the CCCD (Core Vol 3 Part G §3.3.3.3).
public struct ClientCharacteristicConfiguration: OptionSet, Hashable, Sendable {
    /// The two bytes of the descriptor.
    public let rawValue: UInt16

    /// A configuration from the two bytes of the descriptor.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The value is notified.
    public static let notification = ClientCharacteristicConfiguration(rawValue: 0x0001)
    /// The value is indicated.
    public static let indication = ClientCharacteristicConfiguration(rawValue: 0x0002)
}

extension ClientCharacteristicConfiguration: CustomStringConvertible {
    /// The names of what is asked for, such as `[notification]`.
    public var description: String {
        describe(self, [(.notification, "notification"), (.indication, "indication")])
    }
}

/// The names of the members of `set`, and in hexadecimal the bits that have none.
func describe<Options: OptionSet>(_ set: Options, _ names: [(Options, String)]) -> String
where Options.RawValue: FixedWidthInteger, Options.Element == Options {
    var parts = names.filter { set.contains($0.0) }.map(\.1)
    let unnamed = names.reduce(set) { $0.subtracting($1.0) }.rawValue
    if unnamed != 0 { parts.append("0x" + hexadecimal(unnamed, digits: 2 * MemoryLayout<Options.RawValue>.size)) }
    return "[" + parts.joined(separator: ", ") + "]"
}
