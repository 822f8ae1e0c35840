#if canImport(BluetoothMainLoop)
    import BluetoothMainLoop
#endif
import CBenchmarkSupport
import Dispatch
import Glibc

@main
enum Benchmarks {
    static let usage = """
        usage: Benchmarks [--json | --summary] [--check] [--quick] [--plain] [--runs N] [--core N] [--operations N] [--group NAME]… [--only TEXT]

        Measures the library on one core and compares with the bare cost of its system calls in the same run.
          --json        print JSON instead of tables
          --summary     print the table of Docs/Performance.md instead
          --runs N      measure everything N times (1); the medians count
          --check       exit with 1 if a goal is missed (a time: by half, three times in a row)
          --quick       measure for a third of the time
          --plain       with a main actor that is not on the event loop
          --operations N
                        perform each operation N times, as Tests/Benchmarks/instructions needs it
          --core N      the core to run on (0)
          --group NAME  only the groups whose name contains NAME: advertising, scanning, codec, connection,
                        server, channel, corebluetooth, scale, gateway, main, idle
          --only TEXT   only the workloads whose name contains TEXT
        """

    static func main() {
        let isPlain = CommandLine.arguments.contains("--plain")
        #if canImport(BluetoothMainLoop)
            if !isPlain { runOnMainLoop { await run() } }
        #endif
        Task.detached {
            await run()
            exit(0)
        }
        if isPlain { dispatchMain() }
        // The main thread stays: programs such as valgrind do not survive its end.
        while true { pause() }
    }

    private static func run() async {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--json": options.output = .json
            case "--summary": options.output = .summary
            case "--runs": options.runs = max(1, arguments.popFirst().flatMap { Int($0) } ?? 1)
            case "--check": options.checksGoals = true
            case "--quick":
                options.repetitionMilliseconds = 4
                options.repetitions = 13
                options.idleSeconds = 1
            case "--operations":
                options.operations = arguments.popFirst().flatMap { Int($0) }
                options.repetitions = 1
            case "--plain": break
            case "--core": options.core = arguments.popFirst().flatMap { Int($0) } ?? 0
            case "--only": options.only = arguments.popFirst() ?? ""
            case "--group": options.groups.append(arguments.popFirst() ?? "")
            default:
                print(usage)
                exit(argument == "--help" || argument == "-h" ? 0 : 64)
            }
        }
        let pinned = benchmark_pin(CInt(options.core))
        guard pinned == 0 else {
            print("cannot run on core \(options.core): \(String(cString: strerror(pinned)))")
            exit(71)
        }
        do {
            var reports: [Report] = []
            for _ in 0..<options.runs { reports.append(try await run(Harness(options: options))) }
            let report = Report(mediansOf: reports)
            switch options.output {
            case .tables: for section in report.sections { print(section.table) }
            case .json: print(report.json)
            case .summary: print(report.summary)
            }
            if options.checksGoals {
                for name in report.missed { print("missed: \(name)") }
                if !report.missed.isEmpty { exit(1) }
            }
        } catch {
            print("\(error)")
            exit(70)
        }
    }

    /// Runs the selected benchmarks. Not on the main actor, where every await would cost two thread switches.
    @concurrent
    private static func run(_ harness: Harness) async throws -> Report {
        var report = Report()
        func add(_ section: Report.Section) {
            var section = section
            section.measurements.removeAll { !$0.isMeasured }
            report.sections.append(section)
        }
        func wants(_ group: String) -> Bool {
            harness.options.groups.isEmpty || harness.options.groups.contains { group.contains($0) }
        }
        add(try floorBenchmarks(harness))
        if wants("advertising") { add(try advertisingBenchmarks(harness)) }
        if wants("scanning") {
            add(try await scanBenchmarks(harness))
            add(try await resolvingBenchmarks(harness))
        }
        if wants("codec") {
            add(try decodingBenchmarks(harness))
            add(try encodingBenchmarks(harness))
        }
        if wants("connection") {
            let connections = try ConnectionBenchmarks(harness)
            add(try await connections.reads())
            add(try await connections.streams())
            add(try await connections.callbacks())
            add(try await connections.discovery())
        }
        if wants("server") {
            add(try serverBenchmarks(harness))
            add(try await notifyingBenchmarks(harness))
            add(try await servingBenchmarks(harness))
        }
        if wants("channel") { add(try await ChannelBenchmarks(harness).throughput()) }
        if wants("corebluetooth") { add(try await CoreBluetoothBenchmarks(harness).ratios()) }
        if wants("scale") { add(try await ScaleBenchmarks(harness).ratios()) }
        if wants("gateway") { add(try await gatewayBenchmarks(harness)) }
        if wants("main") { add(try await mainActorBenchmarks(harness)) }
        if wants("idle") { add(try await idleBenchmarks(harness)) }
        return report
    }
}
