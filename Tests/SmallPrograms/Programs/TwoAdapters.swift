// Examples/Small/Programs/TwoAdapters.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runTwoAdapters() async throws {
        struct TwoAdapters {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let server = try await Adapter.open(.index(0), power: .powerOn, on: .environment)
                    let client = try await Adapter.open(.index(1), power: .powerOn, on: .environment)
                    let level = try await server.serve(AdvertisementContent(localName: "Battery")) {
                        LocalService(.battery) { LocalCharacteristic(.batteryLevel) { 97 } }
                    } while: { _, _ in
                        try await client.withConnection(to: server.information.address) { connection in
                            try await connection.read(.batteryLevel)
                        }
                    }
                    print(client.information.name, "reads", level, "from", server.information.name)
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await TwoAdapters.main()
    }
}
