// Offers an L2CAP channel that returns what it receives, to several peers at once, until Ctrl-C.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small ChannelEcho
//     listening at PSM 133
//     00:AA:01:00:00:02/public has closed its channel
//     ^C
//
// The second line is there when a peer on another machine has used the channel.
import BluetoothLE
import BluetoothSimulation
import Glibc

@main struct ChannelEcho {
    static func main() async {
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
