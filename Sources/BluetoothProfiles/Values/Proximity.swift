import BluetoothPrimitives

// Proximity Profile and Find Me Profile: Link Loss Service 1.0, Immediate Alert Service 1.0 and Tx Power Service 1.0.

/// The urgency of an alert (Alert Level). An open set.
public struct AlertLevel: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The code of the level.
    public let rawValue: UInt8

    /// The level with this code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No alert.
    public static let noAlert = Self(rawValue: 0)
    /// A mild alert.
    public static let mild = Self(rawValue: 1)
    /// A high alert.
    public static let high = Self(rawValue: 2)

    /// The names of the levels.
    static let names = ["no alert", "mild alert", "high alert"]
}

extension Characteristic where Value == AlertLevel {
    /// Alert Level of the Immediate Alert service: the device alerts at once, as a key that is looked for.
    public static var alertLevel: Self {
        Self(.alertLevel, in: .immediateAlert, properties: .writeWithoutResponse, initial: .noAlert)
    }

    /// Alert Level of the Link Loss service: the device alerts when the link is lost.
    public static var linkLossAlertLevel: Self {
        Self(.alertLevel, in: .linkLoss, properties: [.read, .write], initial: .noAlert)
    }
}

extension Characteristic where Value == Int {
    /// Tx Power Level in dBm: the power of transmission on this link, −100 to 20. Less the RSSI, it is the path loss.
    public static var txPowerLevel: Self {
        Self(.txPowerLevel, in: .txPower, properties: [.read, .notify], initial: 0) {
            (value, fields) throws(MalformedValue) in try fields.number(nil, &value, .i8, unit: "dBm")
        }
    }
}
