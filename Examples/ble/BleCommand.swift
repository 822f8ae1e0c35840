import ArgumentParser
import ExampleSupport

/// Scans for Bluetooth LE devices, uses their attributes, and acts as a peripheral.
@main struct BleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Scan for Bluetooth LE devices, read and write their attributes, or be a peripheral.",
        discussion: """
            No daemon is needed; scanning powers the adapter on when it is off (--no-power-on leaves it).

            \(ExitStatus.help)

            EXAMPLES:
              ble doctor
              ble scan
              ble explore -n Pulse-Z1
              ble read -n Pulse-Z1 2A19
            """,
        version: "ble \(packageVersion)",
        subcommands: [
            ScanCommand.self, ExploreCommand.self, ReadCommand.self, WriteCommand.self, NotifyCommand.self,
            PairCommand.self, BondsCommand.self, RSSICommand.self, ParametersCommand.self, AdvertiseCommand.self,
            ServeCommand.self, AdaptersCommand.self, PowerCommand.self, DoctorCommand.self,
        ])

    // Declared here as well as in the subcommands, so that the options may stand on either side of the subcommand.
    @OptionGroup var common: CommonOptions

    static func main() async {
        prepareStandardStreams()
        await main(nil)
    }
}
