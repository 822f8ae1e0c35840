import BluetoothSimulation
import Glibc
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// What was begun and how it ended, and what was sent and where it is.
final class Ledger: Sendable {
    /// The operations of one name.
    struct Operations {
        var begun = 0
        var values = 0
        var failures: [BluetoothError.Code: Int] = [:]
        var slowest = Duration.zero
    }

    let radio: SimulatedRadio
    private let seed: UInt64
    private let state = Mutex(
        (operations: [String: Operations](), flows: [String: Flow](), tasks: [Task<Void, any Error>](), heard: 0))

    init(_ radio: SimulatedRadio, _ seed: UInt64) { (self.radio, self.seed) = (radio, seed) }

    var operations: [String: Operations] { state.withLock { $0.operations } }
    var flows: [String: Flow] { state.withLock { $0.flows } }

    /// The number of advertisements.
    var heard: Int { state.withLock { $0.heard } }

    func hear() { state.withLock { $0.heard += 1 } }

    /// The flow of a name, which begins with the first call.
    func flow(_ name: String) -> Flow {
        state.withLock { state in
            let flow = state.flows[name] ?? Flow(name)
            state.flows[name] = flow
            return flow
        }
    }

    /// Everything, for a person.
    var report: String {
        let operations = operations.map { name, operations in
            "\(name): \(operations.begun), \(operations.values) with a value, at most \(operations.slowest); \(operations.failures)"
        }
        let flows = flows.mapValues(\.counts).map { name, counts in
            "\(name): \(4 * counts.sent) bytes, \(4 * counts.lost) lost in \(counts.gaps) of \(counts.breaks) breaks"
        }
        return "# seed \(seed), \(radio.now), \(heard) advertisements, \(radio.statistics)\n"
            + (operations.sorted() + flows.sorted()).joined(separator: "\n")
    }

    /// Performs an operation again and again until ``end()``, with a pause of random length before each time.
    func keep(
        _ name: String, after pause: ClosedRange<Int>,
        _ body: @escaping @Sendable (inout SeededGenerator) async throws -> Void
    ) {
        state.withLock { state in
            let random = SeededGenerator(seed: seed &* 1000 &+ UInt64(state.tasks.count))
            let task = Task(executorPreference: radio.loop) { [self, random] in
                var random = random
                while true {
                    try await radio.sleep(for: random.seconds(in: pause))
                    await attempt(name) { try await body(&random) }
                }
            }
            state.tasks.append(task)
        }
    }

    /// Waits until everything has ended that has begun.
    func end() async {
        let tasks = state.withLock { $0.tasks }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
    }

    /// Performs an operation, which ends with a value or with an error of the library.
    @discardableResult
    func attempt(_ name: String, _ body: () async throws -> Void) async -> BluetoothError.Code? {
        let start = radio.now
        state.withLock { $0.operations[name, default: Operations()].begun += 1 }
        let code = await failureCode(body)
        let time = start.duration(to: radio.now)
        state.withLock { state in
            var operations = state.operations[name] ?? Operations()
            if let code { operations.failures[code, default: 0] += 1 } else { operations.values += 1 }
            operations.slowest = max(operations.slowest, time)
            state.operations[name] = operations
        }
        return code
    }
}

/// Numbers of four bytes that one side sends and the other receives in order; only the end of a link may lose some.
final class Flow: Sendable {
    struct Counts {
        /// The next numbers of either side.
        var (sent, expected): (UInt32, UInt32) = (0, 0)
        var (received, lost) = (0, 0)
        /// The links that have ended, and those of them that have lost something.
        var (breaks, gaps) = (0, 0)
        /// The beginning of a number.
        var partial: [UInt8] = []
    }

    private let name: String
    private let state = Mutex(Counts())

    init(_ name: String) { self.name = name }

    var counts: Counts { state.withLock { $0 } }

    /// The bytes of the next numbers, which thereby are sent.
    func take(_ count: Int = 1) -> [UInt8] {
        state.withLock { state in
            defer { state.sent += UInt32(count) }
            return (state.sent..<state.sent + UInt32(count)).flatMap { number in
                (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            }
        }
    }

    /// The last number was not sent.
    func giveBack() { state.withLock { $0.sent -= 1 } }

    /// Receives bytes, split at arbitrary places.
    func arrived(_ bytes: [UInt8]) {
        state.withLock { state in
            let bytes = state.partial + bytes
            for start in stride(from: 0, to: bytes.count - 3, by: 4) {
                let number = bytes[start..<start + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                if number < state.expected || number >= state.sent {
                    Issue.record("\(name): \(number) of \(state.sent) in place of \(state.expected)")
                }
                lose(upTo: number, &state)
                (state.expected, state.received) = (number &+ 1, state.received + 1)
            }
            state.partial = bytes.suffix(bytes.count % 4)
        }
    }

    private func lose(upTo number: UInt32, _ state: inout Counts) {
        guard number > state.expected else { return }
        (state.gaps, state.lost) = (state.gaps + 1, state.lost + Int(number - state.expected))
        if state.gaps > state.breaks { Issue.record("\(name): \(state.expected)..<\(number) lost within a link") }
    }

    /// A link has ended: what was on its way may be lost.
    func broke() { state.withLock { ($0.breaks, $0.partial) = ($0.breaks + 1, []) } }

    /// The counts at the end of all links.
    func close() -> Counts {
        state.withLock { state in
            state.breaks += 1
            lose(upTo: state.sent, &state)
            return state
        }
    }
}

extension SeededGenerator {
    mutating func seconds(in range: ClosedRange<Int>) -> Duration { .seconds(number(in: range)) }

    mutating func number(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }
}

/// The bytes in this process's blocks of `malloc`, of all threads, as `malloc_info` writes them.
func liveByteCount() -> Int {
    typealias Function = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
    var (text, length) = (UnsafeMutablePointer<CChar>?.none, 0)
    guard let symbol = dlsym(nil, "malloc_info"), let file = open_memstream(&text, &length) else { return 0 }
    _ = unsafeBitCast(symbol, to: Function.self)(0, file)
    fclose(file)
    defer { free(text) }
    // <total type="rest" count="1" size="50288"/>; the last of each kind is the sum of the arenas.
    var sizes: [Substring: Int] = [:]
    for line in (text.map { String(cString: $0) } ?? "").split(separator: "\n") {
        let words = line.split(separator: "\"")
        if words.count > 3 { sizes[words[1]] = Int(words[words.count - 2]) }
    }
    return sizes["current", default: 0] + sizes["mmap", default: 0] - sizes["rest", default: 0]
        - sizes["fast", default: 0]
}
