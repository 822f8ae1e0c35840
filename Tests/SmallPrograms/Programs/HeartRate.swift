// Examples/Small/Programs/HeartRate.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    static func runHeartRate() async throws {
        struct HeartRate {
            static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let connection = try await adapter.connect { $0.services.contains(.heartRate) }
                    let measurements = try await connection.subscribe(to: .heartRateMeasurement, in: .heartRate)
                    for try await value in measurements.prefix(5) where value.count > 1 {
                        // The lowest bit of the flags: whether the rate has a second byte.
                        let high = value[0] & 1 == 1 && value.count > 2 ? Int(value[2]) << 8 : 0
                        print(high | Int(value[1]), "beats per minute")
                    }
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
