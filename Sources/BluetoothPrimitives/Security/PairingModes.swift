/// The IO capability of a device for pairing (Core Vol 3 Part H §2.3.2).
public struct IOCapability: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The capability as sent, one byte.
    public let rawValue: UInt8

    /// The capability with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Can display a number.
    public static let displayOnly = IOCapability(rawValue: 0)
    /// Can display a number and ask for yes or no.
    public static let displayYesNo = IOCapability(rawValue: 1)
    /// Can enter a number.
    public static let keyboardOnly = IOCapability(rawValue: 2)
    /// Can do neither; the kernel's default, and the only capability without MITM protection.
    public static let noInputNoOutput = IOCapability(rawValue: 3)
    /// Can display and enter a number.
    public static let keyboardDisplay = IOCapability(rawValue: 4)

    /// The name in the specification.
    public var description: String {
        codeName(rawValue, ["DisplayOnly", "DisplayYesNo", "KeyboardOnly", "NoInputNoOutput", "KeyboardDisplay"])
            ?? "IO capability \(rawValue)"
    }
}

/// The use of LE Secure Connections for pairing.
public struct SecureConnectionsMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The mode as sent, one byte.
    public let rawValue: UInt8

    /// The mode with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Legacy pairing only.
    public static let off = SecureConnectionsMode(rawValue: 0)
    /// LE Secure Connections with devices that support it.
    public static let on = SecureConnectionsMode(rawValue: 1)
    /// LE Secure Connections only; devices without it are refused.
    public static let only = SecureConnectionsMode(rawValue: 2)

    /// The name of the mode.
    public var description: String { codeName(rawValue, ["off", "on", "only"]) ?? "mode \(rawValue)" }
}

/// The adapter's use of private addresses.
public struct PrivacyMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The mode as sent, one byte.
    public let rawValue: UInt8

    /// The mode with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The adapter uses its identity address.
    public static let off = PrivacyMode(rawValue: 0)
    /// The adapter always uses private addresses.
    public static let on = PrivacyMode(rawValue: 1)
    /// The adapter uses private addresses except while it is bondable and discoverable.
    public static let limited = PrivacyMode(rawValue: 2)

    /// The name of the mode.
    public var description: String { codeName(rawValue, ["off", "on", "limited"]) ?? "mode \(rawValue)" }
}
