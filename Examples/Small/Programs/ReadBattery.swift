// Reads the battery level of the first device that advertises the Battery service.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small ReadBattery
//     Pulse-Z1 has 97 %
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

@main struct ReadBattery {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .service(.battery)))
            let connection = try await adapter.connect(to: found)
            let level = try await connection.read(.batteryLevel)
            print(found.localName ?? "a device without a name", "has", level, "%")
            await connection.disconnect()
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
