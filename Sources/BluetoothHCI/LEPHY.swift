import BluetoothPrimitives

/// One way of modulating the radio (Core Vol 4 Part E §7.8.47).
public struct LEPHY: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A PHY of any value.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// One megabit per second; every device has it.
    public static let le1M = LEPHY(rawValue: 1)
    /// Two megabits per second.
    public static let le2M = LEPHY(rawValue: 2)
    /// Long range: 500 or 125 kilobits per second.
    public static let leCoded = LEPHY(rawValue: 3)
}

extension LEPHY: CustomStringConvertible {
    /// The name in the specification.
    public var description: String {
        switch self {
        case .le1M: return "LE 1M"
        case .le2M: return "LE 2M"
        case .leCoded: return "LE Coded"
        default: return "PHY 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// A set of PHYs.
public struct LEPHYSet: OptionSet, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// One megabit per second.
    public static let le1M = LEPHYSet(rawValue: 1 << 0)
    /// Two megabits per second.
    public static let le2M = LEPHYSet(rawValue: 1 << 1)
    /// Long range.
    public static let leCoded = LEPHYSet(rawValue: 1 << 2)
}

extension LEPHYSet: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String {
        listed(rawValue, names: [0: "LE 1M", 1: "LE 2M", 2: "LE Coded"])
    }
}

/// What LE Set PHY asks for (Core Vol 4 Part E §7.8.49).
public struct LEPHYPreference: Hashable, Sendable {
    /// PHYs the host would like to transmit with; nil leaves it to the controller.
    public var transmit: LEPHYSet?
    /// PHYs the host would like to receive with; nil leaves it to the controller.
    public var receive: LEPHYSet?
    /// Preferred coding of LE Coded: 0 none, 1 S=2 (500 kbit/s), 2 S=8 (125 kbit/s).
    public var codedOptions: UInt16

    /// A preference for both directions.
    public init(transmit: LEPHYSet?, receive: LEPHYSet?, codedOptions: UInt16 = 0) {
        self.transmit = transmit
        self.receive = receive
        self.codedOptions = codedOptions
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let without = try reader.readUInt8()
        let transmit = LEPHYSet(rawValue: try reader.readUInt8())
        let receive = LEPHYSet(rawValue: try reader.readUInt8())
        self.init(
            transmit: without & 0x01 == 0 ? transmit : nil, receive: without & 0x02 == 0 ? receive : nil,
            codedOptions: try reader.readUInt16())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write((transmit == nil ? 0x01 : 0) | (receive == nil ? 0x02 : 0) as UInt8)
        try writer.write(transmit?.rawValue ?? 0)
        try writer.write(receive?.rawValue ?? 0)
        try writer.write(codedOptions)
    }
}
