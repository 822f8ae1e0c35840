import ArgumentParser
import BluetoothLE
import ExampleSupport

struct RSSICommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "rssi", abstract: "Show the RSSI of a link.",
        discussion: """
            Needs no privilege with -a and --address-type, which make a scan unnecessary. \(AdapterOptions.several)

            EXAMPLES:
              ble rssi -n Pulse-Z1
              ble rssi -a C0:98:E5:12:34:58 --address-type random --watch
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Flag(help: "Print the RSSI every second, until Ctrl-C or for the time of --for.")
    var watch = false

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    func perform(on connection: Connection, _ console: Console) async throws {
        guard watch || runTime.duration != nil || counted.count != nil else {
            let strength = try await connection.rssi()
            return console.result("rssi", "\(strength) dBm", [("rssi", .integer(strength))])
        }
        try await counted.upTo(runTime.duration) { try await follow(connection, $0, console) }
    }
}

/// Prints a line every second; on a terminal, a single line with a graph of the previous values.
private func follow(_ connection: Connection, _ results: ResultCount, _ console: Console) async throws {
    var strengths: [Double] = []
    let line = console.statusLine()
    while true {
        let strength = try await connection.rssi()
        let text = "\(strength) dBm  "
        strengths = (strengths + [Double(strength)]).suffix(max(1, min(40, line.width - text.count)))
        if console.output.isTerminal, !console.isJSON {
            line.show(text + sparkline(strengths, in: signalStrengths))
        } else {
            console.result("rssi", "\(console.time())  \(strength) dBm", [("rssi", .integer(strength))])
        }
        if results.add() == 0 { return }
        try await Task.sleep(for: .seconds(1))
    }
}
