// The snippets of README.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Glibc
import LINBLE
import LINBLESimulation
import Testing

/// README.md
enum ReadmePage {
    /// A first program
    static func aFirstProgram() async throws {
        struct FirstProgram {
            static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(.first, power: .powerOn)
                    // The name of your device; ble scan lists those that advertise.
                    let found = try await adapter.firstAdvertisement(timeout: .seconds(10)) { $0.localName == "LINBLE-Z1" }

                    let connection = try await adapter.connect(to: found)
                    for service in try await connection.discover() {
                        print(service.uuid, service.characteristics.map(\.uuid))
                    }
                } catch {
                    print(error)
                    exit(error.code == .notPermitted ? 77 : 1)
                }
            }
        }
        await FirstProgram.main()
    }

    /// A UART
    static func aUART(_ adapter: Adapter) async throws {
        let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
        try await uart.send([0x01, 0x00])
        if let answer = try await uart.read(timeout: .seconds(2)) { print(answer) }
    }

    /// A test without hardware
    static func aTestWithoutHardware() async throws {
        let radio = SimulatedRadio()                     // virtual time: the half hour takes no real time
        let kernel = radio.makeKernel()
        let linble = SimulatedLINBLE(on: radio)
        try await radio.run {
            // Your program, on `kernel` instead of the machine's own.
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
            try await uart.send([0x01, 0x00])
            try await radio.sleep(for: .seconds(1800))
            await uart.disconnect()
        }
        #expect(linble.statistics.bytesFromHosts == 2)
    }
}
