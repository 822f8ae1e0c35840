// Is a peripheral with a Battery service, until Ctrl-C.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small BatteryPeripheral
//     advertising
//     00:AA:01:00:00:02/public has connected
//     ^C
//
// The second line is there when a central connects, such as `ble read -n Battery 2A19` on another machine.
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

@main struct BatteryPeripheral {
    static func main() async {
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
