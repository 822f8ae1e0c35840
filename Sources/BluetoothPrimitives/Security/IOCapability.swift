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
