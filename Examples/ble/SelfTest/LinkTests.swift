import BluetoothLE
import ExampleSupport
import LINBLE
import Synchronization

/// The tests of a link between two adapters: the first is the central, the other serves ``BenchmarkService``.
struct LinkTests: Sendable {
    let central: TestedAdapter
    let peripheral: TestedAdapter
    let link: TestedLink
    private let clock: BenchmarkClock

    /// The name that the peripheral advertises is that of the link.
    init(_ central: TestedAdapter, to peripheral: TestedAdapter, named name: String, clock: BenchmarkClock) {
        (self.central, self.peripheral, self.clock) = (central, peripheral, clock)
        link = TestedLink(from: central.adapter, to: peripheral.adapter, named: name)
    }

    func run(_ run: SelfTestRun) async throws {
        let (central, link, clock) = (central, link, clock)
        try await run.test("find", "finding the other adapter") {
            let start = clock.now()
            let found = try await central.adapter.firstAdvertisement { $0.localName == link.name }
            let time = clock.now() - start
            return SelfTestFigure(
                "in \(formatMilliseconds(time)), RSSI \(found.rssi.map { "\($0) dBm" } ?? "unknown")",
                [("time", milliseconds(time)), ("rssi", JSONValue(found.rssi.map { Int($0) }))])
        }
        guard try await run.test("connect", "connecting 3 times", limit: .seconds(60), { try await connect() }) else {
            let rest = Self.titles.drop { $0.0 != "discover" }.filter { $0.0 != "uart" }
            return run.skip(rest, "no link could be established")
        }
        try await run.test("discover", "discovery") {
            let database = try await link.connected().discover(cached: false, timeout: .seconds(20))
            _ = try service(in: database)
            let count = database.services.reduce(0) { $0 + $1.characteristics.count }
            return SelfTestFigure(
                "\(quantity(database.services.count, "service")), \(quantity(count, "characteristic"))")
        }
        try await runAttributes(run)
        try await runParameters(run)
        try await runPairing(run)
        try await runLoss(run)
        await link.close()
    }

    /// Tests a UART, for which the peripheral serves nothing else.
    func runUART(_ run: SelfTestRun) async throws {
        try await run.test("uart", "UART", limit: .seconds(45)) { try await exchangeOverUART() }
    }

    static let titles = [
        ("find", "finding the other adapter"), ("connect", "connecting 3 times"), ("discover", "discovery"),
        ("latency", "reads and writes"), ("up", "throughput to the other adapter"),
        ("down", "throughput from the other adapter"), ("phy", "LE 2M"), ("parameters", "connection parameters"),
        ("pair", "pairing"), ("encrypt", "encryption with the new keys"),
        ("loss", "loss of the other adapter's power"), ("return", "connecting again"), ("uart", "UART"),
    ]

    // MARK: Attributes

    private func connect() async throws -> SelfTestFigure {
        var times = DurationStatistics()
        for _ in 0..<3 {
            await link.close()
            let start = clock.now()
            _ = try await link.connected()
            times.add(clock.now() - start)
        }
        let mtu = try await link.connected().maximumTransmissionUnit
        return SelfTestFigure(
            "median \(formatMilliseconds(times.percentile(50))), longest "
                + "\(formatMilliseconds(times.maximum)), ATT_MTU \(mtu)",
            [
                ("median", milliseconds(times.percentile(50))),
                ("maximum", milliseconds(times.maximum)), ("mtu", .integer(mtu)),
            ])
    }

    private func runAttributes(_ run: SelfTestRun) async throws {
        let link = link
        try await run.test("latency", "reads and writes") {
            let connection = try await link.connected()
            let service = try service(in: try await connection.discover(timeout: .seconds(20)))
            var (writes, reads) = (DurationStatistics(), DurationStatistics())
            for run in UInt8(1)...20 {
                let start = clock.now()
                try await connection.write(
                    BenchmarkControl.receive(run: run).bytes, to: service.control, timeout: .seconds(10))
                let written = clock.now()
                let value = try await connection.read(service.control, timeout: .seconds(10))
                writes.add(written - start)
                reads.add(clock.now() - written)
                guard BenchmarkReport(value) == BenchmarkReport(run: run) else {
                    throw SelfTestObstacle.failed("a value came back changed: \(value.hexadecimal)")
                }
            }
            let figures = [("write request", writes), ("read", reads)].map { ($0, $1.percentile(50)) }
            return SelfTestFigure(
                figures.map { "\($0) \(formatMilliseconds($1))" }.joined(separator: ", "),
                figures.map { ($0, milliseconds($1)) })
        }
        for (test, measurement) in [("up", BenchmarkMeasurement.up), ("down", .down)] {
            let title = "throughput \(test == "up" ? "to" : "from") the other adapter"
            try await run.test(test, title) {
                guard case .throughput(let result)? = try await measure(measurement), let rate = result.rate else {
                    throw SelfTestObstacle.failed("nothing was received")
                }
                let parameters = try await link.connected().parameters
                let figure = SelfTestFigure(
                    formatRate(rate)
                        + (parameters.map { " at an interval of \(formatMilliseconds($0.interval))" } ?? ""),
                    [("bytesPerSecond", .number(rate.rounded())), ("lost", JSONValue(result.lost))])
                if let lost = result.lost, lost > 0 {
                    throw SelfTestObstacle.failed("\(quantity(lost, "packet")) lost", figure: figure)
                }
                if let corrupted = result.counts?.corrupted, corrupted > 0 {
                    throw SelfTestObstacle.failed("\(quantity(corrupted, "packet")) changed", figure: figure)
                }
                return figure
            }
        }
    }

    private func service(in database: RemoteDatabase) throws -> BenchmarkCharacteristics {
        guard let service = BenchmarkCharacteristics(in: database) else {
            throw SelfTestObstacle.failed("the published services were not found")
        }
        return service
    }

    private func measure(_ measurement: BenchmarkMeasurement) async throws -> BenchmarkRun.Result? {
        let connection = try await link.connected()
        let database = try await connection.discover(timeout: .seconds(20))
        let run = BenchmarkRun(
            measurements: [measurement], limit: BenchmarkLimit(duration: .milliseconds(500)), timeout: .seconds(10),
            clock: clock)
        return try await central.adapter.run {
            var result: BenchmarkRun.Result?
            try await run.run(on: connection, database) { result = $0 }
            return result
        }
    }

    private func runParameters(_ run: SelfTestRun) async throws {
        let (central, peripheral, link) = (central, peripheral, link)
        try await run.test("phy", "LE 2M") {
            for tested in [central, peripheral] where !tested.supports("LE 2M PHY") {
                throw SelfTestObstacle.notSupported("\(tested.name) has no LE 2M")
            }
            let phys = try await link.connected().setPHYs(transmit: .le2M, receive: .le2M, timeout: .seconds(10))
            guard phys.transmit == .le2M, phys.receive == .le2M else {
                throw SelfTestObstacle.failed("the link has \(phys.transmit) and \(phys.receive)")
            }
            return SelfTestFigure("in both directions")
        }
        try await run.test("parameters", "connection parameters") {
            let wanted = ConnectionParameterRequest(interval: .milliseconds(15)...(.milliseconds(15)))
            let parameters = try await link.connected().requestParameters(wanted, timeout: .seconds(10))
            guard parameters.interval == .milliseconds(15) else {
                throw SelfTestObstacle.failed("the interval is \(formatMilliseconds(parameters.interval))")
            }
            return SelfTestFigure("an interval of 15 ms")
        }
    }

    // MARK: Security

    private func runPairing(_ run: SelfTestRun) async throws {
        let (central, peripheral, link, clock) = (central, peripheral, link, clock)
        let isPaired = try await run.test("pair", "pairing", limit: .seconds(60)) {
            let identity = peripheral.adapter.information.address
            guard await central.adapter.bond(with: identity) == nil else {
                throw SelfTestObstacle.notRun(
                    "the adapters are already bonded", remedy: "Remove the bond: ble bonds remove \(identity.digits)")
            }
            let agent = JustWorksPairingAgent()
            try await peripheral.adapter.setPairingAgent(agent)
            try await central.adapter.setPairingAgent(agent)
            let start = clock.now()
            let outcome = try await link.connected().pair(timeout: .seconds(30))
            let time = clock.now() - start
            return SelfTestFigure(
                "\(outcome.security) in \(formatMilliseconds(time))" + (outcome.isBonded ? ", bonded" : ""),
                [("time", milliseconds(time))])
        }
        guard run.isSelected("pair") else { return }
        guard isPaired else { return run.skip([("encrypt", "encryption with the new keys")], "pairing has not passed") }
        try await run.test("encrypt", "encryption with the new keys") {
            await link.close()
            let connection = try await link.connected()
            let start = clock.now()
            try await connection.raiseSecurity(to: .medium, timeout: .seconds(15))
            let time = clock.now() - start
            return SelfTestFigure("in \(formatMilliseconds(time))", [("time", milliseconds(time))])
        }
    }

    // MARK: UART

    private func exchangeOverUART() async throws -> SelfTestFigure {
        let (central, peripheral, clock) = (central.adapter, peripheral.adapter, clock)
        let name = SelfTest.newName()
        let bytes = (0..<16_384).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        return try await firstResult(of: [
            {
                try await UARTServer.run(on: peripheral, options: UARTServerOptions(name: name)) { peer in
                    while let bytes = try await peer.read() { try await peer.send(bytes) }
                }
                return nil
            },
            {
                let uart = try await UARTConnection.open(.name(name), on: central)
                let time = try await finishing {
                    try await Self.echo(bytes, over: uart, clock)
                } then: {
                    await uart.disconnect(timeout: .zero)
                }
                let rate = Double(2 * bytes.count) / (time / .seconds(1))
                return SelfTestFigure(
                    "16 KiB there and back in \(formatMilliseconds(time)), \(formatRate(rate))",
                    [("time", milliseconds(time)), ("bytesPerSecond", .number(rate.rounded()))])
            },
        ])
    }

    private static func echo(_ bytes: [UInt8], over uart: UARTConnection, _ clock: BenchmarkClock) async throws
        -> Duration
    {
        let start = clock.now()
        async let sent: Void = uart.send(bytes)
        var received: [UInt8] = []
        while received.count < bytes.count, let next = try await uart.read(timeout: .seconds(10)) { received += next }
        try await sent
        guard received == bytes else {
            throw SelfTestObstacle.failed("\(quantity(received.count, "byte")) came back, or their content differed")
        }
        return clock.now() - start
    }

    // MARK: Loss

    private func runLoss(_ run: SelfTestRun) async throws {
        let (peripheral, link, clock) = (peripheral, link, clock)
        try await run.test("loss", "loss of the other adapter's power") {
            try peripheral.checkNobodyElse()
            let connection = try await link.connected()
            let start = clock.now()
            try await peripheral.adapter.setPowered(false)
            let reason = await connection.disconnected()
            try Task.checkCancellation()
            let time = clock.now() - start
            return SelfTestFigure(
                "noticed after \(formatMilliseconds(time))" + (reason.disconnectReason.map { ", \($0.words)" } ?? ""),
                [("time", milliseconds(time))])
        }
        try await run.test("return", "connecting again") {
            await link.close()
            if !peripheral.adapter.state.isReady { try await peripheral.adapter.setPowered(true) }
            let start = clock.now()
            _ = try await link.connected()
            return SelfTestFigure("in \(formatMilliseconds(clock.now() - start))")
        }
    }
}

/// A link that is made when a test needs one, and again when it was lost.
actor TestedLink {
    nonisolated let name: String
    private let adapter: Adapter
    private let other: Adapter
    private var connection: Connection?

    init(from adapter: Adapter, to other: Adapter, named name: String) {
        (self.adapter, self.other, self.name) = (adapter, other, name)
    }

    func connected() async throws -> Connection {
        if let connection, await connection.isConnected { return connection }
        let options = ConnectionOptions(timeout: .seconds(15))
        let information = other.information
        let name = name
        // Without a scan where possible, which is tested apart.
        let made =
            information.usesPrivateAddresses
            ? try await adapter.connect(options: options) { $0.localName == name }
            : try await adapter.connect(to: information.address, options: options)
        connection = made
        return made
    }

    func close() async {
        await connection?.disconnect()
        connection = nil
    }
}
