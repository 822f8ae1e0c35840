// Lists the devices that advertise within five seconds, the strongest first.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small Scan
//     -… C0:98:E5:12:34:5C/random LINBLE-Z1
//     -… C0:98:E5:12:34:58/random Pulse-Z1
//     -… C0:98:E5:12:34:59/random Thermo
//     -… C0:98:E5:12:34:5A/random Lamp
//     -… C0:98:E5:12:34:5B/random -
import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct Scan {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            for device in try await adapter.devices(for: .seconds(5)) {
                print(device.rssi ?? 0, device.address?.description ?? "anonymous", device.localName ?? "-")
            }
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
