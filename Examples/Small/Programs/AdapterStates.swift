// Prints the adapters of this machine, and what happens to them, until Ctrl-C. It needs no permission.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/interrupted.json swift run --package-path Examples/Small AdapterStates
//     hci0 (00:AA:01:00:00:01) added: off
//     hci0 (00:AA:01:00:00:01) removed
//     hci0 (00:AA:01:00:00:01) added: off
//     ^C
import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct AdapterStates {
    static func main() async {
        do throws(BluetoothError) {
            for try await change in try await Adapter.changes(on: .environment) { print(change) }
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
