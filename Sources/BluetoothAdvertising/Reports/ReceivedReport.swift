import BluetoothPrimitives

/// The fields of an advertising report that joining needs, with borrowed bytes
/// (Core Vol 4 Part E §7.7.65.2 and §7.7.65.13).
public struct ReceivedReport: ~Escapable {
    /// The advertiser's address; nil for an anonymous advertiser.
    public let address: BluetoothAddress?
    /// The properties of the advertising packet.
    public let properties: Properties
    /// The completeness of the data.
    public let dataStatus: DataStatus
    /// The advertising SID, 0 to 15; nil for legacy packets.
    public let advertisingSetID: UInt8?
    /// The payload, or the next fragment of it.
    public let data: RawSpan

    /// A report that borrows `data`.
    ///
    /// Leave out the status and the set of a legacy report: it is always complete and has no set.
    @inlinable
    @_lifetime(copy data)
    public init(
        address: BluetoothAddress?, properties: Properties, dataStatus: DataStatus = .complete,
        advertisingSetID: UInt8? = nil, data: RawSpan
    ) {
        self.address = address
        self.properties = properties
        self.dataStatus = dataStatus
        self.advertisingSetID = advertisingSetID
        self.data = data
    }

    /// The properties of a packet, with the bits of an extended report's event type (Core Vol 4 Part E §7.7.65.13).
    public struct Properties: OptionSet, Hashable, Sendable {
        /// The bits of the event type.
        public var rawValue: UInt16

        /// The properties in the low five bits of `rawValue`; those of the data status are dropped.
        @inlinable
        public init(rawValue: UInt16) {
            self.rawValue = rawValue & 0x1F
        }

        /// The advertisement is connectable.
        public static let connectable = Properties(rawValue: 1 << 0)
        /// The advertisement is scannable.
        public static let scannable = Properties(rawValue: 1 << 1)
        /// The advertisement is directed to one device.
        public static let directed = Properties(rawValue: 1 << 2)
        /// The packet is a scan response.
        public static let scanResponse = Properties(rawValue: 1 << 3)
        /// The packet is a legacy packet of Bluetooth 4.
        public static let legacy = Properties(rawValue: 1 << 4)
    }

    /// The completeness of a report's data (Core Vol 4 Part E §7.7.65.13).
    public enum DataStatus: UInt8, Hashable, Sendable {
        /// The data is complete, or this is its last fragment.
        case complete = 0
        /// More fragments follow.
        case more = 1
        /// This is the last fragment; the controller lost the rest.
        case truncated = 2
    }
}

extension ReceivedReport.Properties: CustomStringConvertible {
    /// The names of the set bits.
    public var description: String {
        let names = ["connectable", "scannable", "directed", "scan response", "legacy"]
        return names.indices.filter { rawValue & 1 << $0 != 0 }.map { names[$0] }.joined(separator: " ")
    }
}

extension ReceivedReport {
    /// The address, the properties, the status and the data in one line.
    public var description: String {
        let sender = address?.digits ?? "anonymous"
        let set = advertisingSetID.map { " set \($0)" } ?? ""
        return "\(sender)\(set) [\(properties)] \(dataStatus): \([UInt8](data).hexadecimal)"
    }
}

/// The state of a device after one of its reports.
public struct JoinedAdvertisement: Hashable, Sendable {
    /// The address; nil for an anonymous advertiser.
    public var address: BluetoothAddress?
    /// The advertising SID; nil for legacy packets.
    public var advertisingSetID: UInt8?
    /// The properties of the newest advertising packet, or of the scan response if there was none.
    public var properties: ReceivedReport.Properties
    /// The newest advertising payload and the newest scan response.
    public var data: AdvertisementData
    /// Whether an advertising payload was received.
    public var hasAdvertising: Bool
    /// Whether a scan response was received.
    public var hasScanResponse: Bool
    /// Whether either payload is truncated.
    public var isTruncated: Bool
    /// The changes in this report; empty after a repetition.
    public var changes: Changes

    /// The changes of a device in a report.
    public struct Changes: OptionSet, Hashable, Sendable {
        /// The bits.
        public var rawValue: UInt8

        /// The changes with the bits `rawValue`.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// A new device: the first report since it is stored.
        public static let device = Changes(rawValue: 1 << 0)
        /// A new advertising payload.
        public static let advertising = Changes(rawValue: 1 << 1)
        /// A new scan response.
        public static let scanResponse = Changes(rawValue: 1 << 2)
        /// New properties, such as those of a device that is no longer connectable.
        public static let properties = Changes(rawValue: 1 << 3)
    }

    /// Whether the advertisement is connectable.
    public var isConnectable: Bool { properties.contains(.connectable) }
}

extension JoinedAdvertisement: CustomStringConvertible {
    /// The address, the properties and all fields in one line.
    public var description: String {
        let sender = address?.digits ?? "anonymous"
        let set = advertisingSetID.map { " set \($0)" } ?? ""
        return "\(sender)\(set) [\(properties)]\(isTruncated ? " truncated" : ""): \(data)"
    }
}
