import BluetoothATT
import BluetoothPrimitives

/// What a server keeps of a bonded client from link to link, and over a restart of its program
/// (Core Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
public struct GATTClientRecord: Hashable, Sendable {
    /// What the client wants to be sent of one characteristic.
    public struct Subscription: Hashable, Sendable {
        /// The handle of the characteristic's value.
        public var characteristic: AttributeHandle
        /// What the characteristic is, since after a restart the handle may be another's.
        public var type: BluetoothUUID
        /// What the client wants to be sent.
        public var configuration: ClientCharacteristicConfiguration

        /// A subscription from its parts.
        public init(
            characteristic: AttributeHandle, type: BluetoothUUID, configuration: ClientCharacteristicConfiguration
        ) {
            self.characteristic = characteristic
            self.type = type
            self.configuration = configuration
        }
    }

    /// What the client wants to be sent, by handle.
    public var subscriptions: [Subscription]
    /// The value of Client Supported Features as the client has written it; empty when it has not.
    public var supportedFeatures: [UInt8]
    /// The hash of the database that the client knows; nil when that is not known.
    public var knownDatabase: DatabaseHash?

    /// A record from its parts.
    public init(
        subscriptions: [Subscription] = [], supportedFeatures: [UInt8] = [], knownDatabase: DatabaseHash? = nil
    ) {
        self.subscriptions = subscriptions
        self.supportedFeatures = supportedFeatures
        self.knownDatabase = knownDatabase
    }
}

extension GATTClientState {
    /// What is to be kept of the client.
    ///
    /// - Parameters:
    ///   - database: as it is now.
    ///   - last: what was kept before: of a client that does not know of a change, it tells what the client knows.
    public func record(
        of database: borrowing AttributeDatabase, after last: GATTClientRecord? = nil
    ) -> GATTClientRecord {
        let subscriptions = configurations.sorted { $0.key < $1.key }.compactMap { handle, configuration in
            database.attribute(at: handle).map {
                GATTClientRecord.Subscription(characteristic: handle, type: $0.type, configuration: configuration)
            }
        }
        return GATTClientRecord(
            subscriptions: subscriptions, supportedFeatures: features,
            knownDatabase: isChangeAware ? database.hash : last?.knownDatabase)
    }

    /// Takes up what was kept of the client, once it is known to be the one that it is; what it has said on this link
    /// already counts for more.
    public mutating func restore(_ record: GATTClientRecord, database: borrowing AttributeDatabase) {
        let before = GATTClientState(record, database: database)
        for (handle, configuration) in before.configurations where !configured.contains(handle) {
            configurations[handle] = configuration
        }
        if features.isEmpty { features = before.features }
        if !before.isChangeAware { awareness = hasReadHash ? .hasReadHash : .unaware }
    }

    /// A client that was here before.
    ///
    /// Of a characteristic that is not there any more it is sent nothing, and where the database is another than the one
    /// it knows, it is unaware of the change.
    public init(_ record: GATTClientRecord, database: borrowing AttributeDatabase) {
        self.init()
        for subscription in record.subscriptions {
            guard let attribute = database.attribute(at: subscription.characteristic),
                attribute.type == subscription.type,
                let supported = database.supportedConfiguration(of: subscription.characteristic)
            else { continue }
            let configuration = subscription.configuration.intersection(supported)
            if !configuration.isEmpty { configurations[subscription.characteristic] = configuration }
        }
        features = Array(record.supportedFeatures.prefix(AttributeProtocol.maximumAttributeValueLength))
        if record.knownDatabase != database.hash { awareness = .unaware }
    }
}
