// The snippets of Docs/Guide/Central/Advertisements.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Advertisements.md
enum AdvertisementsPage {
    /// Sensors
    static func sensors(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(filter: .serviceData(BTHome.service))) {
            guard let reading = advertisement.beacon(BTHome.self) else { continue }
            for value in reading.values { print(value) }
        }
    }

    /// As JSON
    static func asJSON(_ adapter: Adapter) async throws {
        struct Line: Encodable {
            var quantity: String
            var unit: String
            var number: Double?
            var state: Bool?
            var event: String?
            var text: String?
            var bytes: [UInt8]?
        }

        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for try await advertisement in try await adapter.scan(ScanOptions(filter: .serviceData(BTHome.service))) {
            for value in advertisement.beacon(BTHome.self)?.values ?? [] {
                let line = Line(
                    quantity: value.quantity.rawValue, unit: value.unit, number: value.number, state: value.state,
                    event: value.event?.kind.rawValue, text: value.text, bytes: value.bytes)
                print(String(decoding: try encoder.encode(line), as: UTF8.self))
            }
        }
    }

    /// Encrypted sensors
    static func encryptedSensors(_ adapter: Adapter) async throws {
        guard let key = BindKey("231d39c1d7cc1ab1aee224cd096db932") else { return }
        for try await advertisement in try await adapter.scan(ScanOptions(filter: .serviceData(BTHome.service))) {
            do throws(SensorDecryptionError) {
                guard let reading = try advertisement.beacon(BTHome.self, key: key) else { continue }
                print(reading[.temperature]?.number ?? .nan, "°C, counter", reading.counter ?? 0)
            } catch {
                print("not decrypted:", error)
            }
        }
    }

    /// Beacons
    static func beacons(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan() {
            if let beacon = advertisement.beacon(IBeacon.self) {
                print("iBeacon", beacon.proximityUUID, beacon.major, beacon.minor)
            } else if let beacon = advertisement.beacon(AltBeacon.self) {
                print("AltBeacon", beacon.company, beacon.identifier)
            } else if case .url(let link, _)? = advertisement.beacon(Eddystone.self) {
                print("Eddystone", link)
            }
        }
    }

    /// A format of your own
    static func aFormatOfYourOwn(_ adapter: Adapter) async throws {
        struct Thermometer: AdvertisedValue {
            var celsius: Double

            init?(_ data: ManufacturerData) {
                guard data.company == .internalTest, data.data.count == 2 else { return nil }
                celsius = Double(Int16(bitPattern: UInt16(data.data[1]) << 8 | UInt16(data.data[0]))) / 100
            }
        }

        for try await advertisement in try await adapter.scan(ScanOptions(filter: .manufacturer(.internalTest))) {
            if let reading = advertisement.beacon(Thermometer.self) { print(reading.celsius, "°C") }
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
