import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE
import LINBLESample
import Synchronization

/// What the served UART is connected to.
enum Wiring: String, EnumerableFlag {
    case loopback, sample, pty

    /// Those that are flags; `--pty` takes a link.
    static let allCases: [Wiring] = [.loopback, .sample]

    static func help(for value: Wiring) -> ArgumentHelp? {
        switch value {
        case .loopback: "Echo every byte (the default)."
        case .sample: "Simulate a microcontroller that speaks the command protocol of the vendor's sample applications."
        case .pty: nil
        }
    }
}

/// The scope of `serve`, whose name is the one to advertise.
enum LinbleServeScope: OptionScope {
    typealias Name = AdvertisedNameOptions<LinbleCommand>
    static let groups: OptionGroups = [.name, .security, .keySize, .opening, .bonds, .trace]
}

struct LinbleServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Act as a LINBLE: offer a UART to devices that connect.",
        discussion: """
            -n is the name to advertise (default: LINBLE-Z1). Runs until Ctrl-C, for the time of --for, or with --once until the \
            first device has disconnected. With --request the served characteristic takes writes with response only.

            --pty connects the UART to a pseudo terminal with a link to it, which programs open like a serial port: \
            picocom linble.tty. A program that writes to it blocks until a device connects. A device \
            cannot be made to wait: its bytes are buffered, and it is disconnected when 262144 are unread.

            --security encrypted, authenticated or secure-connections serves only links with that level; the latter two \
            need --passkey, or a terminal where the user compares or enters numbers.

            With --simulate a second machine connects, sends bytes, prints the response, and disconnects.

            EXAMPLES:
              linble serve
              linble serve -n UART --sample --once
              linble serve --pty linble.tty
            """)

    @OptionGroup var scoped: ScopedOptions<LinbleServeScope>
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Flag(exclusivity: .exclusive)
    var chosen: Wiring?

    @Option(
        help: ArgumentHelp(
            "Serve one device at a time over a pseudo terminal, with this link to it.", valueName: "link"),
        completion: .file())
    var pty: String?

    @Flag(help: "Serve only encrypted links; devices must pair. The same as --security encrypted.")
    var encrypted = false

    @Flag(help: "Exit when the first device has disconnected.")
    var once = false

    @OptionGroup var runTime: RunTimeOptions

    func validate() throws {
        if pty != nil, let chosen { throw ValidationError("Give either --pty or --\(chosen.rawValue), not both.") }
        guard uart.profile != "auto" else { throw ValidationError("serve takes a single --profile, not auto.") }
        guard protection < .high || scoped.common.passkey != nil || CommonOptions.hasTerminal else {
            throw ValidationError(
                "--security \((scoped.common.security ?? .low).rawValue) needs --passkey, or a terminal to compare numbers."
            )
        }
    }

    private var wiring: Wiring { pty == nil ? chosen ?? .loopback : .pty }

    /// The security level that a link must have to be served.
    private var protection: SecurityLevel { max(encrypted ? .medium : .low, scoped.common.requiredLevel ?? .low) }

    func run() async throws {
        let (common, once, wiring, link, protection) = (scoped.common, once, wiring, pty, protection)
        let limit = runTime.duration
        var options = uart.serverOptions
        options.security = protection
        options.minimumKeySize = common.minimumKeySize
        options.isExclusive = wiring == .pty
        if let name = common.name { options.name = name }
        let served = options
        try await common.run("linble serve", isServer: true) { console in
            let terminal = wiring == .pty ? try PseudoTerminal(link: link) : nil
            let server = ServedUART(served, wiring, terminal, console)
            try await common.withAdapter(console, visitedBy: { try await visit($0, served, wiring, common, console) }) {
                adapter in
                if protection >= .high || common.passkey != nil {
                    try await adapter.setPairingAgent(common.pairingAgent(console))
                } else if protection >= .medium {
                    try await adapter.setPairingAgent(JustWorksPairingAgent())
                }
                _ = try await upTo(limit) { try await server.run(on: adapter, once: once) }
            }
        }
    }
}

extension UARTProgramOptions {
    /// The options of the served UART.
    fileprivate var serverOptions: UARTServerOptions {
        var options = UARTServerOptions(profile: profiles[0])
        options.maximumTransmissionUnit = mtu
        options.maximumChunkLength = chunk
        options.pacing = pacing ?? .unlimited
        return options
    }
}

/// The served UART with its wiring; it prints what devices do.
private final class ServedUART: Sendable {
    private let options: UARTServerOptions
    private let wiring: Wiring
    private let terminal: PseudoTerminal?
    private let console: Console
    /// In the state that the last device left it.
    private let microcontroller = Mutex(SampleMicrocontroller())

    init(_ options: UARTServerOptions, _ wiring: Wiring, _ terminal: PseudoTerminal?, _ console: Console) {
        self.options = options
        self.wiring = wiring
        self.terminal = terminal
        self.console = console
    }

    func run(on adapter: Adapter, once: Bool) async throws {
        let (departures, departed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await untilOneEnds([
            { [self] in
                try await UARTServer.run(on: adapter, options: options) { event in
                    self.tell(event, of: adapter.information)
                    if event.offline != nil, once { departed.yield() }
                } serve: { [self] in
                    try await serve($0)
                }
            },
            { for await _ in departures { break } },
        ])
    }

    private func serve(_ central: UARTCentral) async throws {
        if options.security == .fips, try await central.connection.security().level < .fips {
            // Attribute permissions require an authenticated link at most.
            throw ProgramError(.protocolError, "The device did not pair with LE Secure Connections.")
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
                    // A failed send means that the link has ended, which the loop below reports after its last write.
                    while let bytes = try await terminal.read(), (try? await central.send(bytes)) != nil {}
                }
                for try await bytes in central.received {
                    guard try await terminal.write(bytes) else { break }
                }
                group.cancelAll()
                try await group.waitForAll()
            }
            // A cancellation while bytes are written to the terminal ends the loop without an error.
            try Task.checkCancellation()
        }
    }

    private func tell(_ event: UARTServerEvent, of adapter: AdapterInformation) {
        if let set = event.advertising {
            started(on: adapter)
            console.reportShortenedName(in: set.payloads)
        }
        if let connection = event.connected { console.tell("connected", connection.peer) }
        if let central = event.online { console.tell("online", central.peer) }
        if let (central, error) = event.offline {
            console.tell("offline", central.peer, received: central.receivedByteCount, reason: error)
        }
    }

    private func started(on adapter: AdapterInformation) {
        let path = terminal.map { $0.link ?? $0.path }
        let name = options.profile.name.hasSuffix("UART") ? options.profile.name : "\(options.profile.name) UART"
        console.result(
            "serving",
            "\(adapter.name) \(adapter.address.digits) serves the \(name) as \(printable(options.name)): "
                + (path ?? wiring.rawValue),
            [
                ("adapter", .string(adapter.name)), ("address", .string(adapter.address.digits)),
                ("name", .string(options.name)), ("service", .string("\(options.profile.service)")),
                ("wiring", .string(wiring.rawValue)), ("pty", JSONValue(path)),
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
            return error.disconnectReason.map { isJSON ? "\($0)" : $0.words } ?? error.message
        }
        let parts = [
            "\(time())  \(peer.digits)  \(event)", received.map { "\(quantity($0, "byte")) received" }, reason,
        ]
        let fields =
            [
                ("peer", .string(peer.digits)), received.map { ("received", .integer($0)) },
                reason.map { ("reason", .string($0)) },
            ] as [(String, JSONValue)?]
        result(event, parts.compactMap(\.self).joined(separator: "  "), fields.compactMap(\.self))
    }
}

/// The second machine of --simulate: connects, sends bytes, prints the response, and disconnects. With a pseudo terminal
/// it echoes what it receives, and stays connected.
private func visit(
    _ visitor: Adapter, _ options: UARTServerOptions, _ wiring: Wiring, _ common: CommonOptions, _ console: Console
) async throws {
    // Both machines use the same passkey.
    if options.security >= .high { try await visitor.setPairingAgent(common.pairingAgent(console)) }
    // The simulated devices have random ones.
    let found = try await visitor.firstAdvertisement(timeout: nil) { $0.address?.kind == .public }
    guard let address = found.address else { return }
    let uart = try await UARTConnection.open(
        .address(address), on: visitor, options: UARTOptions(profiles: [options.profile]))
    func exchange(_ bytes: [UInt8]) async throws {
        console.message("another machine sends \(ValueText.describe(bytes, of: nil))")
        try await uart.send(bytes)
        let answer = try await uart.read(timeout: .seconds(5)) ?? []
        console.message("another machine receives \(ValueText.describe(answer, of: nil))")
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
            console.message("another machine echoes \(ValueText.describe(bytes, of: nil))")
            try await uart.send(bytes)
        }
    }
    await uart.disconnect()
}
