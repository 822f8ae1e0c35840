// Examples/Small/Programs/AdapterStates.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runAdapterStates() async throws {
        struct AdapterStates {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    for try await change in try await Adapter.changes(on: .environment) { print(change) }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }
        }
        await AdapterStates.main()
    }
}
