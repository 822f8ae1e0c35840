// Examples/Small/Programs/ThermometerLogger.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runThermometerLogger() async throws {
        struct ThermometerLogger {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .service(.healthThermometer)))
                    let kept = try adapter.keepConnected(to: found)
                    for try await notice in try await kept.subscribe(to: .temperatureMeasurement) {
                        switch notice {
                        case .value(let measurement): print("\(time(nil)),\(measurement.celsius),")
                        case .interrupted(let reason): print("\(time(nil)),,\(reason.code)")
                        case .resumed: print("\(time(nil)),,resumed")
                        }
                        fflush(nil)  // for a file or a pipe, which get a line at once then
                    }
                    await kept.disconnect()
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await ThermometerLogger.main()
    }
}
