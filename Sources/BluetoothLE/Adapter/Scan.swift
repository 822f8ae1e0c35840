import Advertising
import BluetoothKernel
import BluetoothPrimitives
import HCI

/// How to listen for advertisements.
public struct ScanOptions: Hashable, Sendable {
    /// What becomes of further reports about a device that was reported before.
    public enum Duplicates: Hashable, Sendable {
        /// Every report is handed out.
        case keep
        /// A device is handed out when it is first heard and whenever what it says has changed.
        case merge
    }

    /// Whether devices are asked for their scan response, where names often are.
    public var isActive: Bool
    /// What becomes of further reports about the same device.
    public var duplicates: Duplicates
    /// How often the controller begins to listen: 2.5 ms to 10.24 s.
    public var interval: Duration
    /// How long it listens each time: at most ``interval``.
    public var window: Duration
    /// How many advertisements may wait for the consumer; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// How many devices are remembered for joining and merging; the one silent the longest is forgotten first.
    public var deviceLimit: Int

    /// Options with the usual choices: active, merged, listening all the time.
    public init(
        isActive: Bool = true, duplicates: Duplicates = .merge, interval: Duration = .milliseconds(60),
        window: Duration = .milliseconds(60), bufferCapacity: Int = 1024,
        deviceLimit: Int = 1024
    ) {
        self.isActive = isActive
        self.duplicates = duplicates
        self.interval = interval
        self.window = window
        self.bufferCapacity = bufferCapacity
        self.deviceLimit = deviceLimit
    }
}

/// What was heard from a device, with what it answered to a scan request.
public struct Advertisement: Hashable, Sendable {
    /// The advertiser; nil when it advertises anonymously.
    public var address: BluetoothAddress?
    /// What it says: its advertising data joined with its last scan response.
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
    /// The advertising set, for extended advertising.
    public var advertisingSetID: UInt8?
    /// When it was received, on the kernel's clock.
    public var time: KernelInstant
}
