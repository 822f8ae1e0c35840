import BluetoothLE
import ExampleSupport

/// The tests of one adapter.
struct AdapterTests: Sendable {
    let tested: TestedAdapter
    /// Whether another adapter of the test advertises meanwhile.
    let isHeardFor: Bool
    let clock: BenchmarkClock

    private static let scanTime = Duration.seconds(2)
    private static let mostSets = 32

    private var adapter: Adapter { tested.adapter }

    /// Reads what the controller reports of itself, and measures how fast it answers.
    func runController(_ run: SelfTestRun, as test: String) async throws {
        let (tested, adapter, clock) = (tested, adapter, clock)
        try await run.test(test, "controller of \(tested.name)", limit: .seconds(60)) {
            let properties = try await tested.readProperties()
            return SelfTestFigure(
                "Bluetooth \(adapter.information.versionName), \(properties.manufacturer), "
                    + "\(properties.supportedCommandCount) commands, \(properties.featureNames.count) LE features",
                [
                    ("commands", .integer(properties.supportedCommandCount)),
                    ("features", .integer(properties.featureNames.count)),
                ])
        }
        try await run.test(test + ".answers", "answers of \(tested.name)") {
            var times = DurationStatistics()
            for _ in 0..<20 {
                let start = clock.now()
                guard try await adapter.checkHealth() == .good else {
                    throw SelfTestObstacle.failed("the controller does not answer a command within 5 s")
                }
                times.add(clock.now() - start)
            }
            return SelfTestFigure(
                "median \(formatMilliseconds(times.percentile(50))), "
                    + "longest \(formatMilliseconds(times.maximum)) for a command",
                [("median", milliseconds(times.percentile(50)))])
        }
    }

    /// Scans, and advertises alone.
    func runRadio(_ run: SelfTestRun) async throws {
        let (adapter, clock) = (adapter, clock)
        for isActive in [false, true] {
            let name = isActive ? "active" : "passive"
            try await run.test("scan.\(name)", "\(name) scan") { try await scan(isActive: isActive) }
        }
        try await run.test("scan.restart", "starting and ending a scan") { try await restartScan() }
        try await run.test("advertise", "advertising") {
            let content = AdvertisementContent(localName: SelfTest.newName())
            return try await adapter.withAdvertising(content) { set in
                guard await clock.sleep(for: .milliseconds(300)) else { throw CancellationError() }
                guard set.state == .advertising else { throw SelfTestObstacle.failed("\(set.state)") }
                let power = set.transmitPower
                return SelfTestFigure(
                    power.map { "at \($0) dBm" } ?? "at an unknown power", [("transmitPower", JSONValue(power))])
            }
        }
        try await run.test("advertise.extended", "extended advertising") {
            guard tested.supports("LE Extended Advertising") else {
                throw SelfTestObstacle.notSupported("the controller has no extended advertising")
            }
            let data = [UInt8](repeating: 0x5A, count: 200)
            let content = AdvertisementContent(manufacturerData: [ManufacturerData(company: 0xFFFF, data: data)])
            let options = AdvertisingOptions(kind: .nonConnectable, format: .extended(.le1M))
            return try await adapter.withAdvertising(content, options: options) { _ in
                SelfTestFigure("with 200 bytes of data")
            }
        }
        try await run.test("advertise.sets", "advertising sets at a time") { try await countSets() }
        try await run.test("scan.advertising", "scanning while advertising") {
            try await adapter.withAdvertising(AdvertisementContent(localName: SelfTest.newName())) { _ in
                try await scan(isActive: true)
            }
        }
    }

    /// Powers the adapter off and on.
    func runPower(_ run: SelfTestRun) async throws {
        let (tested, adapter, clock) = (tested, adapter, clock)
        try await run.test("power", "power off and on") {
            try tested.checkNobodyElse()
            let start = clock.now()
            try await adapter.setPowered(false)
            let middle = clock.now()
            try await adapter.setPowered(true)
            let end = clock.now()
            _ = try await adapter.checkHealth()
            return SelfTestFigure(
                "off in \(formatMilliseconds(middle - start)), on in \(formatMilliseconds(end - middle))",
                [("off", milliseconds(middle - start)), ("on", milliseconds(end - middle))])
        }
    }

    static let titles = [
        ("controller.answers", "answers"),
        ("scan.passive", "passive scan"), ("scan.active", "active scan"),
        ("scan.restart", "starting and ending a scan"), ("advertise", "advertising"),
        ("advertise.extended", "extended advertising"), ("advertise.sets", "advertising sets at a time"),
        ("scan.advertising", "scanning while advertising"), ("power", "power off and on"),
    ]

    // MARK: The tests

    private func scan(isActive: Bool) async throws -> SelfTestFigure {
        var (reports, devices) = (0, Set<BluetoothAddress>())
        let options = ScanOptions(
            duration: Self.scanTime, isActive: isActive, duplicates: .all, bufferCapacity: 4096)
        for try await report in try await adapter.scan(options) {
            reports += 1
            if let address = report.address { devices.insert(address) }
        }
        guard reports > 0 else {
            throw SelfTestObstacle.failed(
                "nothing was received in \(formatDecimal(Self.scanTime / .seconds(1), digits: 0)) s",
                remedy: isHeardFor
                    ? nil : "Run it where a device advertises, or with a second adapter: ble selftest --with hciN")
        }
        return SelfTestFigure(
            "\(quantity(reports, "report")) of \(quantity(devices.count, "device")) in "
                + "\(formatDecimal(Self.scanTime / .seconds(1), digits: 0)) s",
            [("reports", .integer(reports)), ("devices", .integer(devices.count))])
    }

    private func restartScan() async throws -> SelfTestFigure {
        var times = DurationStatistics()
        for _ in 0..<5 {
            let start = clock.now()
            let scan = try await adapter.scan()
            times.add(clock.now() - start)
            // Dropping the stream ends the scan.
            withExtendedLifetime(scan) {}
        }
        return SelfTestFigure(
            "5 times, median \(formatMilliseconds(times.percentile(50))) to start",
            [("median", milliseconds(times.percentile(50)))])
    }

    private func countSets() async throws -> SelfTestFigure {
        var sets: [AdvertisingSet] = []
        return try await finishing {
            while sets.count < Self.mostSets {
                do throws(BluetoothError) {
                    sets.append(
                        try await adapter.advertise(
                            AdvertisementContent(localName: SelfTest.newName()),
                            options: AdvertisingOptions(kind: .nonConnectable)))
                } catch {
                    guard error.code == .busy, !sets.isEmpty else { throw error }
                    break
                }
            }
            let reported = tested.properties?.advertisingSetCount
            return SelfTestFigure(
                "\(sets.count)" + (reported.map { "; the controller reports \($0)" } ?? ""),
                [("sets", .integer(sets.count)), ("reported", JSONValue(reported))])
        } then: {
            for set in sets { await set.close() }
        }
    }
}
