import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives

/// A table of received devices, each with its latest advertisement and its history, for lists and displays.
///
/// ```swift
/// var devices = DeviceTable()
/// for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .all)) {
///     let device = devices.record(advertisement)
///     print(device.latest.address, device.history.meanRSSI, device.history.advertisingInterval)
/// }
/// ```
///
/// Record the advertisements of a scan that delivers every report (``DuplicatePolicy/all``); otherwise RSSI and
/// interval reflect changes only. Recording takes constant time, regardless of the number of devices. Beyond its capacity
/// the least recently received device is removed. A device takes about 0.5 kB, including its advertising data.
public struct DeviceTable: Sendable {
    /// A received device, or one advertising set of a device.
    public struct Device: Identifiable, Sendable {
        /// The latest advertisement.
        public fileprivate(set) var latest: Advertisement
        /// The reception history.
        public fileprivate(set) var history: DeviceHistory

        /// The identity of all advertisements of the device or advertising set.
        public var id: UInt64 { latest.id }
    }

    /// The number of devices removed because the table was full.
    package private(set) var evictedCount = 0
    private var devices: RecentlyUsed<Device>

    /// Creates an empty table for at most `capacity` devices, at least one.
    public init(capacity: Int = 10_000) {
        devices = RecentlyUsed(limit: max(1, capacity))
    }

    /// The number of stored devices.
    public var count: Int { devices.count }

    /// Records an advertisement and returns its device. Anonymous advertisements of one advertising set count as one
    /// device.
    @discardableResult
    public mutating func record(_ advertisement: Advertisement) -> Device {
        let countBefore = devices.count
        let (index, didEvict) = devices.use(
            advertisement.id, orInsert: Device(latest: advertisement, history: DeviceHistory(advertisement)))
        if didEvict { evictedCount &+= 1 }
        // A new device already contains this advertisement.
        if !didEvict, devices.count == countBefore {
            devices[index].latest = advertisement
            devices[index].history.record(advertisement)
        }
        return devices[index]
    }

    /// The device with an address, or one of its advertising sets; nil if it was not received or was removed.
    public func device(_ address: BluetoothAddress, advertisingSetID: UInt8? = nil) -> Device? {
        devices.index(of: AdvertisementJoiner.key(address, advertisingSetID)).map { devices[$0] }
    }

    /// All devices, most recently received first.
    public var all: [Device] { devices.values }
}
