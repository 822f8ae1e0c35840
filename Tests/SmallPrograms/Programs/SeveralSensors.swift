// Examples/Small/Programs/SeveralSensors.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runSeveralSensors() async throws {
        struct SeveralSensors {
            @MainActor static func main() async {
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
        await SeveralSensors.main()
    }
}
