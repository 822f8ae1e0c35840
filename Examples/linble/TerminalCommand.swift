import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE

/// The bytes that the Enter key sends.
enum LineEnding: String, ExpressibleByArgument, CaseIterable {
    case cr, lf, crlf, none

    var bytes: [UInt8] {
        switch self {
        case .cr: [0x0D]
        case .lf: [0x0A]
        case .crlf: [0x0D, 0x0A]
        case .none: []
        }
    }
}

struct TerminalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terminal", abstract: "Open a terminal on the device's UART.",
        discussion: """
            Ctrl-] exits; every other key goes to the device. If standard input is not a terminal, its bytes are sent \
            unchanged, and the command exits when all have been sent and no byte has been received for --linger \
            seconds. \(AdapterOptions.several)

            EXAMPLES:
              linble terminal
              linble terminal -n LINBLE-Z1 --eol crlf --echo
              printf '\\1\\3' | linble terminal --hex
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Option(help: "What the Enter key sends: cr, lf, crlf or none.")
    var eol = LineEnding.cr

    @Flag(help: "Show received bytes as hexadecimal digits.")
    var hex = false

    @Flag(help: "Echo typed characters locally.")
    var echo = false

    @Option(help: ArgumentHelp("How long to listen after the end of the input, such as 2.5.", valueName: "seconds"))
    var linger = 1.0

    func validate() throws {
        try checkRange(linger, 0...1_000_000, "--linger", " seconds")
    }

    func run() async throws {
        let session = TerminalSession(
            lineEnding: eol, showsHex: hex, echoes: echo, linger: .seconds(linger))
        let (common, uartOptions) = (common, uart)
        try await common.run("linble terminal") { console in
            try await common.withUART(try await common.uartDevice(uartOptions), uartOptions, console) { uart in
                try await session.run(uart, console)
            }
        }
    }
}

private struct TerminalSession: Sendable {
    let lineEnding: LineEnding
    let showsHex: Bool
    let echoes: Bool
    let linger: Duration

    private static let escape: UInt8 = 0x1D

    func run(_ uart: UARTConnection, _ console: Console) async throws {
        let isInteractive = makeTerminalRaw()
        defer { restoreTerminal() }
        if isInteractive { console.message("Online. Ctrl-] exits.") }
        // The session ends with the input or the link.
        try await untilOneEnds([
            { try await show(uart, console) }, { try await type(uart, console, isInteractive: isInteractive) },
        ])
        if isInteractive { console.message("\nDisconnected.") }
    }

    /// Prints received bytes until the link ends.
    private func show(_ uart: UARTConnection, _ console: Console) async throws {
        for try await bytes in uart.received {
            if console.isJSON {
                console.result([
                    ("event", .string("rx")), ("data", .string(bytes.hexadecimal)),
                ])
            } else if showsHex {
                console.result(bytes.hexadecimal)
            } else {
                console.result(bytes)
            }
        }
    }

    /// Sends the input until Ctrl-] or its end.
    private func type(_ uart: UARTConnection, _ console: Console, isInteractive: Bool) async throws {
        let input = StandardInput()
        while let bytes = await input.next() {
            guard isInteractive else {
                try await uart.send(bytes)
                continue
            }
            let typed = bytes.prefix { $0 != Self.escape }
            if echoes { console.result(typed.map { $0 == 0x0D ? 0x0A : $0 }) }
            try await uart.send(typed.flatMap { $0 == 0x0D ? lineEnding.bytes : [$0] })
            if typed.count < bytes.count { return }
        }
        try await uart.flush()
        var received = uart.receivedByteCount
        while true {
            try await Task.sleep(for: linger)
            guard uart.receivedByteCount != received else { return }
            received = uart.receivedByteCount
        }
    }
}
