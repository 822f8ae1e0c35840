import BluetoothPrimitives

/// One advertising report as far as joining needs it, borrowing the report's bytes (Core Vol 4 Part E §7.7.65.2 and
/// §7.7.65.13).
public struct ReceivedReport: ~Escapable {
    /// Who sent it; nil for an anonymous advertisement.
    public let address: BluetoothAddress?
    /// What kind of packet it was.
    public let properties: Properties
    /// Whether the data is all there.
    public let dataStatus: DataStatus
    /// Which of its advertising sets the device sent, 0 to 15; nil for legacy packets.
    public let advertisingSetID: UInt8?
    /// The payload, or the next part of it.
    public let data: RawSpan

    /// A report that borrows `data`.
    ///
    /// A legacy report is always complete and has no set identifier: leave those two out.
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

    /// The kind of packet, in the bits of the extended report's event type (Core Vol 4 Part E §7.7.65.13).
    public struct Properties: OptionSet, Hashable, Sendable {
        /// The bits as in the event type.
        public var rawValue: UInt16

        /// The kinds with these bits; those of the data status do not belong here and are left out.
        @inlinable
        public init(rawValue: UInt16) {
            self.rawValue = rawValue & 0x1F
        }

        /// The device accepts connections.
        public static let connectable = Properties(rawValue: 1 << 0)
        /// The device answers scan requests.
        public static let scannable = Properties(rawValue: 1 << 1)
        /// Meant for one device only.
        public static let directed = Properties(rawValue: 1 << 2)
        /// An answer to a scan request.
        public static let scanResponse = Properties(rawValue: 1 << 3)
        /// Sent in the packets of Bluetooth 4.
        public static let legacy = Properties(rawValue: 1 << 4)
    }

    /// Whether a report's data is all there (Core Vol 4 Part E §7.7.65.13).
    public enum DataStatus: UInt8, Hashable, Sendable {
        /// This is all, or the last part.
        case complete = 0
        /// More parts follow.
        case more = 1
        /// The last part; the controller lost what should follow.
        case truncated = 2
    }
}

extension ReceivedReport.Properties: CustomStringConvertible {
    /// The names of the bits that are set.
    public var description: String {
        let names = ["connectable", "scannable", "directed", "scan response", "legacy"]
        return names.indices.filter { rawValue & 1 << $0 != 0 }.map { names[$0] }.joined(separator: " ")
    }
}

extension ReceivedReport {
    /// Address, kind, status and bytes in one line.
    public var description: String {
        let sender = address.map { "\($0)" } ?? "anonymous"
        let set = advertisingSetID.map { " set \($0)" } ?? ""
        return "\(sender)\(set) [\(properties)] \(dataStatus): \([UInt8](data).hexadecimal)"
    }
}

/// What is known of a device after one of its reports.
public struct JoinedAdvertisement: Hashable, Sendable {
    /// Who it is; nil for an anonymous advertisement.
    public var address: BluetoothAddress?
    /// Which of its advertising sets; nil for legacy packets.
    public var advertisingSetID: UInt8?
    /// The kind of the newest advertising packet, or of the scan response while there was none.
    public var properties: ReceivedReport.Properties
    /// Its newest advertising payload and its newest scan response.
    public var data: AdvertisementData
    /// Whether an advertising payload was received.
    public var hasAdvertising: Bool
    /// Whether a scan response was received.
    public var hasScanResponse: Bool
    /// Whether the end of either payload was lost on the way.
    public var isTruncated: Bool
    /// What this report told that was not known before; empty when it said the same again.
    public var news: News

    /// What a report told that was not known before.
    public struct News: OptionSet, Hashable, Sendable {
        /// The bits.
        public var rawValue: UInt8

        /// The news with these bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The device itself: the first report of it that is remembered.
        public static let device = News(rawValue: 1 << 0)
        /// Another advertising payload than before.
        public static let advertising = News(rawValue: 1 << 1)
        /// Another scan response than before.
        public static let scanResponse = News(rawValue: 1 << 2)
        /// Another kind of advertising packet, such as one that is no longer connectable.
        public static let properties = News(rawValue: 1 << 3)
    }

    /// Whether the device accepts connections.
    public var isConnectable: Bool { properties.contains(.connectable) }
}

extension JoinedAdvertisement: CustomStringConvertible {
    /// Address, kind and every field in one line.
    public var description: String {
        let sender = address.map { "\($0)" } ?? "anonymous"
        let set = advertisingSetID.map { " set \($0)" } ?? ""
        return "\(sender)\(set) [\(properties)]\(isTruncated ? " truncated" : ""): \(data)"
    }
}
