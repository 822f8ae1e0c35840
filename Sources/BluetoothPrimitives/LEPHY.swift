/// A PHY (Core Vol 4 Part E §7.8.47).
public struct LEPHY: RawRepresentable, Hashable, Sendable {
    /// The PHY as sent, one byte.
    public let rawValue: UInt8

    /// The PHY with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// LE 1M with 1 Mbit/s, mandatory for all devices.
    public static let le1M = LEPHY(rawValue: 1)
    /// LE 2M with 2 Mbit/s.
    public static let le2M = LEPHY(rawValue: 2)
    /// LE Coded with 500 or 125 kbit/s, for long range.
    public static let leCoded = LEPHY(rawValue: 3)
}

extension LEPHY: CustomStringConvertible {
    /// The name in the specification.
    public var description: String {
        codeName(rawValue, ["LE 1M", "LE 2M", "LE Coded"], from: 1)
            ?? "PHY 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// A set of PHYs.
public struct LEPHYSet: OptionSet, Hashable, Sendable {
    /// The set as sent, one byte.
    public let rawValue: UInt8

    /// The set with the bits `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// LE 1M.
    public static let le1M = LEPHYSet(rawValue: 1 << 0)
    /// LE 2M.
    public static let le2M = LEPHYSet(rawValue: 1 << 1)
    /// LE Coded.
    public static let leCoded = LEPHYSet(rawValue: 1 << 2)

    /// The set with one PHY; empty for one that the specification does not define.
    package init(_ phy: LEPHY) {
        self = (1...3).contains(phy.rawValue) ? LEPHYSet(rawValue: 1 << (phy.rawValue - 1)) : []
    }
}

extension LEPHYSet: CustomStringConvertible {
    /// The names of the PHYs, separated by commas.
    public var description: String {
        listed(rawValue, names: [0: "LE 1M", 1: "LE 2M", 2: "LE Coded"])
    }
}
