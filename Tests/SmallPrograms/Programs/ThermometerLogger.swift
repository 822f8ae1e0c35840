// Examples/Small/Programs/ThermometerLogger.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    static func runThermometerLogger() async throws {
        struct ThermometerLogger {
            static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .service(.healthThermometer)))
                    let kept = try adapter.keepConnected(to: found)
                    for try await notice in try await kept.subscribe(to: .temperatureMeasurement, in: .healthThermometer) {
                        switch notice {
                        case .value(let value): print("\(time(nil)),\(celsius(value) ?? .nan),")
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

            /// After the flags a mantissa of 24 bits and an exponent of 8 (IEEE 11073-20601 FLOAT).
            static func celsius(_ value: [UInt8]) -> Double? {
                guard value.count > 4 else { return nil }
                let format = PresentationFormat(format: .sint24, exponent: Int8(bitPattern: value[4]))
                return format.number(Array(value[1...3]))
            }
        }
        await ThermometerLogger.main()
    }
}
