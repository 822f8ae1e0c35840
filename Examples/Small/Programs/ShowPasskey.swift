// Is a device with a display: it pairs with a central whose user enters the passkey shown here, until Ctrl-C.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small ShowPasskey
//     serving
//     enter … at 00:AA:01:00:00:02/public
//     ^C
//
// The second line is there when a central reads the value, such as `ble read -n Safe FFF2` on another machine.
import BluetoothLE
import BluetoothSimulation
import Glibc

struct Display: PairingAgent {
    var ioCapability: IOCapability { .displayOnly }

    func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        print("enter", passkey.digits, "at", request.peer)
    }
}

@main struct ShowPasskey {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            try await adapter.setPairingAgent(Display(), secureConnections: .only)
            let secret = LocalCharacteristic(
                "FFF2", properties: .read, value: [1, 2, 3], permissions: [.read, .readBonded])
            print("serving")
            try await adapter.serve(AdvertisementContent(localName: "Safe")) { LocalService("FFF0") { secret } }
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
