import CBenchmarkSupport
import Glibc

/// The most a workload ought to take.
enum Goal {
    /// Processor time, for work that no system call dominates.
    case nanoseconds(Double)
    /// So many times the floor of the same run, for work that is mostly the kernel's.
    case timesFloor(Double)
}

/// What one workload cost, per operation.
struct Measurement {
    /// What was done.
    var name: String
    /// Processor time of all threads, the median of the repetitions, in nanoseconds.
    var cpu: Double
    /// Time that passed, the median of the repetitions, in nanoseconds.
    var wall: Double
    /// Allocations, counted in a pass of its own.
    var allocations: Double
    /// The most it ought to take.
    var goal: Goal?
    /// The most allocations it ought to make.
    var allocationGoal: Double?
    /// The measurement of this run it is to be compared with.
    var floor: Floor?

    /// A cost below which no program can get, measured in the same run.
    struct Floor: Sendable {
        var name: String
        var cpu: Double
        /// Measures it anew, next to what is compared with it: where the kernel places a socket in memory changes what
        /// its calls cost by a fifth.
        var measure: (@Sendable () -> Double)?

        /// The lower of the cost known and the cost now.
        var now: Floor { Floor(name: name, cpu: min(cpu, measure?() ?? cpu)) }
    }

    /// How many times the floor's cost this is.
    var ratio: Double? { floor.map { cpu / $0.cpu } }

    /// A workload that nobody asked for.
    static func left(out name: String) -> Measurement {
        Measurement(name: name, cpu: .nan, wall: .nan, allocations: .nan)
    }

    /// Whether it has been measured.
    var isMeasured: Bool { !cpu.isNaN }

    /// Whether it keeps its goals.
    var meetsGoals: Bool {
        guard isMeasured else { return true }
        let isFast =
            switch goal {
            case .nanoseconds(let most): cpu <= most
            case .timesFloor(let most): (ratio ?? .infinity) <= most
            case nil: true
            }
        return isFast && allocations <= allocationGoal ?? .infinity
    }

    /// This as the floor of others.
    func asFloor(_ measure: (@Sendable () -> Double)? = nil) -> Floor {
        Floor(name: name, cpu: cpu, measure: measure)
    }
}

/// How long to measure, and what.
struct Options {
    /// Milliseconds that a repetition lasts.
    var repetitionMilliseconds = 40.0
    /// How many repetitions a workload has; the median counts.
    var repetitions = 7
    /// The core everything runs on.
    var core = 0
    /// Seconds for which an idle connection is watched.
    var idleSeconds = 3.0
    /// Print a JSON object instead of tables.
    var printsJSON = false
    /// End with an error when a goal is missed.
    var checksGoals = false
    /// Only workloads whose group contains one of these; all when empty.
    var groups: [String] = []
    /// Only workloads whose name contains this.
    var only = ""
}

/// Measures workloads one after the other.
struct Harness {
    let options: Options

    /// The same with three repetitions of all workloads.
    var brief: Harness {
        var options = options
        options.repetitions = 3
        options.only = ""
        return Harness(options: options)
    }

    /// Measures `body`, which does the operation as many times as it is told.
    func measure(
        _ name: String, goal: Goal? = nil, allocationGoal: Double? = nil, floor: Measurement.Floor? = nil,
        _ body: (Int) throws -> Void
    ) rethrows -> Measurement {
        guard wants(name) else { return .left(out: name) }
        let count = try calibrate(body)
        var floor = floor
        var samples: [(cpu: Double, wall: Double)] = []
        for repetition in 0..<options.repetitions {
            if repetition == options.repetitions / 2 { floor = floor?.now }
            let start = Times.now
            try body(count)
            samples.append(start.elapsed(per: count))
        }
        let counted = min(count, 10_000)
        benchmark_start_counting()
        try body(counted)
        let allocations = benchmark_stop_counting()
        return Measurement(
            name: name, cpu: median(samples.map(\.cpu)), wall: median(samples.map(\.wall)),
            allocations: Double(allocations.count) / Double(counted), goal: goal, allocationGoal: allocationGoal,
            floor: floor)
    }

    private func calibrate(_ body: (Int) throws -> Void) rethrows -> Int {
        var count = 1
        while true {
            let start = Times.now
            try body(count)
            let elapsed = start.elapsed(per: 1).wall
            if let next = nextCount(after: count, elapsed) { count = next } else { return count }
        }
    }

    /// Measures `body`, which does the operation as many times as it is told and waits meanwhile.
    func measure(
        _ name: String, goal: Goal? = nil, allocationGoal: Double? = nil, floor: Measurement.Floor? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (Int) async throws -> Void
    ) async rethrows -> Measurement {
        guard wants(name) else { return .left(out: name) }
        var count = 1
        while true {
            let start = Times.now
            try await body(count)
            guard let next = nextCount(after: count, start.elapsed(per: 1).wall) else { break }
            count = next
        }
        var floor = floor
        var samples: [(cpu: Double, wall: Double)] = []
        for repetition in 0..<options.repetitions {
            if repetition == options.repetitions / 2 { floor = floor?.now }
            let start = Times.now
            try await body(count)
            samples.append(start.elapsed(per: count))
        }
        let counted = min(count, 5000)
        benchmark_start_counting()
        try await body(counted)
        let allocations = benchmark_stop_counting()
        return Measurement(
            name: name, cpu: median(samples.map(\.cpu)), wall: median(samples.map(\.wall)),
            allocations: Double(allocations.count) / Double(counted), goal: goal, allocationGoal: allocationGoal,
            floor: floor)
    }

    private func wants(_ name: String) -> Bool {
        options.only.isEmpty || name.contains(options.only)
    }

    /// A count that lasts as long as a repetition shall; nil when `count` did.
    private func nextCount(after count: Int, _ nanoseconds: Double) -> Int? {
        let wanted = options.repetitionMilliseconds * 1e6
        guard nanoseconds < wanted * 0.7 else { return nil }
        return max(count + 1, Int(min(10, wanted / max(nanoseconds, 1)) * Double(count)))
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// The clocks at one moment.
struct Times {
    var cpu: UInt64
    var wall: UInt64

    static var now: Times {
        Times(cpu: clock_gettime_nsec_np(CLOCK_PROCESS_CPUTIME_ID), wall: clock_gettime_nsec_np(CLOCK_MONOTONIC))
    }

    /// Nanoseconds since then, divided by `count`.
    func elapsed(per count: Int) -> (cpu: Double, wall: Double) {
        let now = Times.now
        return (Double(now.cpu - cpu) / Double(count), Double(now.wall - wall) / Double(count))
    }
}

private func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Uses `value`, as far as the compiler can tell.
@inline(__always)
func consume(_ value: some BinaryInteger) {
    benchmark_consume(UInt64(truncatingIfNeeded: value))
}
