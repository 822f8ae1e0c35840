// Examples/Small/Programs/Beacon.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runBeacon() async throws {
        struct Beacon {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let apple = IBeacon(
                        proximityUUID: "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", major: 7, minor: 43, measuredPower: -59)
                    let options = AdvertisingOptions(kind: .nonConnectable)
                    try await adapter.withAdvertising(.iBeacon(apple), options: options) { _ in
                        let page = Eddystone.url("https://swift.org", txPower: -20)
                        try await adapter.withAdvertising(.eddystone(page), options: options) { set in
                            print("advertising")
                            throw await set.closed()
                        }
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await Beacon.main()
    }
}
