/// What a user can see and enter when pairing (Core Vol 3 Part H §2.3.2).
public struct IOCapability: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A capability of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Can show a number.
    public static let displayOnly = IOCapability(rawValue: 0)
    /// Can show a number and be answered yes or no.
    public static let displayYesNo = IOCapability(rawValue: 1)
    /// Can enter a number.
    public static let keyboardOnly = IOCapability(rawValue: 2)
    /// Neither; the kernel's default, and the only one that does not ask for protection against an attacker in the
    /// middle.
    public static let noInputNoOutput = IOCapability(rawValue: 3)
    /// Can show and enter a number.
    public static let keyboardDisplay = IOCapability(rawValue: 4)

    /// The capability in the specification's words.
    public var description: String {
        switch self {
        case .displayOnly: return "DisplayOnly"
        case .displayYesNo: return "DisplayYesNo"
        case .keyboardOnly: return "KeyboardOnly"
        case .noInputNoOutput: return "NoInputNoOutput"
        case .keyboardDisplay: return "KeyboardDisplay"
        default: return "IO capability \(rawValue)"
        }
    }
}

/// Whether pairing uses LE Secure Connections.
public struct SecureConnectionsMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A mode of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Legacy pairing only.
    public static let off = SecureConnectionsMode(rawValue: 0)
    /// With devices that have it.
    public static let on = SecureConnectionsMode(rawValue: 1)
    /// Always; devices without it are refused.
    public static let only = SecureConnectionsMode(rawValue: 2)

    /// The mode in words.
    public var description: String { [0: "off", 1: "on", 2: "only"][rawValue] ?? "mode \(rawValue)" }
}

/// Whether the adapter hides behind private addresses.
public struct PrivacyMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A mode of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The identity address is used.
    public static let off = PrivacyMode(rawValue: 0)
    /// Private addresses are used, always.
    public static let on = PrivacyMode(rawValue: 1)
    /// Private addresses are used except while the adapter is bondable and discoverable.
    public static let limited = PrivacyMode(rawValue: 2)

    /// The mode in words.
    public var description: String { [0: "off", 1: "on", 2: "limited"][rawValue] ?? "mode \(rawValue)" }
}
