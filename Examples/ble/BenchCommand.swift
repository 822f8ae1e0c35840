import ArgumentParser
import BluetoothLE
import ExampleSupport

struct BenchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure a link: round trips, throughput in each direction, loss.",
        discussion: """
            The other machine runs: ble serve bench. MEASUREMENT is latency (the round trip of a read), up \
            (throughput to the device, with Write Commands) or down (from the device, with notifications); by default, \
            all of them. With any other device, only the latency is measured.

            Each measurement ends after the time of --for (2 seconds) or after --count packets, whichever comes first. \
            Ctrl-C prints the measurements so far.

            EXAMPLES:
              ble bench -n Bench
              ble bench -n Bench up down --size 20 --for 0.5 --json
            """)

    static var isOnLoop: Bool { true }
    private static let usualTime = Duration.seconds(2)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(
        help: ArgumentHelp("latency, up or down.", valueName: "measurement"),
        completion: .list(BenchmarkMeasurement.allCases.map(\.rawValue)))
    var chosen: [BenchmarkMeasurement] = []

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp("The time of each measurement, up to 1000000 (default: 2).", valueName: "seconds"))
    var seconds: Double?

    @Option(help: ArgumentHelp("The number of packets of each measurement, such as 100.", valueName: "number"))
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "The size of a packet of up and down, 8 to ATT_MTU - 3 (default: the maximum).",
            valueName: "bytes"))
    var size: Int?

    func validate() throws {
        try checkSeconds(seconds, "--for")
        try checkRange(count, 1...1_000_000_000, "--count", " packets")
        let sizes = BenchmarkPacket.leastSize...BenchmarkPacket.greatestSize
        if let size, !sizes.contains(size) {
            throw ValidationError(
                "--size takes \(sizes.lowerBound) to \(sizes.upperBound) bytes, and at most ATT_MTU - 3, not \(size).")
        }
    }

    func run() async throws {
        let isServed = BenchmarkService.deviceName.lowercased().contains((common.name ?? "").lowercased())
        guard common.simulate, isServed || common.name == nil, common.address == nil
        else { return try await runOnDevice() }
        // The other machine is simulated as well.
        var command = self
        command.common.name = BenchmarkService.deviceName
        let ready = command
        try await common.run("ble bench") { console in
            try await ready.common.withAdapter(
                console, visitedBy: { try await BenchServer(on: $0, nil).run(once: false) }
            ) { adapter in
                try await ready.common.withConnection(
                    on: adapter, console, link: ready.link.settings, isOnLoop: true
                ) {
                    try await ready.perform(on: $0, console)
                }
            }
        }
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let timeout = common.timeout(or: .seconds(30))
        let measurements = BenchmarkMeasurement.allCases.filter { chosen.isEmpty || chosen.contains($0) }
        let run = BenchmarkRun(
            measurements: measurements, size: size,
            limit: BenchmarkLimit(
                count: count, duration: seconds.map { .seconds($0) } ?? (count == nil ? Self.usualTime : nil)),
            timeout: timeout)
        let database = try await connection.discover(timeout: timeout)
        let isServed = BenchmarkCharacteristics(in: database) != nil
        guard isServed || measurements.contains(.latency) else {
            throw ProgramError(
                .protocolError, "\(Self.missingService), which the measurements up and down need.", remedy: Self.remedy)
        }
        let before = try await MeasuredLink(of: connection)
        let display = BenchmarkDisplay(console)
        display.show(before)
        do {
            defer { display.end() }
            if !isServed {
                console.message("\(Self.missingService): only the round trip of a read is measured.\n\(Self.remedy)")
            }
            try await run.run(on: connection, database, progress: display.show) { display.add($0) }
        }
        display.show(try await MeasuredLink(of: connection), after: before)
        guard isServed || chosen.allSatisfy({ $0 == .latency }) else {
            throw ProgramError(.protocolError, "Only the round trip of a read was measured.", remedy: Self.remedy)
        }
    }

    private static let missingService = "The device has no benchmark service"
    private static let remedy = "For all measurements, run on the other machine: ble serve bench"
}

/// The parameters of a link, and its RSSI if the controller reports it.
struct MeasuredLink: Equatable, Sendable {
    let state: LinkState
    let rssi: Int?

    init(of connection: Connection) async throws {
        state = try await LinkState(of: connection)
        do throws(BluetoothError) {
            rssi = try await connection.rssi()
        } catch {
            guard [.unsupported, .notPermitted].contains(error.code) else { throw error }
            rssi = nil
        }
    }
}
