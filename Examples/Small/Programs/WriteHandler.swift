// Is a thermostat: a GATT server that checks and handles what is written to it, until Ctrl-C.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small WriteHandler
//     serving
//     00:AA:01:00:00:02/public sets 22 degrees
//     ^C
//
// The second line is there when a central has written 22, such as `ble write -n Thermostat FFF1 16` on another
// machine.
import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct WriteHandler {
    static func main() async {
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
