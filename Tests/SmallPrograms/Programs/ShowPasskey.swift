// Examples/Small/Programs/ShowPasskey.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runShowPasskey() async throws {
        struct Display: PairingAgent {
            var ioCapability: IOCapability { .displayOnly }

            func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
                print("enter", passkey.digits, "at", request.peer)
            }
        }

        struct ShowPasskey {
            @MainActor static func main() async {
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
        await ShowPasskey.main()
    }
}
