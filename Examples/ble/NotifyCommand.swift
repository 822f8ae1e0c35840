import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Subscribe to characteristics, and print the values that the device sends.",
        discussion: """
            \(AttributeSelector.help)

            Prints a line for each notification or indication as it arrives, until Ctrl-C, for --timeout seconds, or \
            until --count values have arrived. Fewer than --count values within --timeout are a failure.

            EXAMPLES:
              ble notify -n Pulse-Z1 2A37
              ble notify -n Pulse-Z1 2A37 2A1C --count 4 --json
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The characteristics to subscribe to.", transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Flag(help: "Request indications from characteristics that both notify and indicate.")
    var indicate = false

    @Option(help: "Exit after this number of values.")
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number above 0, not \(count).") }
    }

    func run() async throws {
        let (common, attributes, count) = (common, attributes, count)
        let kind = indicate ? SubscriptionKind.indication : .automatic
        try await common.run("ble notify") { console in
            try common.validateDevice()
            let limit = common.timeout.map { Duration.seconds($0) }
            try await common.withConnection(console) { connection in
                let chosen = try await connection.choose(attributes, needsDeclarations: true, timeout: .seconds(30))
                var streams: [(ChosenAttribute, BoundedStream<[UInt8]>)] = []
                for attribute in chosen {
                    guard let characteristic = attribute.characteristic else {
                        throw ProgramError(
                            .protocolError,
                            "\(attribute.title) is not a characteristic, so it cannot be subscribed to.",
                            remedy: "List the device's characteristics with: ble explore")
                    }
                    streams.append((attribute, try await connection.subscribe(to: characteristic, kind: kind)))
                    console.detail("subscribed to \(attribute.title)")
                }
                try await show(streams, count: count, limit: limit, console)
            }
        }
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
    _ streams: [(ChosenAttribute, BoundedStream<[UInt8]>)], count: Int?, limit: Duration?, _ console: Console
) async throws {
    let countdown = Countdown(count)
    let isDone = try await upTo(limit) {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (attribute, values) in streams {
                group.addTask {
                    for try await value in values {
                        let left = countdown.take()
                        if left >= 0 { console.show(value, sentBy: attribute) }
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
    fileprivate func show(_ value: [UInt8], sentBy attribute: ChosenAttribute) {
        guard isJSON else {
            return result(
                "\(messages.dim(timestamp()))  \(attribute.title)  "
                    + ValueText.describe(value, of: attribute.uuid, limit: nil))
        }
        result(
            [
                ("event", .string("notification")),
                ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
                ("handle", .integer(Int(attribute.attributeHandle.rawValue))),
            ] + valueFields(value, of: attribute.uuid))
    }
}
