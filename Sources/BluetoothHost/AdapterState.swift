/// Whether an adapter can be used now, and if not, what is in the way.
public enum AdapterState: Hashable, Sendable {
    /// Powered on, with LE: everything works.
    case poweredOn
    /// Powered on, but LE is switched off (management `Set Low Energy`), so that the kernel makes no LE connection.
    case lowEnergyOff
    /// Powered off.
    case poweredOff
    /// Powered off, and a radio switch (rfkill) keeps it so: by hardware, or by software.
    case blocked(isHard: Bool)
    /// Unplugged, or taken from the kernel by a program that talks to the controller itself.
    case absent
    /// The controller has no LE.
    case unsupported

    /// Whether everything works.
    public var isReady: Bool { self == .poweredOn }
}

extension AdapterState: CustomStringConvertible {
    /// `on`, `LE off`, `off`, `blocked by rfkill (soft)`, `absent`, `no LE`.
    public var description: String {
        switch self {
        case .poweredOn: "on"
        case .lowEnergyOff: "LE off"
        case .poweredOff: "off"
        case .blocked(let isHard): "blocked by rfkill (\(isHard ? "hard" : "soft"))"
        case .absent: "absent"
        case .unsupported: "no LE"
        }
    }
}
