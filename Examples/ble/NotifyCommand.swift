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
            until --count values have arrived; fewer than --count within --timeout are a failure.

            EXAMPLES:
              ble notify -n Pulse-Z1 2A37
              ble notify -n Pulse-Z1 2A37 2A1C --count 4 --json
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The characteristics to subscribe to.")
    var attributes: [AttributeSelector]

    @Flag(help: "Request indications if the characteristic has both notifications and indications.")
    var indicate = false

    @Option(help: "End after so many values.")
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number above 0.") }
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
                            .protocolError, "\(attribute.title) is no characteristic, so it cannot be subscribed to.",
                            remedy: "ble explore shows what the device has.")
                    }
                    streams.append((attribute, try await connection.subscribe(to: characteristic, kind: kind)))
                    console.detail("subscribed to \(attribute.title)")
                }
                try await show(streams, count: count, limit: limit, console)
            }
        }
    }
}

/// How many values are still wanted.
private final class Countdown: Sendable {
    private let remaining: Atomic<Int>

    init(_ count: Int?) {
        remaining = Atomic(count ?? .max)
    }

    /// Takes one off; what is left then, negative when nothing was.
    func take() -> Int { remaining.subtract(1, ordering: .relaxed).newValue }

    var left: Int { remaining.load(ordering: .relaxed) }
}

/// Prints what the streams bring, until there were `count` values or `limit` has passed.
private func show(
    _ streams: [(ChosenAttribute, BoundedStream<[UInt8]>)], count: Int?, limit: Duration?, _ console: Console
) async throws {
    let countdown = Countdown(count)
    let isDone = try await withTimeLimit(limit) {
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
            // The first that ends has seen the last value, or the end of the link.
            try await group.next()
            group.cancelAll()
        }
        return true
    }
    if isDone == nil, let count {
        throw ProgramError(
            .timedOut, "\(count - countdown.left) of \(count) values came within the time allowed.")
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
