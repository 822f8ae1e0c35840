import BluetoothAdvertising

/// The devices that a group has received, each with its newest advertisement.
struct GroupDeviceTable {
    private var devices: RecentlyUsed<GroupAdvertisement>

    init(capacity: Int) { devices = RecentlyUsed(limit: capacity) }

    mutating func record(_ found: GroupAdvertisement) {
        let key = AdvertisementJoiner.key(found.address, found.advertisement.advertisingSetID)
        let (index, _) = devices.use(key, orInsert: found)
        devices[index] = found
    }

    /// All devices, strongest signal first, those without an RSSI last.
    var all: [GroupAdvertisement] { devices.values.sorted { ($0.rssi ?? Int.min) > ($1.rssi ?? Int.min) } }
}
