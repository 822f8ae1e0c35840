import CBenchmarkSupport
import Glibc

@main
enum Benchmarks {
    static let usage = """
        usage: Benchmarks [--json] [--check] [--quick] [--core N] [--group NAME]…

        Measures the library on one core and compares with the bare cost of its system calls in the same run.
          --json        print JSON instead of tables
          --check       end with status 1 when a goal is missed
          --quick       measure for a tenth of the time
          --core N      the core to run on (0)
          --group NAME  only the groups whose name contains NAME: advertising, scanning, codec, connection,
                        server, channel, idle
          --only TEXT   only the workloads whose name contains TEXT
        """

    static func main() async {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--json": options.printsJSON = true
            case "--check": options.checksGoals = true
            case "--quick":
                options.repetitionMilliseconds = 8
                options.repetitions = 5
                options.idleSeconds = 1
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
            let report = try await run(Harness(options: options))
            if options.printsJSON { print(report.json) }
            if options.checksGoals, !report.meetsGoals { exit(1) }
        } catch {
            print("\(error)")
            exit(70)
        }
    }

    /// Everything that is asked for. Not on the main actor, where every await would cost two thread switches.
    @concurrent
    private static func run(_ harness: Harness) async throws -> Report {
        var report = Report()
        func add(_ section: Report.Section) {
            var section = section
            section.measurements.removeAll { !$0.isMeasured }
            report.sections.append(section)
            if !harness.options.printsJSON { print(section.table) }
        }
        func wants(_ group: String) -> Bool {
            harness.options.groups.isEmpty || harness.options.groups.contains { group.contains($0) }
        }
        var all = harness.options
        all.only = ""
        let ceilings = try Ceilings(Harness(options: all))
        add(ceilings.section)
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
            let connections = try ConnectionBenchmarks(harness, ceilings)
            add(try await connections.reads())
            add(try await connections.streams())
            add(try await connections.discovery())
        }
        if wants("server") {
            add(try serverBenchmarks(harness))
            add(try await notifyingBenchmarks(harness, ceilings))
        }
        if wants("channel") { add(try await ChannelBenchmarks(harness, ceilings).throughput()) }
        if wants("idle") { add(try await idleBenchmarks(harness)) }
        return report
    }
}
