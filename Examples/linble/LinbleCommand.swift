import ArgumentParser
import ExampleSupport

/// Talks to a LINBLE, or to another device with a UART over Bluetooth, or is one.
@main struct LinbleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "linble",
        abstract: "Exchange bytes with a LINBLE or another device with a UART over Bluetooth LE, or be one.",
        discussion: """
            The device is found by its name (-n), its address (-a), or, without either, by the name LINBLE-Z1 or its \
            service. No daemon is needed; the adapter is powered on when it is off (--no-power-on leaves it).

            \(ExitStatus.help)

            EXAMPLES:
              linble demo --simulate
              linble -n LINBLE-Z1 exchange 0100
              linble terminal
              linble serve
            """,
        version: "linble \(packageVersion)",
        subcommands: [
            ExchangeCommand.self, TerminalCommand.self, SendCommand.self, DemoCommand.self, ServeCommand.self,
        ])

    // Declared here as well as in the subcommands, so that the options may stand on either side of the subcommand.
    @OptionGroup var common: CommonOptions
    @OptionGroup var uart: UARTProgramOptions

    static func main() async {
        prepareStandardStreams()
        await main(nil)
    }
}
