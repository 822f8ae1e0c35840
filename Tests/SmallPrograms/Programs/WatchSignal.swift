// Examples/Small/Programs/WatchSignal.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runWatchSignal() async throws {
        struct WatchSignal {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    // A scan reports a device once, and again when its data changes; with `.all`, each of its packets.
                    let options = ScanOptions(filter: .manufacturer(.apple, data: [0x02, 0x15]), duplicates: .all)
                    for try await advertisement in try await adapter.scan(options) {
                        guard let beacon = advertisement.beacon(IBeacon.self), let rssi = advertisement.rssi else { continue }
                        print(beacon.major, beacon.minor, rssi, String(repeating: "#", count: max(0, rssi + 100)))
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await WatchSignal.main()
    }
}
