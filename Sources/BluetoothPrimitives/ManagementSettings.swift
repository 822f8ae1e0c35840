/// What an adapter can do or does now.
public struct ManagementSettings: OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The adapter is on.
    public static let powered = ManagementSettings(rawValue: 1 << 0)
    /// Others may connect.
    public static let connectable = ManagementSettings(rawValue: 1 << 1)
    /// BR/EDR connections are answered fast.
    public static let fastConnectable = ManagementSettings(rawValue: 1 << 2)
    /// Others may find the adapter.
    public static let discoverable = ManagementSettings(rawValue: 1 << 3)
    /// Pairing makes keys that are kept and told.
    public static let bondable = ManagementSettings(rawValue: 1 << 4)
    /// BR/EDR security mode 3.
    public static let linkSecurity = ManagementSettings(rawValue: 1 << 5)
    /// Secure Simple Pairing.
    public static let secureSimplePairing = ManagementSettings(rawValue: 1 << 6)
    /// BR/EDR.
    public static let brEDR = ManagementSettings(rawValue: 1 << 7)
    /// High Speed.
    public static let highSpeed = ManagementSettings(rawValue: 1 << 8)
    /// LE.
    public static let lowEnergy = ManagementSettings(rawValue: 1 << 9)
    /// Advertising by Set Advertising.
    public static let advertising = ManagementSettings(rawValue: 1 << 10)
    /// Secure Connections.
    public static let secureConnections = ManagementSettings(rawValue: 1 << 11)
    /// Debug keys are used.
    public static let debugKeys = ManagementSettings(rawValue: 1 << 12)
    /// Private addresses are used.
    public static let privacy = ManagementSettings(rawValue: 1 << 13)
    /// The adapter can be configured.
    public static let controllerConfiguration = ManagementSettings(rawValue: 1 << 14)
    /// The static address is the adapter's own.
    public static let staticAddress = ManagementSettings(rawValue: 1 << 15)
    /// PHYs can be configured.
    public static let phyConfiguration = ManagementSettings(rawValue: 1 << 16)
    /// Wideband speech.
    public static let widebandSpeech = ManagementSettings(rawValue: 1 << 17)

    static let names = [
        0: "powered", 1: "connectable", 2: "fast connectable", 3: "discoverable", 4: "bondable", 5: "link security",
        6: "secure simple pairing", 7: "BR/EDR", 8: "high speed", 9: "LE", 10: "advertising",
        11: "secure connections", 12: "debug keys", 13: "privacy", 14: "controller configuration",
        15: "static address", 16: "PHY configuration", 17: "wideband speech",
    ]
}

extension ManagementSettings: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String { listed(rawValue, names: Self.names) }
}

/// The names of the bits that are set, lowest first; bits without a name are numbered.
package func listed(_ bits: some FixedWidthInteger & UnsignedInteger, names: [Int: String]) -> String {
    var found: [String] = []
    for bit in 0..<bits.bitWidth where bits >> bit & 1 == 1 {
        found.append(names[bit] ?? "bit \(bit)")
    }
    return found.isEmpty ? "none" : found.joined(separator: ", ")
}
