/// The features of a client: the value of Client Supported Features (Core Vol 3 Part G §7.2).
public struct GATTClientFeatures: OptionSet, Hashable, Sendable {
    /// The first byte of the value; all others are reserved.
    public let rawValue: UInt8

    /// The features with the bits `rawValue`.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Robust caching: the server refuses the client's requests with Database Out Of Sync after a change.
    public static let robustCaching = GATTClientFeatures(rawValue: 0x01)
    /// Enhanced ATT bearers.
    public static let enhancedBearers = GATTClientFeatures(rawValue: 0x02)
    /// Multiple Handle Value Notifications.
    public static let multipleNotifications = GATTClientFeatures(rawValue: 0x04)
}

extension GATTClientFeatures: CustomStringConvertible {
    /// The names of the features, such as `[robustCaching]`.
    public var description: String {
        describe(
            self,
            [
                (.robustCaching, "robustCaching"), (.enhancedBearers, "enhancedBearers"),
                (.multipleNotifications, "multipleNotifications"),
            ])
    }
}

/// The features of a server: the value of Server Supported Features (Core Vol 3 Part G §7.4).
public struct GATTServerFeatures: OptionSet, Hashable, Sendable {
    /// The first byte of the value; all others are reserved.
    public let rawValue: UInt8

    /// The features with the bits `rawValue`.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Enhanced ATT bearers.
    public static let enhancedBearers = GATTServerFeatures(rawValue: 0x01)
}

extension GATTServerFeatures: CustomStringConvertible {
    /// The names of the features, such as `[enhancedBearers]`.
    public var description: String { describe(self, [(.enhancedBearers, "enhancedBearers")]) }
}
