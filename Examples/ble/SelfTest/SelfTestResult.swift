import BluetoothLE
import ExampleSupport

/// What a test has measured: in words, and as values for programs.
struct SelfTestFigure: Sendable {
    var text: String
    var values: [(name: String, value: JSONValue)]

    init(_ text: String, _ values: [(name: String, value: JSONValue)] = []) {
        (self.text, self.values) = (text, values)
    }
}

/// The result of a test.
struct SelfTestResult: Sendable {
    enum Verdict: String, Sendable, CaseIterable {
        case passed, failed, notSupported, notRun

        var text: String {
            switch self {
            case .passed: "passed"
            case .failed: "failed"
            case .notSupported: "not supported"
            case .notRun: "not run"
            }
        }
    }

    /// The name for programs.
    var test: String
    /// What is tested, in words.
    var title: String
    var verdict: Verdict
    var figure: SelfTestFigure?
    /// Why it has not passed.
    var reason: String?
    var remedy: String?
    var duration: Duration

    init(_ test: String, _ title: String, _ outcome: Result<SelfTestFigure, any Error>, in duration: Duration) {
        (self.test, self.title, self.duration) = (test, title, duration)
        switch outcome {
        case .success(let figure):
            (verdict, self.figure) = (.passed, figure)
        case .failure(let error as SelfTestObstacle):
            (verdict, figure, reason, remedy) = (error.verdict, error.figure, error.reason, error.remedy)
        case .failure(let error as BluetoothError):
            verdict =
                error.code == .unsupported ? .notSupported : error.pairingFailure == .ownedByDaemon ? .notRun : .failed
            (reason, remedy) = (error.message, BluetoothError.forUsers(error.remedy))
        case .failure(let error as ProgramError):
            (verdict, reason, remedy) = (.failed, error.message, error.remedy)
        case .failure(let error):
            (verdict, reason) = (.failed, "\(error)")
        }
    }

    /// The figure or the reason; both of a test that has failed with a figure.
    var text: String { [figure?.text, reason].compactMap { $0 }.joined(separator: "; ") }

    var fields: [(String, JSONValue)] {
        [
            ("test", .string(test)), ("verdict", .string(verdict.rawValue)), ("title", .string(title)),
            ("figure", JSONValue(figure?.text)),
            ("values", .object((figure?.values ?? []).map { ($0.name, $0.value) })), ("reason", JSONValue(reason)),
            ("seconds", .number(((duration / .milliseconds(1)).rounded()) / 1000)),
        ]
    }
}

/// Why a test has not passed, in its own words.
struct SelfTestObstacle: Error {
    var verdict: SelfTestResult.Verdict
    var reason: String
    var figure: SelfTestFigure?
    var remedy: String?

    static func failed(_ reason: String, figure: SelfTestFigure? = nil, remedy: String? = nil) -> SelfTestObstacle {
        SelfTestObstacle(verdict: .failed, reason: reason, figure: figure, remedy: remedy)
    }

    static func notSupported(_ reason: String) -> SelfTestObstacle {
        SelfTestObstacle(verdict: .notSupported, reason: reason)
    }

    static func notRun(_ reason: String, remedy: String? = nil) -> SelfTestObstacle {
        SelfTestObstacle(verdict: .notRun, reason: reason, remedy: remedy)
    }
}

/// Milliseconds as a figure: 12 ms, 0.4 ms; `?` for nil.
func formatMilliseconds(_ duration: Duration?) -> String {
    guard let milliseconds = duration.map({ $0 / .milliseconds(1) }) else { return "?" }
    return "\(formatDecimal(milliseconds, digits: milliseconds < 10 ? 1 : 0)) ms"
}

/// Milliseconds as a value, to the microsecond.
func milliseconds(_ duration: Duration?) -> JSONValue {
    duration.map { .number(($0 / .microseconds(1)).rounded() / 1000) } ?? .null
}
