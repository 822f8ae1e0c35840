// Serves a battery level on one adapter, and reads it through another.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small TwoAdapters
//     hci1 reads 97 from hci0
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

@main struct TwoAdapters {
    static func main() async {
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
