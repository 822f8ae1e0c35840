// Sends the lines that are typed to a UART module, and prints those that it sends, until Ctrl-D.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small Chat
//     online
//     > hello
//     < hello
//     > how are you?
//     < how are you?
//
// The lines that begin with > are typed; the simulated module is an echo.
import BluetoothLE
import BluetoothSimulation
import Dispatch
import Glibc
import LINBLE

@main struct Chat {
    static func main() async {
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
