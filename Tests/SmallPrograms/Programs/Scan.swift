// Examples/Small/Programs/Scan.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runScan() async throws {
        struct Scan {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    for device in try await adapter.devices(for: .seconds(5)) {
                        print(device.rssi ?? 0, device.address?.description ?? "anonymous", device.localName ?? "-")
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await Scan.main()
    }
}
