/// The settings of an adapter, supported or current, in the kernel's management interface.
public struct ManagementSettings: OptionSet, Hashable, Sendable {
    /// The settings as sent, four bytes.
    public let rawValue: UInt32

    /// The settings with the bits `rawValue`.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Powered on.
    public static let powered = ManagementSettings(rawValue: 1 << 0)
    /// Connectable by other devices.
    public static let connectable = ManagementSettings(rawValue: 1 << 1)
    /// Fast connectable (BR/EDR).
    public static let fastConnectable = ManagementSettings(rawValue: 1 << 2)
    /// Discoverable by other devices.
    public static let discoverable = ManagementSettings(rawValue: 1 << 3)
    /// Bondable: pairing creates keys that the kernel reports and stores.
    public static let bondable = ManagementSettings(rawValue: 1 << 4)
    /// BR/EDR security mode 3.
    public static let linkSecurity = ManagementSettings(rawValue: 1 << 5)
    /// Secure Simple Pairing.
    public static let secureSimplePairing = ManagementSettings(rawValue: 1 << 6)
    /// BR/EDR.
    public static let brEDR = ManagementSettings(rawValue: 1 << 7)
    /// High Speed (AMP).
    public static let highSpeed = ManagementSettings(rawValue: 1 << 8)
    /// Low Energy.
    public static let lowEnergy = ManagementSettings(rawValue: 1 << 9)
    /// Advertising with Set Advertising.
    public static let advertising = ManagementSettings(rawValue: 1 << 10)
    /// Secure Connections.
    public static let secureConnections = ManagementSettings(rawValue: 1 << 11)
    /// Debug keys.
    public static let debugKeys = ManagementSettings(rawValue: 1 << 12)
    /// Privacy: private addresses are in use.
    public static let privacy = ManagementSettings(rawValue: 1 << 13)
    /// Controller configuration.
    public static let controllerConfiguration = ManagementSettings(rawValue: 1 << 14)
    /// Static address in use.
    public static let staticAddress = ManagementSettings(rawValue: 1 << 15)
    /// PHY configuration.
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
    /// The names of the settings, separated by commas.
    public var description: String { listed(rawValue, names: Self.names) }
}

/// The names of the set bits, lowest first; an unnamed bit appears with its number.
package func listed(_ bits: some FixedWidthInteger & UnsignedInteger, names: [Int: String]) -> String {
    var found: [String] = []
    for bit in 0..<bits.bitWidth where bits >> bit & 1 == 1 {
        found.append(names[bit] ?? "bit \(bit)")
    }
    return found.isEmpty ? "none" : found.joined(separator: ", ")
}
