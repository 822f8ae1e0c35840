import BluetoothAdvertising
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

/// What was heard from a device, with what it answered to a scan request.
public struct Advertisement: Hashable, Sendable {
    /// The advertiser; nil when it advertises anonymously.
    public var address: BluetoothAddress?
    /// The private address on the air, if ``address`` is the identity of a bonded device that uses it; otherwise nil.
    public var privateAddress: BluetoothAddress?
    /// What it says: its advertising data joined with its last scan response, each put together from its parts.
    public var data: AdvertisementData
    /// How strongly this report was received, in dBm; nil when the controller could not tell.
    public var rssi: Int?
    /// The power it says it sends with in the extended header, in dBm.
    public var transmitPower: Int?
    /// Whether one can connect to it.
    public var isConnectable: Bool
    /// Whether it answers scan requests.
    public var isScannable: Bool
    /// Whether this report is a scan response.
    public var isScanResponse: Bool
    /// Whether it came as a legacy advertising PDU.
    public var isLegacy: Bool
    /// Whether it is meant for one device, which then is ``directAddress``.
    public var isDirected: Bool
    /// For whom a directed advertisement is; nil also where a legacy report does not tell.
    public var directAddress: BluetoothAddress?
    /// Whether the controller lost the end of ``data``.
    public var isTruncated: Bool
    /// The PHY it was heard on first: LE 1M, or LE Coded.
    public var primaryPHY: LEPHY
    /// The PHY that carried the data of extended advertising; nil for legacy PDUs and for what has no second packet.
    public var secondaryPHY: LEPHY?
    /// The advertising set (Advertising SID), 0 to 15, for extended advertising.
    public var advertisingSetID: UInt8?
    /// From one packet to the next of the periodic advertising that belongs to the set; nil when there is none.
    public var periodicAdvertisingInterval: Duration?
    /// When it was received, on the kernel's clock.
    public var time: KernelInstant
    /// How many advertisements of the same stream were dropped just before this one because nobody took them in time.
    public var missedBefore: Int

    /// An advertisement from its parts, such as for a program's own tests; the defaults are those of a legacy one.
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

extension Advertisement: CustomStringConvertible {
    /// Who says what, and how strongly it was received: `C0:98:E5:12:34:56 (random), RSSI -58 dBm: …`.
    public var description: String {
        let sender = address?.description ?? "anonymous"
        let signal = rssi.map { ", RSSI \($0) dBm" } ?? ""
        let content = data.description
        return content.isEmpty ? sender + signal : "\(sender)\(signal): \(content)"
    }
}

extension Advertisement {
    init(_ joined: consuming JoinedAdvertisement, _ report: borrowing AdvertisingReport, at time: KernelInstant) {
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

extension ReceivedReport.DataStatus {
    init(_ status: AdvertisingReport.DataStatus) {
        switch status {
        case .complete: self = .complete
        case .moreToCome: self = .more
        case .truncated: self = .truncated
        }
    }
}
