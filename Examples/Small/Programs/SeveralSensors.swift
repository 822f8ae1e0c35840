// Reads the names of all devices around at the same time; one that fails does not stop the others.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small SeveralSensors
//     C0:98:E5:12:34:58/random: Pulse-Z1
//     C0:98:E5:12:34:59/random: Thermo
//     C0:98:E5:12:34:5A/random: Lamp
//     C0:98:E5:12:34:5C/random: LINBLE-Z1
import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct SeveralSensors {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let devices = try await adapter.devices(for: .seconds(2), options: ScanOptions(filter: .connectable))
            await withTaskGroup { group in
                for device in devices { group.addTask { await describe(device, adapter) } }
                var lines: [String] = []
                for await line in group { lines.append(line) }
                print(lines.sorted().joined(separator: "\n"))
            }
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }

    static func describe(_ device: Advertisement, _ adapter: Adapter) async -> String {
        do throws(BluetoothError) {
            let connection = try await adapter.connect(to: device)
            let name = try await connection.read(.deviceName, in: .genericAccess)
            await connection.disconnect()
            return "\(connection.peer): \(String(decoding: name, as: UTF8.self))"
        } catch {
            return "\(device.address?.description ?? "?"): \(error)"
        }
    }
}
