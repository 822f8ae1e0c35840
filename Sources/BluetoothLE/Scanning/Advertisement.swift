import BluetoothAdvertising
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

/// An advertising report: the latest advertising data and scan response of a device, and the properties of the report.
public struct Advertisement: Hashable, Sendable {
    /// The advertiser's address; nil for an anonymous advertisement.
    public var address: BluetoothAddress?
    /// The private address used on the air, if ``address`` is the identity of a bonded device; otherwise nil.
    public var privateAddress: BluetoothAddress?
    /// The advertising data joined with the latest scan response, each reassembled from its fragments.
    public var data: AdvertisementData
    /// The RSSI of this report in dBm; nil if the controller did not measure it.
    public var rssi: Int?
    /// The transmit power in dBm from the extended header; nil if there is none.
    public var transmitPower: Int?
    /// Whether the device accepts connections.
    public var isConnectable: Bool
    /// Whether the device responds to scan requests.
    public var isScannable: Bool
    /// Whether this report is a scan response.
    public var isScanResponse: Bool
    /// Whether the report is of a legacy advertising PDU.
    public var isLegacy: Bool
    /// Whether the advertisement is directed at one device, ``directAddress``.
    public var isDirected: Bool
    /// The target of a directed advertisement; nil also where a legacy report omits it.
    public var directAddress: BluetoothAddress?
    /// Whether ``data`` is incomplete because the controller lost its end.
    public var isTruncated: Bool
    /// The PHY of the first packet: LE 1M or LE Coded.
    public var primaryPHY: LEPHY
    /// The PHY of the data of extended advertising; nil for legacy PDUs and where there is no second packet.
    public var secondaryPHY: LEPHY?
    /// The advertising set (Advertising SID), 0 to 15; nil except for extended advertising.
    public var advertisingSetID: UInt8?
    /// The interval of the set's periodic advertising; nil if there is none.
    public var periodicAdvertisingInterval: Duration?
    /// The time of reception on the kernel's clock.
    public var time: KernelInstant
    /// The number of advertisements that the stream dropped just before this one because its buffer was full.
    public var missedBefore: Int

    /// Creates an advertisement, such as for a test. The defaults are those of a legacy advertisement.
    public init(
        address: BluetoothAddress?, data: AdvertisementData, rssi: Int?, transmitPower: Int? = nil,
        isConnectable: Bool = false, isScannable: Bool = false, isScanResponse: Bool = false, isLegacy: Bool = true,
        isDirected: Bool = false, directAddress: BluetoothAddress? = nil, isTruncated: Bool = false,
        primaryPHY: LEPHY = .le1M, secondaryPHY: LEPHY? = nil, advertisingSetID: UInt8? = nil,
        periodicAdvertisingInterval: Duration? = nil, time: KernelInstant, missedBefore: Int = 0
    ) {
        self.address = address
        self.data = data
        self.rssi = rssi
        self.transmitPower = transmitPower
        self.isConnectable = isConnectable
        self.isScannable = isScannable
        self.isScanResponse = isScanResponse
        self.isLegacy = isLegacy
        self.isDirected = isDirected
        self.directAddress = directAddress
        self.isTruncated = isTruncated
        self.primaryPHY = primaryPHY
        self.secondaryPHY = secondaryPHY
        self.advertisingSetID = advertisingSetID
        self.periodicAdvertisingInterval = periodicAdvertisingInterval
        self.time = time
        self.missedBefore = missedBefore
    }
}

// The fields that programs read most. All others are in ``data``, with `import BluetoothAdvertising`.
extension Advertisement {
    /// The local name, complete or shortened; nil without one.
    public var localName: String? { data.localName }
    /// The service UUIDs, of all lists.
    public var services: [BluetoothUUID] { data.services }
    /// The manufacturer specific data, in the order received.
    public var manufacturerData: [ManufacturerData] { data.manufacturerData }
    /// The service data, in the order received.
    public var serviceData: [ServiceData] { data.serviceData }
    /// The appearance; nil without one.
    public var appearance: Appearance? { data.appearance }

    /// The first value of a format in the manufacturer specific and service data, or nil, such as
    /// `advertisement.beacon(IBeacon.self)`.
    public func beacon<Value: AdvertisedValue>(_ format: Value.Type) -> Value? { data.beacon(format) }
}

extension Advertisement: CustomStringConvertible {
    /// The address, RSSI and data, such as `C0:98:E5:12:34:56, RSSI -58 dBm: …`.
    public var description: String {
        let sender = address?.digits ?? "anonymous"
        let signal = rssi.map { ", RSSI \($0) dBm" } ?? ""
        let content = data.description
        return content.isEmpty ? sender + signal : "\(sender)\(signal): \(content)"
    }
}

extension Advertisement {
    package init(
        _ joined: consuming JoinedAdvertisement, _ report: borrowing AdvertisingReport, at time: KernelInstant
    ) {
        self.init(
            address: joined.address, data: joined.data, rssi: report.rssi.map(Int.init),
            transmitPower: report.transmitPower.map(Int.init), isConnectable: joined.isConnectable,
            isScannable: joined.properties.contains(.scannable),
            isScanResponse: report.properties.contains(.scanResponse),
            isLegacy: report.properties.contains(.legacy), isDirected: joined.properties.contains(.directed),
            directAddress: report.directAddress, isTruncated: joined.isTruncated, primaryPHY: report.primaryPHY,
            secondaryPHY: report.secondaryPHY, advertisingSetID: joined.advertisingSetID,
            periodicAdvertisingInterval: report.periodicAdvertisingInterval.map { .microseconds(1250) * Int($0) },
            time: time)
    }
}

extension ReceivedReport {
    /// The fields of a controller's report.
    ///
    /// - Parameter identity: The identity of a bonded device that replaces the report's address.
    @_lifetime(copy report)
    package init(_ report: borrowing AdvertisingReport, identity: BluetoothAddress? = nil) {
        self.init(
            address: identity ?? report.address, properties: .init(rawValue: UInt16(report.properties.rawValue)),
            dataStatus: .init(report.dataStatus), advertisingSetID: report.advertisingSetID, data: report.data)
    }
}

extension ReceivedReport.DataStatus {
    fileprivate init(_ status: AdvertisingReport.DataStatus) {
        switch status {
        case .complete: self = .complete
        case .moreToCome: self = .more
        case .truncated: self = .truncated
        }
    }
}
