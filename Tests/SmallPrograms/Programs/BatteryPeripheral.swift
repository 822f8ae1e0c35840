// Examples/Small/Programs/BatteryPeripheral.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runBatteryPeripheral() async throws {
        struct BatteryPeripheral {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let content = AdvertisementContent(localName: "Battery", services: [.battery])
                    try await adapter.serve(content) {
                        LocalService(.battery) {
                            LocalCharacteristic(.batteryLevel) { .random(in: 90...97) }
                                .notifying(every: .seconds(60), of: .batteryLevel) { .random(in: 90...97) }
                        }
                    } while: { _, connections in
                        print("advertising")
                        for try await connection in connections { print(connection.peer, "has connected") }
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await BatteryPeripheral.main()
    }
}
