import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct FirstProgram {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            // The name of your device; ble scan lists those that advertise.
            let found = try await adapter.firstAdvertisement(timeout: .seconds(10)) { $0.localName == "LINBLE-Z1" }

            let connection = try await adapter.connect(to: found)
            for service in try await connection.discover() {
                print(service.uuid, service.characteristics.map(\.uuid))
            }
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
