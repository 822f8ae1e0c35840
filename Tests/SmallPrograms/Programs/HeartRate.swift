// Examples/Small/Programs/HeartRate.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runHeartRate() async throws {
        struct HeartRate {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let connection = try await adapter.connect { $0.services.contains(.heartRate) }
                    let measurements = try await connection.subscribe(to: .heartRateMeasurement)
                    for try await beat in measurements.prefix(5) { print(beat.rate, "beats per minute") }
                    await connection.disconnect()
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await HeartRate.main()
    }
}
