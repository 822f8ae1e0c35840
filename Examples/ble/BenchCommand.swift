import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

struct BenchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure a link: round trips, throughput in each direction, loss.",
        discussion: """
            The other machine runs: ble serve bench. MEASUREMENT is latency (round trips of a Write Request, of a \
            read, and of a Write Command with its echo), up (to the device, with Write Commands and Write Requests) or \
            down (from the device, with notifications and indications); by default, all of them. With any other \
            device, only the round trip of a read is measured.

            Each of the seven measurements ends after the time of --for (2 seconds) or after --count packets; with \
            both, at whichever comes first. Ctrl-C prints the measurements so far.

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
        completion: .list(BenchmarkGroup.allCases.map(\.rawValue)))
    var groups: [BenchmarkGroup] = []

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp("The time of each measurement, up to 1000000 (default: 2).", valueName: "seconds"))
    var seconds: Double?

    @Option(help: ArgumentHelp("The number of packets of each measurement.", valueName: "number"))
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "The size of a packet, 8 to ATT_MTU - 3 (default: 20 for latency, otherwise the maximum).",
            valueName: "bytes"))
    var size: Int?

    func validate() throws {
        try checkSeconds(seconds, "--for")
        if let count, !(1...1_000_000_000).contains(count) {
            throw ValidationError("--count takes a number from 1 to 1000000000, not \(count).")
        }
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
        let parsed = self
        try await common.run("ble bench") { console in
            var command = parsed
            command.common.name = BenchmarkService.deviceName
            let ready = command
            try await ready.common.withAdapter(
                console,
                visitedBy: { try await BenchServer(on: $0, nil).run(once: false) },
                { adapter in
                    try await ready.common.withConnection(
                        on: adapter, console, link: ready.link.settings, isOnLoop: true
                    ) {
                        try await ready.perform(on: $0, console)
                    }
                })
        }
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let timeout = common.timeout(or: .seconds(30))
        let measurements = BenchmarkMeasurement.allCases.filter { groups.isEmpty || groups.contains($0.group) }
        let progress = BenchmarkProgress(console)
        let run = BenchmarkRun(
            measurements: measurements, size: size,
            limit: BenchmarkLimit(
                count: count, duration: seconds.map { .seconds($0) } ?? (count == nil ? Self.usualTime : nil)),
            timeout: timeout, progress: { progress.show($0, $1, $2) })
        let database = try await connection.discover(timeout: timeout)
        let service = BenchmarkCharacteristics(in: database)
        guard service != nil || groups.isEmpty || groups.contains(.latency) else {
            throw ProgramError(
                .protocolError, "\(Self.missingService), which the measurements up and down need.", remedy: Self.remedy)
        }
        let before = try await MeasuredLink(of: connection)
        let display = BenchmarkDisplay(console)
        display.show(before)
        do {
            if let service {
                try await run.run(on: connection, with: service) { result in
                    progress.clear()
                    display.add(result)
                }
            } else {
                console.message("\(Self.missingService): only the round trip of a read is measured.\n\(Self.remedy)")
                try await run.run(on: connection, readingFrom: database) { result in
                    progress.clear()
                    display.add(result)
                }
            }
        } catch {
            progress.clear()
            display.end()
            throw error
        }
        display.end()
        display.show(try await MeasuredLink(of: connection), after: before)
        guard service != nil || groups.allSatisfy({ $0 == .latency }) else {
            throw ProgramError(.protocolError, "Only the round trip of a read was measured.", remedy: Self.remedy)
        }
    }

    private static let missingService = "The device has no benchmark service"
    private static let remedy = "For all measurements, run on the other machine: ble serve bench"
}

extension BenchmarkGroup: ExpressibleByArgument {}

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

/// A line on a terminal that shows the measurement in progress.
final class BenchmarkProgress: Sendable {
    private struct State {
        var line: StatusLine?
        var last: ContinuousClock.Instant?
    }

    private static let interval = Duration.milliseconds(100)
    private let state: Mutex<State>

    init(_ console: Console) {
        state = Mutex(State(line: console.messageLine()))
    }

    /// Shows the progress, at most ten times a second.
    func show(_ measurement: BenchmarkMeasurement, _ packets: Int, _ bytes: UInt64) {
        state.withLock { state in
            guard let line = state.line else { return }
            let now = ContinuousClock.now
            if let last = state.last, now - last < Self.interval { return }
            state.last = now
            line.show(shortened("\(measurement.rawValue)  \(packets) packets  \(bytes) bytes", toCells: line.width))
        }
    }

    func clear() { state.withLock { $0.line?.clear() } }
}
