// Examples/Small/Programs/ChannelEcho.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Glibc

extension SmallPrograms {
    @MainActor static func runChannelEcho() async throws {
        struct ChannelEcho {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let listener = try await adapter.listen(psm: 0x0085)
                    try await adapter.withAdvertising(AdvertisementContent(localName: "Echo")) { _ in
                        print("listening at PSM", listener.psm)
                        try await withThrowingDiscardingTaskGroup { group in
                            for try await channel in listener { group.addTask { await echo(channel) } }
                        }
                    }
                } catch {
                    print(error)
                    exit(error.exitStatus)
                }
            }

            static func echo(_ channel: ConnectionOrientedChannel) async {
                do throws(BluetoothError) {
                    while let bytes = try await channel.read() { try await channel.write(bytes) }
                    print(channel.peer, "has closed its channel")
                } catch {
                    print(channel.peer, error)
                }
            }
        }
        await ChannelEcho.main()
    }
}
