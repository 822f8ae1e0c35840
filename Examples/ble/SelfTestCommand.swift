import ArgumentParser
import BluetoothLE
import BluetoothSimulation
import ExampleSupport

/// The scope of `selftest`.
enum SelfTestScope: OptionScope {
    static let groups: OptionGroups = [.opening, .bonds, .trace]
    static let insteadOfTimeout: String? = nil
}

struct SelfTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "selftest", abstract: "Test an adapter, or a link between two adapters of this machine.",
        discussion: """
            Tests what an adapter's controller reports about itself, and what it does: responses, scans, advertising, \
            power. With --with, also tests a link to a second adapter of this machine: connecting, attributes, \
            throughput, parameters, pairing, a UART, the loss of power. A failed test does not prevent the next; each \
            has a time limit. Takes 10 to 40 seconds.

            Needs CAP_NET_RAW and CAP_NET_ADMIN; leaves the links of other programs alone. Everything that it changes is \
            restored at the end, even after Ctrl-C: power, LE, pairing settings, keys; bonds are not stored. A second \
            Ctrl-C restores what it can within seconds, and reports the rest with the commands that restore it.

            --report writes a report without addresses and names, for a hardware list. Exits with 0 only if no test \
            has failed.

            --only runs some of the tests: \(Self.names.joined(separator: ", ")).

            EXAMPLES:
              ble selftest
              ble selftest --only scan.active power
              ble selftest --with hci1 --report report.json
            """)

    @OptionGroup var scoped: ScopedOptions<SelfTestScope>

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp("A second adapter to exchange data with: hci1, 1 or its address."),
        completion: .adapters)
    var other: String?

    @Option(
        parsing: .upToNextOption, help: ArgumentHelp("Run only these tests.", valueName: "test"),
        completion: .list(Self.names))
    var only: [String] = []

    private static let names = (AdapterTests.titles + LinkTests.titles).map(\.0)

    @Option(
        help: ArgumentHelp("Write a report to this new file, or with --force to an existing one.", valueName: "file"),
        completion: .file())
    var report: String?

    func validate() throws {
        if scoped.common.privacy != nil { throw ValidationError("--privacy has no meaning for this command.") }
        if let unknown = only.first(where: { !Self.names.contains($0) }) {
            throw ValidationError(
                "'\(unknown)' is not a test.\(Suggestion.question(for: unknown, among: Self.names)) The tests are "
                    + "\(Self.names.joined(separator: ", ")).")
        }
        if other == nil, let test = only.first(where: { name in LinkTests.titles.contains { $0.0 == name } }) {
            throw ValidationError("The test \(test) needs a second adapter: --with hciN.")
        }
        guard let other else { return }
        guard let selector = AdapterSelector(other) else {
            throw ValidationError("--with takes hci1, 1 or an address, not '\(other)'.")
        }
        if let own = scoped.common.adapter, AdapterSelector(own) == selector {
            throw ValidationError("-i and --with name the same adapter, \(own). A link needs two.")
        }
    }

    func run() async throws {
        let (common, other, report, only) = (scoped.common, other, report, only)
        try await common.run("ble selftest", writing: [report]) { console in
            let file = try report.map { try NewFile($0, replacesExisting: common.force) }
            let kernel = try common.makeKernel(adapterCount: other == nil ? 1 : 2)
            let (own, second) = try choose(
                common.adapter.flatMap { AdapterSelector($0) }, with: other.flatMap { AdapterSelector($0) },
                among: try await Adapter.all(on: kernel))
            let run = SelfTestRun(console, only: only.isEmpty ? nil : Set(only))
            let adapters = try await common.withTrace(console, on: kernel) { trace in
                do {
                    return try await SelfTest(common: common, kernel: kernel, console: console, trace: trace)
                        .run(run, on: own, with: second)
                } catch {
                    if !run.results.isEmpty { run.show() }
                    throw error
                }
            }
            run.show()
            try file?.write(SelfTestReport(adapters, run.results, isSimulated: kernel != nil).bytes)
            guard run.count(.failed) == 0 else { throw ExitCode(ExitStatus.failure.rawValue) }
        }
    }
}

/// The adapter to test, and the one to exchange data with.
private func choose(
    _ own: AdapterSelector?, with other: AdapterSelector?, among adapters: [AdapterInformation]
) throws -> (AdapterInformation, AdapterInformation?) {
    func find(_ selector: AdapterSelector) throws -> AdapterInformation {
        guard let found = adapters.first(where: { selector.matches($0) }) else {
            throw ProgramError.noAdapter(selector)
        }
        return found
    }
    let second = try other.map { try find($0) }
    if let own {
        let first = try find(own)
        guard first.id != second?.id else {
            throw ProgramError(.usage, "-i and --with name the same adapter, \(first.name). A link needs two.")
        }
        return (first, second)
    }
    let rest = adapters.filter { $0.id != second?.id }
    // As when an adapter is opened: one that is on comes first.
    guard let first = rest.first(where: { $0.state.isReady }) ?? rest.first else {
        throw ProgramError(
            .noBluetooth, adapters.isEmpty ? "No Bluetooth adapter found." : "There is no second adapter.",
            remedy: adapters.isEmpty
                ? "Look for what is missing with: ble doctor" : "List the adapters with: ble adapters")
    }
    return (first, second)
}
