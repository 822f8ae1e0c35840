// The snippets of README.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// README.md
enum ReadmePage {
    /// A first program
    static func aFirstProgram() async throws {
        struct FirstProgram {
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
        await FirstProgram.main()
    }
}
