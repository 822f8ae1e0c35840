// Examples/Small/Programs/WriteValue.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runWriteValue() async throws {
        struct WriteValue {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let connection = try await adapter.connect { $0.localName == "Lamp" }
                    try await connection.write([1], to: "FFF1", in: "FFF0")
                    print("on:", try await connection.read("FFF1", in: "FFF0"))

                    let services = try await connection.discover()
                    guard let light = services.characteristic("FFF1", in: "FFF0"),
                        let colour = services.characteristic("FFF2", in: "FFF0")
                    else {
                        print("The lamp has no light or no colour.")
                        exit(1)
                    }
                    try await connection.writeReliably([
                        AttributeWrite([0], to: light), AttributeWrite([255, 160, 0], to: colour),
                    ])
                    print("on, colour:", try await connection.read([light, colour]))
                    await connection.disconnect()
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await WriteValue.main()
    }
}
