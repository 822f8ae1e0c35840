// The snippets of Docs/Guide/Central/Advertisements.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Advertisements.md
enum AdvertisementsPage {
    /// Manufacturer data
    static func manufacturerData(_ adapter: Adapter) async throws {
        let ruuvi = ScanOptions(filter: .manufacturer(0x0499, data: [5]))
        for try await advertisement in try await adapter.scan(ruuvi) {
            guard let data = advertisement.data.manufacturerData(for: 0x0499), data.count >= 5 else { continue }
            let temperature = Int16(bitPattern: UInt16(data[1]) << 8 | UInt16(data[2]))
            let humidity = UInt16(data[3]) << 8 | UInt16(data[4])
            print(Double(temperature) * 0.005, "°C,", Double(humidity) * 0.0025, "%")
        }
    }

    /// Service data
    static func serviceData(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(filter: .serviceData(0xFCD2))) {
            // Version 2, not encrypted.
            guard let data = advertisement.data.serviceData(for: 0xFCD2), let flags = data.first, flags & 0xE1 == 0x40
            else { continue }
            var rest = data.dropFirst()
            while rest.count >= 2 {
                switch rest.removeFirst() {
                case 0x00: print("packet", rest.removeFirst())
                case 0x01: print("battery", rest.removeFirst(), "%")
                case 0x02 where rest.count >= 2:
                    let (low, high) = (rest.removeFirst(), rest.removeFirst())
                    print("temperature", Double(Int16(bitPattern: UInt16(high) << 8 | UInt16(low))) / 100, "°C")
                default: rest = []
                }
            }
        }
    }

    /// Beacons
    static func beacons(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan() {
            let data = advertisement.data
            if let beacon = data.beacon(IBeacon.self) {
                print("iBeacon", beacon.proximityUUID, beacon.major, beacon.minor)
            } else if let beacon = data.beacon(AltBeacon.self) {
                print("AltBeacon", beacon.company, beacon.identifier)
            } else if case .url(let link, _)? = data.beacon(Eddystone.self) {
                print("Eddystone", link)
            }
        }
    }

    /// Every field
    static func everyField(_ adapter: Adapter) async throws {
        for device in try await adapter.devices(for: .seconds(2)) {
            print(device.address?.description ?? "anonymous")
            for field in device.data.fields { print(" ", field) }
            for problem in device.data.problems { print(" ", problem) }
        }
    }
}
