import BluetoothJSON
import BluetoothLE
import BluetoothProfiles
import ExampleSupport

/// A keyboard that types the lines of standard input at every host that uses it.
struct KeyboardServer {
    private let keyboard: Keyboard
    private let adapter: Adapter
    private let console: Console

    init(named name: String?, on adapter: Adapter, _ console: Console) {
        keyboard = Keyboard(named: name ?? "Keyboard")
        self.adapter = adapter
        self.console = console
    }

    /// Types until the end of the input, or until the task is cancelled. A line waits for a host.
    func run() async throws {
        // A keyboard has no display and the program no keys of its own: hosts pair without a number.
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        let input = LineInput()
        try await keyboard.serve(on: adapter) {
            console.started(
                keyboard.content, named: keyboard.name, services: [.humanInterfaceDevice], on: adapter.information)
            while let line = await input.next() {
                try await keyboard.hostIsReady()
                try await type(line)
            }
        }
    }

    /// A line that cannot be typed is no reason to end: the next one may be.
    private func type(_ line: String) async throws {
        do throws(BluetoothError) {
            try await keyboard.type(line + "\n")
            console.result("typed", "typed \(printable(line))", [("text", .string(line))])
        } catch {
            guard error.code != .cancelled else { throw error }
            console.message("not typed in full: \(printable(line)): \(error.message)")
        }
    }
}

/// What a host receives, for the second machine of --simulate.
func receiveKeys(_ connection: Connection, _ database: RemoteDatabase, _ console: Console) async throws {
    guard
        let report = database.services.first(where: { $0.uuid == .humanInterfaceDevice })?.characteristics
            .first(where: { $0.uuid == .report && $0.properties.contains(.notify) })
    else { return }
    var text = KeyboardText()
    var line = ""
    do throws(BluetoothError) {
        for try await value in try await connection.subscribe(to: report) {
            guard let report = try? KeyboardReport(value) else { continue }
            line += text.type(report)
            guard line.hasSuffix("\n") else { continue }
            console.message("another machine receives \(printable(String(line.dropLast())))")
            line = ""
        }
    } catch {
        // The keyboard ends with its input.
        guard error.code == .disconnected else { throw error }
    }
}
