import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives

/// The devices that were heard, each with its newest advertisement and its history, for lists and displays.
///
/// ```swift
/// var devices = DeviceTable()
/// for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .all)) {
///     let device = devices.record(advertisement)
///     print(device.latest.address, device.history.meanRSSI, device.history.advertisingInterval)
/// }
/// ```
///
/// Feed it from a scan that hands out every report (``DuplicatePolicy/all``), or the signal strengths and intervals are
/// those of the changes only. Recording takes the same time however many devices there are. Beyond ``capacity`` the
/// device silent the longest is forgotten. A device takes about 0.5 kB, the bytes it advertises included.
public struct DeviceTable: Sendable {
    /// A device that was heard, or one of the advertising sets of a device.
    public struct Device: Sendable {
        /// What was heard last of it.
        public fileprivate(set) var latest: Advertisement
        /// When and how strongly it was heard.
        public fileprivate(set) var history: DeviceHistory
    }

    /// The most devices that are remembered.
    public let capacity: Int
    /// How many were forgotten for want of room.
    public private(set) var evictedCount = 0
    private var devices: RecentlyUsed<Device>

    /// A table without devices, and later at most `capacity` of them, at least one.
    public init(capacity: Int = 10_000) {
        self.capacity = max(1, capacity)
        devices = RecentlyUsed(limit: self.capacity)
    }

    /// How many devices there are.
    public var count: Int { devices.count }

    /// Takes in an advertisement and returns its device. Anonymous ones of one advertising set count as one device.
    @discardableResult
    public mutating func record(_ advertisement: Advertisement) -> Device {
        let key = AdvertisementJoiner.key(advertisement.address, advertisement.advertisingSetID)
        let countBefore = devices.count
        let (index, didEvict) = devices.use(
            key, orInsert: Device(latest: advertisement, history: DeviceHistory(advertisement)))
        if didEvict { evictedCount &+= 1 }
        // A device that was just put in has this advertisement already.
        if !didEvict, devices.count == countBefore {
            devices[index].latest = advertisement
            devices[index].history.record(advertisement)
        }
        return devices[index]
    }

    /// The device with an address, or an advertising set of it; nil when it was not heard or is forgotten.
    public func device(_ address: BluetoothAddress, advertisingSetID: UInt8? = nil) -> Device? {
        devices.index(of: AdvertisementJoiner.key(address, advertisingSetID)).map { devices[$0] }
    }

    /// All devices, the one heard last first.
    public var all: [Device] { devices.values }
}
