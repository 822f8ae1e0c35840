// The snippets of Docs/Guide/Central/Scanning.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Scanning.md
enum ScanningPage {
    /// A list of devices
    static func aListOfDevices(_ adapter: Adapter) async throws {
        for device in try await adapter.devices(for: .seconds(5)) {
            print(device.address?.description ?? "anonymous", device.rssi ?? 0, device.data)
        }
    }

    /// A stream of advertisements
    static func aStreamOfAdvertisements(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan() {
            print(advertisement.address?.description ?? "anonymous", advertisement.rssi ?? 0, advertisement.data)
        }
    }

    /// A stream of advertisements
    static func aStreamOfAdvertisements2(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duration: .seconds(5))) {
            print(advertisement)
        }
    }

    /// One device
    static func oneDevice(_ adapter: Adapter) async throws {
        let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .name("LINBLE-Z1")))
        print(found)
    }

    /// Filters
    static func filters(_ adapter: Adapter) async throws {
        let heartRate: ScanFilter = .service(.heartRate) && .rssi(atLeast: -70)
        let beacons: ScanFilter = .manufacturer(.apple, data: [0x02, 0x15]) && !.connectable
        let ours: ScanFilter = .nameContaining("linble", ignoringCase: true) || .solicitedService(.heartRate)
        let strong: ScanFilter = .matching { ($0.rssi ?? -127) > -60 }
        for try await advertisement in try await adapter.scan(ScanOptions(filter: heartRate || beacons || ours || strong)) {
            print(advertisement)
        }
    }

    /// Duplicates
    static func duplicates(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .once)) {
            print(advertisement)
        }
    }

    /// A slow consumer
    static func aSlowConsumer(_ adapter: Adapter) async throws {
        let scan = try await adapter.scan(ScanOptions(duplicates: .all, bufferCapacity: 64))
        for try await advertisement in scan {
            if advertisement.missedBefore > 0 { print("\(advertisement.missedBefore) missed, \(scan.missedCount) in all") }
        }
    }

    /// Thousands of reports a second
    static func thousandsOfReportsASecond(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .all, batching: .milliseconds(10))) {
            print(advertisement)
        }
    }

    /// The time of reception
    static func theTimeOfReception(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(duration: .seconds(1), duplicates: .all)) {
            let time = Date(timeIntervalSince1970: advertisement.time.secondsSince1970(on: adapter.loop))
            print(time, advertisement.localName ?? "-")
        }
    }

    /// Long range, interval and window
    static func longRangeIntervalAndWindow(_ adapter: Adapter) async throws {
        let options = ScanOptions(
            le1M: ScanParameters(interval: .milliseconds(100), window: .milliseconds(50)),
            leCoded: ScanParameters(isActive: false, interval: .milliseconds(300), window: .milliseconds(150)))
        for try await advertisement in try await adapter.scan(options) {
            print(advertisement.primaryPHY, advertisement.secondaryPHY as Any, advertisement.advertisingSetID as Any)
        }
    }

    /// Advertising intervals
    static func advertisingIntervals(_ adapter: Adapter) async throws {
        var devices = DeviceTable(capacity: 1000)
        for try await advertisement in try await adapter.scan(ScanOptions(duplicates: .all)) {
            let device = devices.record(advertisement)
            print(device.latest.address as Any, device.history.rssi, device.history.advertisingInterval as Any)
        }
    }
}
