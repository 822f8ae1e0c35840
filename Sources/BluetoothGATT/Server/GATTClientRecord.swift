import BluetoothATT
import BluetoothPrimitives

/// The stored state of a bonded client, across links and restarts of the program
/// (Core Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
public struct GATTClientRecord: Hashable, Sendable {
    /// The client's subscription to one characteristic.
    public struct Subscription: Hashable, Sendable {
        /// The handle of the characteristic's value.
        public var characteristic: AttributeHandle
        /// The characteristic UUID, since after a restart the handle may belong to another characteristic.
        public var type: BluetoothUUID
        /// The client's configuration.
        public var configuration: ClientCharacteristicConfiguration

        /// A subscription with the given parts.
        public init(
            characteristic: AttributeHandle, type: BluetoothUUID, configuration: ClientCharacteristicConfiguration
        ) {
            self.characteristic = characteristic
            self.type = type
            self.configuration = configuration
        }
    }

    /// The subscriptions, in the order of their handles.
    public var subscriptions: [Subscription]
    /// The value of Client Supported Features as written by the client; empty when it has written none.
    public var supportedFeatures: [UInt8]
    /// The hash of the database that the client knows; nil when unknown.
    public var knownDatabase: DatabaseHash?

    /// A record with the given parts.
    public init(
        subscriptions: [Subscription] = [], supportedFeatures: [UInt8] = [], knownDatabase: DatabaseHash? = nil
    ) {
        self.subscriptions = subscriptions
        self.supportedFeatures = supportedFeatures
        self.knownDatabase = knownDatabase
    }
}

extension GATTClientState {
    /// The record to store for the client.
    ///
    /// - Parameters:
    ///   - database: The current database.
    ///   - last: The previously stored record, which has the hash known to a change-unaware client.
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

    /// Restores the client's stored state once its identity is known; state from this link has priority.
    public mutating func restore(_ record: GATTClientRecord, database: borrowing AttributeDatabase) {
        let before = GATTClientState(record, database: database)
        for (handle, configuration) in before.configurations where !configured.contains(handle) {
            configurations[handle] = configuration
        }
        if features.isEmpty { features = before.features }
        if !before.isChangeAware { awareness = hasReadHash ? .hasReadHash : .unaware }
    }

    /// The restored state of a bonded client.
    ///
    /// Subscriptions to characteristics that no longer exist are dropped. The client is change-unaware when the
    /// database differs from the one it knows.
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
