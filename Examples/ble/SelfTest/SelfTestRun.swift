import BluetoothLE
import ExampleSupport
import Synchronization

/// Runs tests one after the other, each within a limit, and keeps their results. None prevents the next.
final class SelfTestRun: Sendable {
    private let console: Console
    private let clock: BenchmarkClock
    /// The tests that are run besides opening; nil for all.
    private let selection: Set<String>?
    private let all = Mutex<[SelfTestResult]>([])
    /// Shows the test that runs.
    private let line: Mutex<StatusLine?>

    init(_ console: Console, only selection: Set<String>? = nil, clock: BenchmarkClock = BenchmarkClock()) {
        (self.console, self.selection, self.clock) = (console, selection, clock)
        line = Mutex(console.messageLine())
    }

    var results: [SelfTestResult] { all.withLock { $0 } }

    /// Runs a test; returns whether it has passed.
    /// - Throws: `CancellationError`, when the task is cancelled; the test then has no result. The error of a missing
    ///   permission, without which nothing can be tested.
    @discardableResult
    nonisolated(nonsending) func test(
        _ test: String, _ title: String, limit: Duration = .seconds(30),
        _ body: @escaping @Sendable () async throws -> SelfTestFigure
    ) async throws -> Bool {
        try Task.checkCancellation()
        guard isSelected(test) else { return true }
        line.withLock { $0?.show("testing: \(title)") }
        console.detail("testing: \(title)")
        defer { line.withLock { $0?.clear() } }
        let start = clock.now()
        let outcome: Result<SelfTestFigure, any Error>
        do {
            outcome = .success(try await withTimeLimit(limit, on: clock.loop, body))
        } catch {
            try Task.checkCancellation()
            outcome = .failure(error.underlyingError ?? error)
        }
        let result = SelfTestResult(test, title, outcome, in: clock.now() - start)
        record(result)
        if case .failure(let error as BluetoothError) = outcome, error.code == .notPermitted { throw error }
        return result.verdict == .passed
    }

    /// Whether a test is run: opening, and what the controller reports, always is.
    func isSelected(_ test: String) -> Bool {
        let name = test.hasPrefix("other.") ? String(test.dropFirst(6)) : test
        return Self.alwaysRun.contains(name) || selection?.contains(name) ?? true
    }

    private static let alwaysRun: Set = ["open", "controller"]

    /// Adds a result.
    func record(_ result: SelfTestResult) {
        all.withLock { $0.append(result) }
        guard console.isJSON else { return }
        console.result([("event", .string("test"))] + result.fields + [("remedy", JSONValue(result.remedy))])
    }

    /// Adds tests that cannot be run, for the same reason.
    func skip(_ tests: [(test: String, title: String)], _ reason: String) {
        for (test, title) in tests where isSelected(test) {
            record(SelfTestResult(test, title, .failure(SelfTestObstacle.notRun(reason)), in: .zero))
        }
    }

    func count(_ verdict: SelfTestResult.Verdict) -> Int { results.count { $0.verdict == verdict } }

    /// Prints the table, or the last line of JSON.
    func show() {
        guard !console.isJSON else {
            return console.result(
                [("event", .string("selftest"))]
                    + SelfTestResult.Verdict.allCases.map { ($0.rawValue, .integer(count($0))) })
        }
        var table = Table([
            .init("RESULT"), .init("TEST"), .init("TIME", .right, omission: 1), .init("FIGURE, OR REASON"),
        ])
        for result in results {
            let seconds = formatDecimal(result.duration / .seconds(1), digits: 1)
            table.add([result.verdict.text, result.title, "\(seconds) s", printable(result.text)])
        }
        let lines = console.output.isTerminal ? table.wholeLines(fitting: console.size.width) : table.lines
        for line in lines { console.result(paint(line)) }
        let counts = SelfTestResult.Verdict.allCases.filter { $0 == .passed || count($0) > 0 }
            .map { "\(count($0)) \($0.text)" }
        console.result("\n" + counts.joined(separator: ", "))
        var told: Set<String> = []
        for result in results where result.verdict == .failed || result.verdict == .notRun {
            guard let remedy = result.remedy, told.insert(remedy).inserted else { continue }
            console.message("\(result.title): \(remedy)")
        }
    }

    private func paint(_ line: String) -> String {
        let style = console.output
        for verdict in SelfTestResult.Verdict.allCases where line.hasPrefix(verdict.text) {
            let rest = line.dropFirst(verdict.text.count)
            switch verdict {
            case .passed: return style.green(verdict.text) + rest
            case .failed: return style.red(verdict.text) + rest
            case .notSupported, .notRun: return style.dim(verdict.text) + rest
            }
        }
        return line
    }
}
