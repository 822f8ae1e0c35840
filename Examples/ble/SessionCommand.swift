import ArgumentParser
import BluetoothLE
import ExampleSupport

/// The steps of `ble exec` and `ble shell`: those that work on a link, and those that make and end it.
struct SessionCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble", abstract: "Work with a device step by step, on one link.",
        subcommands: [
            ConnectStep.self, DisconnectStep.self, ExploreCommand.self, ReadCommand.self, WriteCommand.self,
            NotifyCommand.self, SubscribeStep.self, UnsubscribeStep.self, PairCommand.self, RSSICommand.self,
            ParametersCommand.self, BenchCommand.self, ScanCommand.self, SleepStep.self, ExitStep.self,
        ])

    /// The names of the steps, with other names for them.
    static let names = configuration.subcommands.flatMap { [$0._commandName] + $0.configuration.aliases }

    /// The list of the steps.
    static var overview: String {
        var table = Table([.init("STEP"), .init("")])
        for step in configuration.subcommands { table.add([step._commandName, step.configuration.abstract]) }
        return (table.lines + ["List the options of a step with: help STEP"]).joined(separator: "\n")
    }
}

/// A command that a session runs as a step.
protocol StepCommand: AsyncParsableCommand, Sendable {}

extension StepCommand {
    /// The common options of a step; nil if it has none.
    var options: CommonOptions? {
        switch self {
        case let command as any DeviceCommand: command.common
        case let command as ConnectStep: command.common
        case let command as ScanCommand: command.scoped.common
        default: nil
        }
    }
}

/// A command that only a session has. On its own it cannot run.
protocol SessionStep: StepCommand {}

extension SessionStep {
    func run() async throws {
        throw ValidationError("\(Self._commandName) is a step of ble exec and ble shell.")
    }
}

struct ConnectStep: SessionStep {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Connect to a device, which the following steps use.",
        discussion:
            "Without a name or an address, the device is that of the command line, or the one connected to before.")

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The device's name or address, as with -n or -a.")
    var device: String?
}

struct DisconnectStep: SessionStep {
    static let configuration = CommandConfiguration(commandName: "disconnect", abstract: "End the link.")
}

struct SubscribeStep: SessionStep {
    static let configuration = CommandConfiguration(
        commandName: "subscribe", abstract: "Print the values of characteristics while the next steps run.",
        discussion: "\(AttributeSelector.help)")

    @Argument(help: "The characteristics to subscribe to.", completion: .attributes, transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Flag(help: "Request indications from characteristics that both notify and indicate.")
    var indicate = false

    @Option(help: ValueFormat.help, completion: .list(ValueFormat.names), transform: ValueFormat.parse)
    var format: ValueFormat?
}

struct UnsubscribeStep: SessionStep {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe", abstract: "End subscriptions: all, or those to the given characteristics.")

    @Argument(help: "The characteristics.", completion: .attributes, transform: AttributeSelector.parse)
    var attributes: [AttributeSelector] = []
}

struct SleepStep: SessionStep {
    static let configuration = CommandConfiguration(
        commandName: "sleep", abstract: "Wait, while subscribed values are printed.")

    @Argument(help: ArgumentHelp("The time, such as 2.5; up to 1000000.", valueName: "seconds"))
    var seconds: Double

    func validate() throws {
        try checkRange(seconds, 0...1_000_000, "sleep", " seconds")
    }
}

struct ExitStep: SessionStep {
    static let configuration = CommandConfiguration(
        commandName: "exit", abstract: "End the link, and exit.", aliases: ["quit"])
}
