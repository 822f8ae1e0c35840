// Examples/Small/Programs/ReadBattery.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runReadBattery() async throws {
        struct ReadBattery {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .service(.battery)))
                    let connection = try await adapter.connect(to: found)
                    let level = try await connection.read(.batteryLevel)
                    print(found.localName ?? "a device without a name", "has", level, "%")
                    await connection.disconnect()
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await ReadBattery.main()
    }
}
