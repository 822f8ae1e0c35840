import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

struct NotifyCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Subscribe to characteristics, and print the values that the device sends.",
        discussion: """
            \(AttributeSelector.help) \(AdapterOptions.several)

            Prints a line for each notification or indication as it arrives, until Ctrl-C, for the time of --for, or \
            until --count values have arrived. It is a failure if fewer than --count values arrive within the time of \
            --for. With --keep, a lost link does not end it: it waits for the device, and for the adapter, and subscribes \
            again; the time of --for then includes the first search, and it is a failure if there was no subscription.

            EXAMPLES:
              ble notify -n Pulse-Z1 2A37
              ble notify -n Pulse-Z1 2A37 2A1C --count 4 --json
              ble notify -n Pulse-Z1 2A37 --format u8 --count 2
              ble notify -n Pulse-Z1 2A37 --count 4 --keep
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The characteristics to subscribe to.", completion: .attributes, transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Flag(help: "Request indications from characteristics that both notify and indicate.")
    var indicate = false

    @Option(help: ValueFormat.help, completion: .list(ValueFormat.names), transform: ValueFormat.parse)
    var format: ValueFormat?

    @Flag(help: "Keep the device: wait for it, and connect again whenever the link is lost.")
    var keep = false

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    func run() async throws {
        guard keep else { return try await runOnDevice() }
        let command = self
        try await common.run("ble notify", isServer: true) { console in
            try command.common.validateDevice()
            _ = try await command.common.identity()
            let isSubscribed = Mutex(false)
            try await command.counted.upTo(command.runTime.duration) { results in
                try await command.common.keepingConnection(console, link: command.link.settings) {
                    let streams = try await command.streams(on: $0, console)
                    isSubscribed.withLock { $0 = true }
                    try await command.show(streams, results, console)
                }
            }
            guard !isSubscribed.withLock({ $0 }) else { return }
            throw ProgramError(.timedOut, "There was no subscription within the time limit.")
        }
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        guard !keep else { throw ProgramError(.usage, "--keep has no meaning for a step.") }
        let streams = try await streams(on: connection, console)
        try await counted.upTo(runTime.duration) { try await show(streams, $0, console) }
    }

    private typealias Streams = [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)]

    private func streams(on connection: Connection, _ console: Console) async throws -> Streams {
        try await connection.subscriptions(
            to: attributes, kind: indicate ? .indication : .automatic, format: format, common, console)
    }

    /// Prints the values until the link is lost or there were enough.
    private func show(_ streams: Streams, _ results: ResultCount, _ console: Console) async throws {
        // The first to end has received the last value or the end of the link.
        try await untilOneEnds(
            streams.map { attribute, decoder, values in
                {
                    for try await value in values {
                        let left = results.add()
                        if left >= 0 { try console.show(value, sentBy: attribute, decoder) }
                        if left <= 0 { return }
                    }
                }
            })
    }
}

extension Connection {
    /// Subscribes to the characteristics that match the selectors.
    func subscriptions(
        to selectors: [AttributeSelector], kind: SubscriptionKind, format: ValueFormat?, _ options: CommonOptions,
        _ console: Console
    ) async throws -> [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)] {
        var streams: [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)] = []
        let needed: CharacteristicProperties = [.notify, .indicate]
        let timeout = options.timeout(or: .seconds(30))
        for attribute in try await choose(selectors, needing: needed, needsDeclarations: true, options) {
            guard let characteristic = attribute.characteristic else {
                let command = await listing(options)
                throw ProgramError(
                    .protocolError, "\(attribute.title) is not a characteristic, so it cannot be subscribed to.",
                    remedy: attribute.handleHint ?? "List the device's characteristics with: \(command)")
            }
            let decoder = try await decoder(for: attribute, format: format, timeout: timeout)
            let stream = try await attribute.named {
                try await subscribe(to: characteristic, kind: kind, timeout: timeout)
            }
            streams.append((attribute, decoder, stream))
            console.detail("subscribed to \(attribute.title)")
        }
        return streams
    }
}

extension Console {
    func show(
        _ value: [UInt8], sentBy attribute: ChosenAttribute, _ decoder: ValueDecoder
    ) throws {
        try show(
            value, of: attribute, decoder,
            fields: [
                ("event", .string("notification")),
                ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
                ("handle", .integer(Int(attribute.attributeHandle.rawValue))),
            ], prefix: "\(time())  \(attribute.title)  ")
    }
}
