import ArgumentParser
import BluetoothJSON
import ExampleSupport

/// Writes the manual pages of a program that uses ArgumentParser.
@main struct ManualPagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ManualPages", abstract: "Write the manual pages of a program of this package.",
        discussion: """
            Reads the program's description of itself from standard input:

              ble --experimental-dump-help | ManualPages --date 2026-01-31 DIRECTORY
            """)

    @Option(help: ArgumentHelp("The date of the pages.", valueName: "YYYY-MM-DD"))
    var date: String

    @Argument(help: "The existing directory to write ble.1, ble-scan.1 and so on into.", completion: .directory)
    var directory: String

    func run() async throws {
        let description = try JSONValue(reading: try await contents(of: "-", limit: 64 << 20))
        guard let program = CommandDescription(dumpedHelp: description) else {
            throw ValidationError("Standard input is not the output of a program with --experimental-dump-help.")
        }
        for page in Manual(program: program, date: date, source: "swift-bluetooth-le \(packageVersion)").pages {
            let file = try NewFile("\(directory)/\(page.name)", replacesExisting: true)
            try file.write(Array(page.text.utf8), mode: 0o666)
        }
    }
}
