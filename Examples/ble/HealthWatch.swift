import BluetoothLE
import BluetoothSimulation
import ExampleSupport

/// The watch of `ble doctor --watch`: follows the health of adapters, also of those that come and go.
struct HealthWatch: Sendable {
    private let options: CommonOptions
    private let kernel: (any AdapterSource)?
    private let recovery: RecoveryOptions
    private let console: Console
    /// What prints the lines, one after another.
    private let output = AsyncThrowingStream.makeStream(of: (@Sendable (Console) -> Void).self)

    /// The delay after which a scan that has failed is tried again.
    private static let retryDelay = Duration.seconds(30)

    init(_ options: CommonOptions, on kernel: (any AdapterSource)?, _ recovery: RecoveryOptions, _ console: Console) {
        (self.options, self.kernel, self.recovery, self.console) = (options, kernel, recovery, console)
    }

    /// Prints the events until the task is cancelled, or there were enough.
    func run(_ results: ResultCount) async throws {
        async let _: Void = followAdapters()
        for try await line in output.stream {
            line(console)
            if results.add() == 0 { return }
        }
    }

    private func show(_ line: @escaping @Sendable (Console) -> Void) { output.continuation.yield(line) }

    private func followAdapters() async {
        do { try await followChanges() } catch { output.continuation.finish(throwing: error) }
    }

    private func followChanges() async throws {
        let selector = options.adapter.flatMap { AdapterSelector($0) }
        let changes = try await Adapter.changes(on: kernel)
        try await withThrowingDiscardingTaskGroup { group in
            var watched: Set<String> = []
            for try await change in changes where selector?.matches(change.adapter) ?? true {
                show { $0.show(change) }
                // An open adapter is followed through absence, by its address if it has one.
                let information = change.adapter
                guard change.isAddition,
                    watched.insert(information.address.isZero ? information.name : information.address.digits).inserted
                else { continue }
                group.addTask { await watch(information) }
            }
            group.cancelAll()
        }
    }

    private func watch(_ information: AdapterInformation) async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(
                information.address.isZero ? .id(information.id) : .address(information.address),
                configuration: .init(
                    timeout: nil, bonds: .disabled, recovery: recovery, log: options.makeLog(quietly: true)), on: kernel
            )
            let events = await adapter.healthEvents(bufferCapacity: 1024)
            await withDiscardingTaskGroup { group in
                group.addTask { await keepScanning(on: adapter) }
                do throws(BluetoothError) {
                    for try await event in events { show { $0.show(event, of: adapter, recovery.mode) } }
                } catch {
                    if error.code != .cancelled { show { $0.show(error, of: adapter.information) } }
                }
                group.cancelAll()
            }
            await adapter.close()
        } catch {
            if error.code != .cancelled { show { $0.show(error, of: information) } }
        }
    }

    /// Scans, so that there is something to be heard, until the task is cancelled.
    private func keepScanning(on adapter: Adapter) async {
        while !Task.isCancelled {
            do throws(BluetoothError) {
                // For the health alone, which the library derives from all reports.
                let scan = ScanOptions(
                    isActive: false, duplicates: .once, bufferCapacity: 1, whenAdapterUnavailable: .resume)
                for try await _ in try await adapter.scan(scan) {}
            } catch {
                guard error.code != .cancelled else { return }
                show { $0.show(error, of: adapter.information) }
                guard error.code != .notPermitted else { return }
            }
            try? await Task.sleep(for: Self.retryDelay)
        }
    }
}

extension Console {
    fileprivate func show(_ event: HealthEvent, of adapter: Adapter, _ mode: RecoveryOptions.Mode) {
        show(HealthLine(event, mode, adapter.information.name), of: adapter.information)
    }

    /// Prints why an adapter is not watched, or not for silence.
    fileprivate func show(_ error: BluetoothError, of adapter: AdapterInformation) {
        show(HealthLine(error), of: adapter)
    }

    private func show(_ line: HealthLine, of adapter: AdapterInformation) {
        let padding = String(repeating: " ", count: max(0, 8 - line.word.count))
        let remedies = (line.remedy ?? "").split(separator: "\n").map { "\n    " + printable($0) }
        result(
            "health",
            "\(time())  \(adapter.name)  \(paint(line))\(padding)  \(printable(line.text))" + remedies.joined(),
            [
                ("name", .string(adapter.name)), ("address", .string(adapter.address.digits)),
                ("kind", .string(line.kind)), ("text", .string(line.text)), ("step", JSONValue(line.step)),
                ("retryAfter", line.retryAfter.map { .number($0 / .seconds(1)) } ?? .null),
                ("remedy", JSONValue(line.remedy)),
            ])
    }

    private func paint(_ line: HealthLine) -> String {
        switch line.tone {
        case .neutral: line.word
        case .doubtful: output.yellow(line.word)
        case .bad: output.red(line.word)
        case .good: output.green(line.word)
        }
    }
}

/// An event of an adapter's health in words, or the reason why an adapter is not watched.
struct HealthLine {
    enum Tone {
        case neutral, doubtful, bad, good
    }

    /// A word for people, of at most 8 characters.
    var word: String
    /// A word for programs.
    var kind: String
    var text: String
    var step: String?
    var retryAfter: Duration?
    var remedy: String?
    var tone: Tone

    init(_ error: BluetoothError) {
        (word, kind, text, remedy, tone) = (
            "no watch", "unwatched", error.message, BluetoothError.forUsers(error.remedy), .bad
        )
    }

    init(_ event: HealthEvent, _ mode: RecoveryOptions.Mode, _ adapter: String) {
        (word, kind, text, tone) = ("event", "event", "\(event)", .neutral)
        if let problem = event.problem {
            (word, kind, tone) = ("problem", "problem", .doubtful)
            if mode == .reportOnly, problem.needsStep {
                remedy = "Try the steps that may help: sudo ble doctor --watch --recover -i \(adapter)"
            }
        } else if let step = event.began {
            (word, kind, self.step) = ("step", "step", step.key)
        } else if let (step, error) = event.failed {
            (word, kind, tone) = ("failed", "stepFailed", .bad)
            (self.step, remedy) = (step.key, BluetoothError.forUsers(error.remedy))
        } else if event.isRecovered {
            (word, kind, tone, step) = ("works", "recovered", .good, event.helpfulStep?.key)
        } else if event.waitingForLinks != nil {
            (word, kind, tone) = ("waits", "waiting", .doubtful)
            remedy =
                "End them, or recover anyway: sudo ble power off -i \(adapter); sudo ble power on -i \(adapter)"
        } else if let (error, delay) = event.gaveUp {
            (word, kind, text, tone) = ("gave up", "gaveUp", error.message, .bad)
            (retryAfter, remedy) = (delay, BluetoothError.forUsers(error.remedy))
        }
    }
}

extension RadioProblem {
    /// Whether it persists without a step.
    fileprivate var needsStep: Bool { hardwareErrorCode == nil && self != .poweredOff }
}

extension RecoveryStep {
    /// The name for programs.
    fileprivate var key: String {
        switch self {
        case .restartScan: "restartScan"
        case .powerCycle: "powerCycle"
        case .reset: "reset"
        case .restart: "restart"
        case .rebind: "rebind"
        default: "\(self)"
        }
    }
}
