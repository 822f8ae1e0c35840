import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE
import LINBLESample
import Synchronization

/// What is connected to the UART that is served.
enum Wiring: String, EnumerableFlag {
    case loopback, sample, pty

    static func help(for value: Wiring) -> ArgumentHelp? {
        switch value {
        case .loopback: "Echo every byte. This is the default."
        case .sample: "Simulate a microcontroller that speaks the command protocol of the maker's sample applications."
        case .pty: "Open a pseudo terminal for other programs, for one device at a time, and print its path."
        }
    }
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Be a LINBLE: offer a UART to devices that connect.",
        discussion: """
            -n is the name to advertise, LINBLE-Z1 without it. Runs until Ctrl-C, for --timeout seconds, or with --once \
            until the first device has disconnected. --pty connects the UART to a pseudo terminal, which programs open like \
            a serial port: linble serve --pty linble.tty, then picocom linble.tty. A program that writes to it waits until a \
            device connects. A device cannot be made to wait: its bytes are buffered, and when 262144 bytes are unread its \
            link ends. --security encrypted, authenticated or secure-connections serves only links with that level; the \
            latter two need --passkey, or a terminal where the user compares or enters numbers. With --simulate another \
            machine connects, sends bytes, prints what comes back, and disconnects.

            EXAMPLES:
              linble serve
              linble serve -n UART --sample --once
              linble serve --pty linble.tty
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var uart: UARTProgramOptions

    @Flag(exclusivity: .exclusive)
    var wiring = Wiring.loopback

    @Flag(help: "Serve only encrypted links; devices must pair. The same as --security encrypted.")
    var encrypted = false

    @Flag(help: "Exit when the first device that was served has disconnected.")
    var once = false

    @Argument(help: "With --pty: a symbolic link to create to the pseudo terminal.", completion: .file())
    var link: String?

    func validate() throws {
        guard link == nil || wiring == .pty else { throw ValidationError("A link is for --pty only.") }
        guard uart.profile != "auto" else { throw ValidationError("--profile takes one profile to be served.") }
        guard protection < .high || common.passkey != nil || CommonOptions.hasTerminal else {
            throw ValidationError(
                "--security \((common.security ?? .low).rawValue) needs --passkey, or a terminal to compare numbers.")
        }
    }

    /// How well links have to be protected to be served.
    private var protection: SecurityLevel { max(encrypted ? .medium : .low, (common.security ?? .low).level) }

    func run() async throws {
        let (common, once, wiring, link, protection) = (common, once, wiring, link, protection)
        var options = uart.serverOptions
        options.security = protection
        options.isExclusive = wiring == .pty
        if let name = common.name { options.name = name }
        let served = options
        try await common.run("linble serve", isServer: true) { console in
            let terminal = wiring == .pty ? try PseudoTerminal(link: link) : nil
            let server = ServedUART(served, wiring, terminal, console)
            try await common.withAdapter(console, visitedBy: { try await visit($0, served, wiring, common, console) }) {
                adapter in
                if protection >= .high {
                    try await adapter.setPairingAgent(common.pairingAgent(console, acceptsJustWorks: false))
                } else if protection >= .medium {
                    let agent = common.passkey == nil ? nil : common.pairingAgent(console)
                    try await adapter.setPairingAgent(agent ?? JustWorksPairingAgent())
                }
                let limit = common.timeout.map { Duration.seconds($0) }
                _ = try await withTimeLimit(limit) { try await server.run(on: adapter, once: once) }
            }
        }
    }
}

extension UARTProgramOptions {
    /// The options of a UART that is served.
    fileprivate var serverOptions: UARTServerOptions {
        var options = UARTServerOptions(profile: UARTProfile(named: profile) ?? .linble)
        options.maximumTransmissionUnit = mtu
        options.maximumChunkLength = chunk
        options.pacing = pacing ?? .unlimited
        return options
    }
}

/// A UART that is served, with what is connected to it; what devices do is printed.
private final class ServedUART: Sendable {
    private let options: UARTServerOptions
    private let wiring: Wiring
    private let terminal: PseudoTerminal?
    private let console: Console
    /// As the last device has left it.
    private let microcontroller = Mutex(SampleMicrocontroller())

    init(_ options: UARTServerOptions, _ wiring: Wiring, _ terminal: PseudoTerminal?, _ console: Console) {
        self.options = options
        self.wiring = wiring
        self.terminal = terminal
        self.console = console
    }

    func run(on adapter: Adapter, once: Bool) async throws {
        let (departures, departed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                try await UARTServer.run(on: adapter, options: options) { event in
                    self.tell(event, of: adapter.information)
                    if case .offline = event { departed.yield() }
                } serve: { [self] in
                    try await serve($0)
                }
            }
            if once { group.addTask { for await _ in departures { break } } }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func serve(_ central: UARTCentral) async throws {
        if options.security == .fips, try await central.connection.security().level < .fips {
            // Attributes ask for no more than an authenticated link.
            throw ProgramError(.protocolError, "The link was not paired for with LE Secure Connections.")
        }
        switch wiring {
        case .loopback: for try await bytes in central.received { try await central.send(bytes) }
        case .sample:
            var own = microcontroller.withLock { $0 }
            defer { microcontroller.withLock { $0 = own } }
            try await own.serve(central)
        case .pty:
            guard let terminal else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Where it cannot be sent, the link has ended, which is told below when all that came is written.
                    while let bytes = try await terminal.read(), (try? await central.send(bytes)) != nil {}
                }
                for try await bytes in central.received {
                    guard try await terminal.write(bytes) else { break }
                }
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    private func tell(_ event: UARTServerEvent, of adapter: AdapterInformation) {
        switch event {
        case .advertising: started(on: adapter)
        case .connected(let connection): console.tell("connected", connection.peer)
        case .online(let central): console.tell("online", central.peer)
        case .offline(let central, let error):
            console.tell("offline", central.peer, received: central.receivedByteCount, reason: error)
        }
    }

    private func started(on adapter: AdapterInformation) {
        let path = terminal.map { $0.link ?? $0.path }
        guard console.isJSON else {
            return console.result(
                "\(adapter.name) \(adapter.address) serves a \(options.profile.name) UART as \(printable(options.name)): "
                    + (path ?? wiring.rawValue))
        }
        console.result([
            ("event", .string("serving")), ("adapter", .string(adapter.name)),
            ("address", .string("\(adapter.address)")), ("name", .string(options.name)),
            ("service", .string("\(options.profile.service)")), ("wiring", .string(wiring.rawValue)),
            ("pty", JSONValue(path)),
        ])
    }
}

extension Console {
    fileprivate func tell(
        _ event: String, _ peer: BluetoothAddress, received: Int? = nil, reason: (any Error)? = nil
    ) {
        let reason = reason.map { error -> String in
            guard let error = error as? BluetoothError else {
                return error is CancellationError ? "stopped" : "\(error)"
            }
            if error.code == .cancelled { return "stopped" }
            return error.disconnectReason.map { "\($0)" } ?? error.message
        }
        guard isJSON else {
            var line = "\(messages.dim(timestamp()))  \(peer)  \(event)"
            if let received { line += "  \(received) bytes received" }
            if let reason { line += "  \(reason)" }
            return result(line)
        }
        var fields: [(String, JSONValue)] = [
            ("event", .string(event)), ("peer", .string("\(peer)")),
        ]
        if let received { fields.append(("received", .integer(received))) }
        if let reason { fields.append(("reason", .string(reason))) }
        result(fields)
    }
}

/// What the other machine does with --simulate: it connects, sends something, shows what comes back, and leaves. With a
/// pseudo terminal it sends back what comes, and stays.
private func visit(
    _ visitor: Adapter, _ options: UARTServerOptions, _ wiring: Wiring, _ common: CommonOptions, _ console: Console
) async throws {
    // Both machines are told the number.
    if options.security >= .high { try await visitor.setPairingAgent(common.pairingAgent(console)) }
    // The simulated LINBLE may have the same name; its address is a random one.
    let found = try await visitor.first(timeout: nil) {
        $0.data.localName == options.name && $0.address?.kind == .public
    }
    guard let address = found.address else { return }
    let uart = try await UARTConnection.open(
        .address(address), on: visitor, options: UARTOptions(profiles: [options.profile]))
    func exchange(_ bytes: [UInt8]) async throws {
        console.message("another machine sends \(ValueText.describe(bytes, of: nil))")
        try await uart.send(bytes)
        let answer = try await uart.read(timeout: .seconds(5)) ?? []
        console.message("another machine gets  \(ValueText.describe(answer, of: nil))")
    }
    switch wiring {
    case .loopback: try await exchange(Array("hello".utf8))
    case .sample:
        // Link test, version.
        for packet in [[0x01, 0x00], [0x01, 0x03]] as [[UInt8]] { try await exchange(packet) }
    case .pty:
        let greeting = Array("hello\r\n".utf8)
        console.message("another machine sends \(ValueText.describe(greeting, of: nil))")
        try await uart.send(greeting)
        for try await bytes in uart.received {
            console.message("another machine gets and sends  \(ValueText.describe(bytes, of: nil))")
            try await uart.send(bytes)
        }
    }
    await uart.disconnect()
    _ = await uart.connection.closed()
}
