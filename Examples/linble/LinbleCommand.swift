import ArgumentParser
import ExampleSupport

/// Exchanges bytes with a LINBLE or another device with a UART over Bluetooth LE, or acts as one.
@main struct LinbleCommand: DeviceProgram {
    static let configuration = CommandConfiguration(
        commandName: "linble",
        abstract: "Exchange bytes with a LINBLE or another device with a UART over Bluetooth LE, or act as one.",
        discussion: """
            Select the device by its name (-n) or address (-a); without either, any device that is named \
            LINBLE-Z1 or advertises the profile's service is used. No daemon is needed. An adapter that is off is powered on, \
            unless you give --no-power-on.

            \(ExitStatus.help)

            EXAMPLES:
              linble demo --simulate
              linble -n LINBLE-Z1 exchange 0100
              linble terminal
              linble bridge --pty /tmp/ttyBLE
              linble serve
            """,
        version: "linble \(packageVersion)",
        subcommands: [
            ExchangeCommand.self, TerminalCommand.self, SendCommand.self, DemoCommand.self, BridgeCommand.self,
            LinbleServeCommand.self,
        ])

    // Declared here and in the subcommands, so that options may precede or follow the subcommand.
    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    static func main() async {
        prepareStandardStreams()
        await runProgram()
    }
}
