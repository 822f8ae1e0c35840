import BluetoothPrimitives

/// One advertisement as a scanning controller heard it (Core Vol 4 Part E §7.7.65.2, §7.7.65.11, §7.7.65.13).
///
/// Legacy, directed and extended reports all become this. The data is borrowed from the event it came in.
public struct AdvertisingReport: ~Escapable {
    /// What kind of advertisement it was.
    public struct Properties: OptionSet, Hashable, Sendable {
        /// The low five bits of an extended report's event type.
        public let rawValue: UInt8

        /// A set from its bits.
        @inlinable
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// A central may connect. A legacy scan response does not say; look at the advertisement it belongs to.
        public static let connectable = Properties(rawValue: 1 << 0)
        /// A scanner may ask for more.
        public static let scannable = Properties(rawValue: 1 << 1)
        /// Meant for one device.
        public static let directed = Properties(rawValue: 1 << 2)
        /// The answer to a scanner's request.
        public static let scanResponse = Properties(rawValue: 1 << 3)
        /// Sent as a legacy PDU.
        public static let legacy = Properties(rawValue: 1 << 4)
    }

    /// Whether the data is all there is.
    public enum DataStatus: UInt8, Sendable {
        /// All of it, or the last part.
        case complete = 0
        /// More follows in another report of the same advertiser and set.
        case moreToCome = 1
        /// The rest was lost and will not follow.
        case truncated = 2
    }

    /// Who advertises; an anonymous advertiser has none.
    public var address: BluetoothAddress?
    /// Whether ``address`` is an identity that the controller resolved a private address to.
    public var isResolvedIdentity: Bool
    /// What kind of advertisement it was.
    public var properties: Properties
    /// Whether ``data`` is all there is.
    public var dataStatus: DataStatus
    /// Where it was heard first: LE 1M or LE Coded.
    public var primaryPHY: LEPHY
    /// Where the data was heard; nil when all was on the primary channel.
    public var secondaryPHY: LEPHY?
    /// Which of the advertiser's sets; nil for legacy PDUs.
    public var advertisingSetID: UInt8?
    /// The advertiser's transmit power in dBm, where its PDU tells.
    public var transmitPower: Int8?
    /// The strength of the signal here in dBm, where the controller knows.
    public var rssi: Int8?
    /// The interval of the periodic advertising the set belongs to, in units of 1.25 ms; nil when there is none.
    public var periodicAdvertisingInterval: UInt16?
    /// For whom a directed advertisement is.
    public var directAddress: BluetoothAddress?
    /// Whether ``directAddress`` is a private address that the controller could not resolve to one of its own.
    public var isDirectAddressUnresolved: Bool
    /// The advertising or scan response data: AD structures.
    public var data: RawSpan

    /// A report with the given contents; the defaults are those of a legacy advertisement.
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
    /// The names, joined by commas.
    public var description: String {
        listed(
            rawValue, names: [0: "connectable", 1: "scannable", 2: "directed", 3: "scan response", 4: "legacy"])
    }
}
