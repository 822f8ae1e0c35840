// Examples/Small/Programs/Chat.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Dispatch
import Glibc
import LINBLE

extension SmallPrograms {
    @MainActor static func runChat() async throws {
        struct Chat {
            @MainActor static func main() async {
                do throws(BluetoothError) {
                    let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                    let options = UARTOptions(profiles: [.linble, .nordic])
                    let uart = try await UARTConnection.open(.advertisedService, on: adapter, options: options)
                    print("online")
                    Task {
                        while let line = await typedLine() { try await uart.send(Array("\(line)\n".utf8)) }
                        try await uart.flush()
                        await uart.disconnect()
                    }
                    for try await line in uart.frames(DelimiterFramer()) { print("<", String(decoding: line, as: UTF8.self)) }
                } catch {
                    if error.disconnectReason == .local { return }  // after Ctrl-D
                    print(error)
                    exit(error.exitStatus)
                }
            }

            /// The next line of standard input. Waiting for it blocks a thread of this queue, and none of Swift's.
            static func typedLine() async -> String? {
                await withCheckedContinuation { line in keyboard.async { line.resume(returning: readLine()) } }
            }
            static let keyboard = DispatchQueue(label: "keyboard")
        }
        await Chat.main()
    }
}
