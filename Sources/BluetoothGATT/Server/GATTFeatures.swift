/// What a client tells a server that it can do: the value of Client Supported Features (Core Vol 3 Part G §7.2).
public struct GATTClientFeatures: OptionSet, Hashable, Sendable {
    /// The first byte of the value; no other has a meaning yet.
    public let rawValue: UInt8

    /// Features from their byte.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The client wants to be told, instead of served, when it uses handles of a database that has changed.
    public static let robustCaching = GATTClientFeatures(rawValue: 0x01)
    /// The client has enhanced bearers.
    public static let enhancedBearers = GATTClientFeatures(rawValue: 0x02)
    /// The client takes several values in one notification.
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

/// What a server tells clients that it can do: the value of Server Supported Features (Core Vol 3 Part G §7.4).
public struct GATTServerFeatures: OptionSet, Hashable, Sendable {
    /// The first byte of the value; no other has a meaning yet.
    public let rawValue: UInt8

    /// Features from their byte.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The server accepts enhanced bearers.
    public static let enhancedBearers = GATTServerFeatures(rawValue: 0x01)
}

extension GATTServerFeatures: CustomStringConvertible {
    /// The names of the features, such as `[enhancedBearers]`.
    public var description: String { describe(self, [(.enhancedBearers, "enhancedBearers")]) }
}
