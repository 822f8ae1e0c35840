import ArgumentParser
import ExampleSupport

/// Scans for Bluetooth LE devices, accesses their attributes, and acts as a peripheral.
@main struct BleCommand: DeviceProgram {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Scan for Bluetooth LE devices, read and write their attributes, or act as a peripheral.",
        discussion: """
            No daemon is needed. An adapter that is off is powered on, unless you give --no-power-on.

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
            RecordCommand.self, PairCommand.self, OutOfBandCommand.self, BondsCommand.self, RSSICommand.self,
            ParametersCommand.self, BenchCommand.self, UpdateCommand.self, AdvertiseCommand.self, ServeCommand.self,
            ExecCommand.self,
            ShellCommand.self, AdaptersCommand.self, PowerCommand.self, DoctorCommand.self, SelfTestCommand.self,
            DecodeCommand.self,
        ])

    // Declared here and in the subcommands, so that options may precede or follow the subcommand.
    @OptionGroup var common: CommonOptions

    static func main() async {
        prepareStandardStreams()
        await runProgram()
    }
}
