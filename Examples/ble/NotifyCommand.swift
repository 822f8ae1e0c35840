import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

struct NotifyCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Subscribe to characteristics, and print the values that the device sends.",
        discussion: """
            \(AttributeSelector.help)

            Prints a line for each notification or indication as it arrives, until Ctrl-C, for the time of --for, or \
            until --count values have arrived. It is a failure if fewer than --count values arrive within the time of \
            --for.

            EXAMPLES:
              ble notify -n Pulse-Z1 2A37
              ble notify -n Pulse-Z1 2A37 2A1C --count 4 --json
              ble notify -n Pulse-Z1 2A37 --format u8 --count 2
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The characteristics to subscribe to.", transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Flag(help: "Request indications from characteristics that both notify and indicate.")
    var indicate = false

    @Option(help: ValueFormat.help, transform: ValueFormat.parse)
    var format: ValueFormat?

    @Option(help: "Exit after this number of values.")
    var count: Int?

    @OptionGroup var runTime: RunTimeOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number above 0, not \(count).") }
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let kind = indicate ? SubscriptionKind.indication : .automatic
        let streams = try await connection.subscriptions(
            to: attributes, kind: kind, format: format, timeout: common.timeout(or: .seconds(30)), console)
        try await show(streams, count: count, limit: runTime.duration, console)
    }
}

extension Connection {
    /// Subscribes to the characteristics that match the selectors.
    func subscriptions(
        to selectors: [AttributeSelector], kind: SubscriptionKind, format: ValueFormat?, timeout: Duration,
        _ console: Console
    ) async throws -> [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)] {
        var streams: [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)] = []
        for attribute in try await choose(selectors, needsDeclarations: true, timeout: timeout) {
            guard let characteristic = attribute.characteristic else {
                throw ProgramError(
                    .protocolError, "\(attribute.title) is not a characteristic, so it cannot be subscribed to.",
                    remedy: "List the device's characteristics with: ble explore")
            }
            let decoder = try await decoder(for: attribute, format: format, timeout: timeout)
            streams.append((attribute, decoder, try await subscribe(to: characteristic, kind: kind, timeout: timeout)))
            console.detail("subscribed to \(attribute.title)")
        }
        return streams
    }
}

/// The number of values still to be printed.
private final class Countdown: Sendable {
    private let remaining: Atomic<Int>

    init(_ count: Int?) {
        remaining = Atomic(count ?? .max)
    }

    /// Decrements the count and returns it; negative if it was 0.
    func take() -> Int { remaining.subtract(1, ordering: .relaxed).newValue }

    var left: Int { remaining.load(ordering: .relaxed) }
}

/// Prints the streams' values until there were `count` of them or `limit` has passed.
private func show(
    _ streams: [(ChosenAttribute, ValueDecoder, BoundedStream<[UInt8]>)], count: Int?, limit: Duration?,
    _ console: Console
) async throws {
    let countdown = Countdown(count)
    let isDone = try await upTo(limit) {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (attribute, decoder, values) in streams {
                group.addTask {
                    for try await value in values {
                        let left = countdown.take()
                        if left >= 0 { try console.show(value, sentBy: attribute, decoder) }
                        if left <= 0 { return }
                    }
                }
            }
            // The first to end has received the last value or the end of the link.
            try await group.next()
            group.cancelAll()
        }
        return true
    }
    if isDone == nil, let count {
        throw ProgramError(
            .timedOut, "Only \(count - countdown.left) of \(count) values arrived within the time limit.")
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
            ], prefix: "\(messages.dim(timestamp()))  \(attribute.title)  ")
    }
}
