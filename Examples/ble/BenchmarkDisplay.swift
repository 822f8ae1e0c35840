import BluetoothLE
import ExampleSupport

/// Prints results: as tables, or each as a line of JSON.
final class BenchmarkDisplay {
    private let console: Console
    /// Shows the measurement in progress.
    private let line: StatusLine?
    private var latencies: [LatencyResult] = []
    private var throughputs: [ThroughputResult] = []

    init(_ console: Console) {
        (self.console, line) = (console, console.messageLine())
    }

    /// Prints a link's parameters.
    func show(_ link: MeasuredLink) {
        console.show(link.state)
        guard let rssi = link.rssi else { return }
        console.result("rssi", "RSSI         \(rssi) dBm", [("rssi", .integer(rssi))])
    }

    /// Prints a link's parameters after the measurements, in text only if they have changed.
    func show(_ link: MeasuredLink, after before: MeasuredLink) {
        guard console.isJSON || link.state != before.state else { return }
        if !console.isJSON { console.result("\nThe parameters have changed:") }
        show(link)
    }

    /// Shows how much was measured so far.
    func show(_ measurement: BenchmarkMeasurement, _ packets: Int, _ bytes: UInt64) {
        line?.show(
            "\(measurement.title)  \(quantity(packets, "packet"))  \(quantity(bytes, "byte"))",
            atMostEvery: .milliseconds(100))
    }

    func add(_ result: BenchmarkRun.Result) {
        line?.clear()
        switch result {
        case .latency(let result):
            if console.isJSON { console.result(result.fields) } else { latencies.append(result) }
        case .throughput(let result):
            if !latencies.isEmpty { showLatencies() }
            if console.isJSON { console.result(result.fields) } else { throughputs.append(result) }
        }
    }

    /// Prints the tables that are not printed yet.
    func end() {
        line?.clear()
        if !latencies.isEmpty { showLatencies() }
        if !throughputs.isEmpty { showThroughputs() }
    }

    private func showLatencies() {
        var table = Table([
            .init("round trip in ms"), .init("bytes", .right, omission: 1), .init("count", .right, omission: 3),
            .init("min", .right, omission: 4), .init("median", .right), .init("95 %", .right, omission: 5),
            .init("max", .right),
        ])
        for result in latencies {
            let durations = result.durations
            table.add([
                "read" + (result.isComplete ? "" : " (incomplete)"), "\(result.size)", "\(durations.count)",
                text(durations.minimum), text(durations.percentile(50)),
                text(durations.percentile(95)), text(durations.maximum),
            ])
        }
        latencies = []
        show(table)
    }

    private func showThroughputs() {
        var table = Table([
            .init("throughput"), .init("bytes", .right, omission: 1), .init("sent", .right, omission: 5),
            .init("received", .right, omission: 6), .init("rate", .right), .init("lost", .right),
            .init("corrupted", .right, omission: 2),
        ])
        for result in throughputs {
            let counts = result.counts
            func count(_ number: UInt32?) -> String { number.map { "\($0)" } ?? "?" }
            table.add([
                result.measurement.title + (result.isComplete ? "" : " (incomplete)"), "\(result.size)",
                result.sent.map { "\($0)" } ?? "?", count(counts?.received), result.rate.map(formatRate) ?? "?",
                result.lost.map { "\($0)" } ?? "?", count(counts?.corrupted),
            ])
        }
        throughputs = []
        show(table)
    }

    private func show(_ table: Table) {
        console.result("")
        console.result(table)
    }

    private func text(_ duration: Duration?) -> String {
        duration.map { formatDecimal($0 / .milliseconds(1), digits: 2) } ?? "?"
    }
}

extension LatencyResult {
    fileprivate var fields: [(String, JSONValue)] {
        [
            ("event", .string("roundTrip")), ("kind", .string("read")), ("size", .integer(size)),
            ("count", .integer(durations.count)), ("minimum", milliseconds(durations.minimum)),
            ("median", milliseconds(durations.percentile(50))),
            ("percentile95", milliseconds(durations.percentile(95))),
            ("maximum", milliseconds(durations.maximum)), ("mean", milliseconds(durations.mean)),
            ("complete", .bool(isComplete)),
        ]
    }
}

extension ThroughputResult {
    fileprivate var fields: [(String, JSONValue)] {
        func count(_ number: UInt32?) -> JSONValue { JSONValue(number.map { Int($0) }) }
        return [
            ("event", .string("throughput")), ("kind", .string(measurement.title)), ("size", .integer(size)),
            ("sent", JSONValue(sent)), ("received", count(counts?.received)),
            ("bytes", JSONValue(counts.map { Int(clamping: $0.bytes) })), ("seconds", .number(time / .seconds(1))),
            ("bytesPerSecond", rate.map { .number($0) } ?? .null), ("lost", JSONValue(lost)),
            ("corrupted", count(counts?.corrupted)), ("complete", .bool(isComplete)),
        ]
    }
}
