// Examples/Small/Programs/WriteHandler.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runWriteHandler() async throws {
        struct WriteHandler {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    // Reads get the value that was written last.
                    let target = LocalCharacteristic("FFF1", properties: [.read, .write], value: [20]).onWrite { request in
                        guard request.value.count == 1, request.value[0] <= 30 else { throw ATTErrorCode.valueNotAllowed }
                        print(request.peer, "sets", request.value[0], "degrees")
                    }
                    print("serving")
                    try await adapter.serve(AdvertisementContent(localName: "Thermostat", services: ["FFF0"])) {
                        LocalService("FFF0") { target }
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await WriteHandler.main()
    }
}
