import BluetoothPrimitives

/// An advertising report of a scanning controller (Core Vol 4 Part E §7.7.65.2, §7.7.65.11, §7.7.65.13).
///
/// Represents legacy, directed and extended reports. The data is borrowed from the event.
public struct AdvertisingReport: ~Escapable {
    /// The properties of the advertising PDU.
    public struct Properties: OptionSet, Hashable, Sendable {
        /// The low five bits of an extended report's Event_Type.
        public let rawValue: UInt8

        /// The properties with the bits `rawValue`.
        @inlinable
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The advertisement is connectable. Legacy scan responses lack this property; see the advertisement they
        /// belong to.
        public static let connectable = Properties(rawValue: 1 << 0)
        /// The advertisement is scannable.
        public static let scannable = Properties(rawValue: 1 << 1)
        /// The advertisement is directed to one device.
        public static let directed = Properties(rawValue: 1 << 2)
        /// The report is of a scan response.
        public static let scanResponse = Properties(rawValue: 1 << 3)
        /// The PDU is a legacy PDU.
        public static let legacy = Properties(rawValue: 1 << 4)
    }

    /// The completeness of the data.
    public enum DataStatus: UInt8, Sendable {
        /// The data is complete, or this is its last part.
        case complete = 0
        /// The data continues in another report of the same advertiser and set.
        case moreToCome = 1
        /// The data is truncated, and no more follows.
        case truncated = 2
    }

    /// The advertiser's address; nil for an anonymous advertiser.
    public var address: BluetoothAddress?
    /// Whether the controller resolved a private address to the identity ``address``.
    public var isResolvedIdentity: Bool
    /// The properties of the advertising PDU.
    public var properties: Properties
    /// The completeness of ``data``.
    public var dataStatus: DataStatus
    /// The PHY of the primary channel: LE 1M or LE Coded.
    public var primaryPHY: LEPHY
    /// The PHY of the secondary channel; nil when all data was on the primary channel.
    public var secondaryPHY: LEPHY?
    /// The advertising SID; nil for legacy PDUs.
    public var advertisingSetID: UInt8?
    /// The transmit power in dBm, if the PDU contains it.
    public var transmitPower: Int8?
    /// The RSSI in dBm, if available.
    public var rssi: Int8?
    /// The interval of the set's periodic advertising in units of 1.25 ms; nil when there is none.
    public var periodicAdvertisingInterval: UInt16?
    /// The target address of a directed advertisement.
    public var directAddress: BluetoothAddress?
    /// Whether ``directAddress`` is a private address that the controller could not resolve.
    public var isDirectAddressUnresolved: Bool
    /// The advertising or scan response data: AD structures.
    public var data: RawSpan

    /// A report with the given fields; the defaults are those of a legacy advertisement.
    @inlinable
    @_lifetime(copy data)
    public init(
        address: BluetoothAddress?, isResolvedIdentity: Bool = false, properties: Properties,
        dataStatus: DataStatus = .complete, primaryPHY: LEPHY = LEPHY(rawValue: 1), secondaryPHY: LEPHY? = nil,
        advertisingSetID: UInt8? = nil, transmitPower: Int8? = nil, rssi: Int8?,
        periodicAdvertisingInterval: UInt16? = nil, directAddress: BluetoothAddress? = nil,
        isDirectAddressUnresolved: Bool = false, data: RawSpan
    ) {
        self.address = address
        self.isResolvedIdentity = isResolvedIdentity
        self.properties = properties
        self.dataStatus = dataStatus
        self.primaryPHY = primaryPHY
        self.secondaryPHY = secondaryPHY
        self.advertisingSetID = advertisingSetID
        self.transmitPower = transmitPower
        self.rssi = rssi
        self.periodicAdvertisingInterval = periodicAdvertisingInterval
        self.directAddress = directAddress
        self.isDirectAddressUnresolved = isDirectAddressUnresolved
        self.data = data
    }

    /// The report in one line.
    public var description: String {
        var parts = [address.map { "\(LEPeerAddress($0, isResolvedIdentity: isResolvedIdentity))" } ?? "anonymous"]
        parts.append("\(properties)")
        if dataStatus != .complete { parts.append(dataStatus == .moreToCome ? "more to come" : "truncated") }
        if let secondaryPHY { parts.append("\(primaryPHY) / \(secondaryPHY)") }
        if let advertisingSetID { parts.append("set \(advertisingSetID)") }
        if let transmitPower { parts.append("transmit power \(transmitPower) dBm") }
        if let rssi { parts.append("RSSI \(rssi) dBm") }
        if let periodicAdvertisingInterval { parts.append("periodic \(periodicAdvertisingInterval) x 1.25 ms") }
        if let directAddress { parts.append("to \(LEPeerAddress(directAddress))") }
        parts.append([UInt8](data).hexadecimal)
        return parts.joined(separator: ", ")
    }
}

extension AdvertisingReport.Properties: CustomStringConvertible {
    /// The names of the properties, separated by commas.
    public var description: String {
        listed(
            rawValue, names: [0: "connectable", 1: "scannable", 2: "directed", 3: "scan response", 4: "legacy"])
    }
}
