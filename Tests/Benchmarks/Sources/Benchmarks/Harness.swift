import CBenchmarkSupport
import Glibc

/// Work below whose cost no program can get, repeated next to each repetition of what is compared with it.
struct Floor: Sendable {
    let name: String
    /// How many of its operations one operation of the workload is compared with.
    var factor = 1.0
    /// Prepares for one repetition and returns what does the operation as many times as it is given.
    ///
    /// Called for each repetition anew: where the kernel places a socket in memory changes what its calls cost by a
    /// fifth.
    let prepare: @Sendable () throws -> (Int) -> Void
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
    /// The most times its floor it ought to cost.
    var goal: Double?
    /// The most allocations it ought to make.
    var allocationGoal: Double?
    /// What it is compared with.
    var floor: FloorCost?

    /// What a floor cost next to a workload.
    struct FloorCost {
        var name: String
        /// Processor time, the median of the repetitions, in nanoseconds.
        var cpu: Double
        /// The median of the ratios of neighbouring repetitions.
        var ratio: Double
        /// From the lowest to the highest ratio, where there were several runs.
        var range: ClosedRange<Double>?
    }

    /// How many times the floor's cost this is.
    var ratio: Double? { floor?.ratio }

    /// A workload that was not asked for.
    static func left(out name: String) -> Measurement {
        Measurement(name: name, cpu: .nan, wall: .nan, allocations: .nan)
    }

    /// Whether it has been measured.
    var isMeasured: Bool { !cpu.isNaN }

    /// Whether it keeps its goals.
    var meetsGoals: Bool {
        guard isMeasured else { return true }
        // What a queue or a buffer allocates once when it grows is not the workload's.
        let isSparing = allocations <= (allocationGoal ?? .infinity) + 0.05
        return floor?.ratio ?? 0 <= goal ?? .infinity && isSparing
    }
}

/// How long to measure, and what.
struct Options {
    /// Milliseconds that a repetition lasts.
    var repetitionMilliseconds = 8.0
    /// How many repetitions a workload has; the median counts.
    var repetitions = 21
    /// How many times everything is measured; the median counts.
    var runs = 1
    /// The core everything runs on.
    var core = 0
    /// Seconds for which an idle connection is watched.
    var idleSeconds = 3.0
    /// What is printed.
    var output = Output.tables
    /// End with an error when a goal is missed.
    var checksGoals = false
    /// Only workloads whose group contains one of these; all when empty.
    var groups: [String] = []
    /// Only workloads whose name contains this.
    var only = ""

    enum Output { case tables, json, summary }
}

/// Measures workloads one after the other.
struct Harness {
    let options: Options

    /// Measures `body`, which does the operation as many times as it is given.
    func measure(
        _ name: String, goal: Double? = nil, allocationGoal: Double? = nil, floor: Floor? = nil,
        _ body: (Int) throws -> Void
    ) throws -> Measurement {
        guard wants(name) else { return .left(out: name) }
        var series = Series(options, floor, goal: goal)
        while let count = try series.next() {
            let start = Times.now
            try body(count)
            series.add(start.elapsed)
        }
        benchmark_start_counting()
        try body(series.countedOperations)
        return series.measurement(name, allocationGoal: allocationGoal, benchmark_stop_counting())
    }

    /// Measures `body`, which does the operation as many times as it is given and waits meanwhile.
    func measure(
        _ name: String, goal: Double? = nil, allocationGoal: Double? = nil, floor: Floor? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (Int) async throws -> Void
    ) async throws -> Measurement {
        guard wants(name) else { return .left(out: name) }
        var series = Series(options, floor, goal: goal)
        while let count = try series.next() {
            let start = Times.now
            try await body(count)
            series.add(start.elapsed)
        }
        benchmark_start_counting()
        try await body(series.countedOperations)
        return series.measurement(name, allocationGoal: allocationGoal, benchmark_stop_counting())
    }

    private func wants(_ name: String) -> Bool {
        options.only.isEmpty || name.contains(options.only)
    }
}

/// The repetitions of one workload: first as many operations are sought as last long enough, then repetitions of the
/// workload and of its floor take turns, so that whatever slows the machine down slows down both.
private struct Series {
    private let options: Options
    private let floor: Floor?
    private let goal: Double?
    private var count = 1
    private var floorCount = 1
    private var isCalibrated = false
    private var attempts = 1
    private var samples: [Times] = []
    /// One more than samples: before the first, between them, and after the last.
    private var floorSamples: [Double] = []

    init(_ options: Options, _ floor: Floor?, goal: Double?) {
        self.options = options
        self.floor = floor
        self.goal = goal
    }

    /// How many operations the next repetition has; nil when there have been enough.
    mutating func next() throws -> Int? {
        guard isCalibrated else { return count }
        if samples.count == options.repetitions {
            try addFloor()
            // A check is about the program and not about what else the machine had to do in a quarter of a second.
            guard options.checksGoals, attempts < 3, ratio > goal ?? .infinity else { return nil }
            attempts += 1
            samples = []
            floorSamples = []
        }
        try addFloor()
        return count
    }

    /// Records how long the repetition took.
    mutating func add(_ times: Times) {
        if isCalibrated {
            samples.append(times)
        } else if let next = nextCount(after: count, times) {
            count = next
        } else {
            isCalibrated = true
        }
    }

    private mutating func addFloor() throws {
        guard let floor else { return }
        let body = try floor.prepare()
        // The first calls on a new socket allocate what the kernel keeps for it.
        body(1)
        while true {
            let start = Times.now
            body(floorCount)
            let times = start.elapsed
            guard floorSamples.isEmpty, let next = nextCount(after: floorCount, times) else {
                return floorSamples.append(Double(times.cpu) / Double(floorCount) * floor.factor)
            }
            floorCount = next
        }
    }

    /// A count that lasts as long as a repetition shall; nil when `count` did.
    private func nextCount(after count: Int, _ times: Times) -> Int? {
        let wanted = options.repetitionMilliseconds * 1e6
        let passed = Double(times.cpu)
        guard passed < wanted * 0.7 else { return nil }
        return max(count + 1, Int(min(10, wanted / max(passed, 1)) * Double(count)))
    }

    /// The median of what each repetition cost, compared with the floor right before and after it.
    private var ratio: Double {
        guard floor != nil else { return .nan }
        return median(
            samples.indices.map { index in
                2 * Double(samples[index].cpu) / Double(count) / (floorSamples[index] + floorSamples[index + 1])
            })
    }

    /// With how many operations allocations are counted.
    var countedOperations: Int { min(count, 5000) }

    func measurement(
        _ name: String, allocationGoal: Double?, _ allocations: benchmark_allocations
    ) -> Measurement {
        Measurement(
            name: name, cpu: median(samples.map { Double($0.cpu) / Double(count) }),
            wall: median(samples.map { Double($0.wall) / Double(count) }),
            allocations: Double(allocations.count) / Double(countedOperations), goal: goal,
            allocationGoal: allocationGoal,
            floor: floor.map { Measurement.FloorCost(name: $0.name, cpu: median(floorSamples), ratio: ratio) })
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.filter { !$0.isNaN }.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// The clocks at one moment, or what has passed on them, in nanoseconds.
struct Times {
    var cpu: UInt64
    var wall: UInt64

    static var now: Times {
        Times(cpu: nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall: nanoseconds(CLOCK_MONOTONIC))
    }

    /// What has passed since then.
    var elapsed: Times {
        let now = Times.now
        return Times(cpu: now.cpu - cpu, wall: now.wall - wall)
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Uses `value`, as far as the compiler can tell.
@inline(__always)
func consume(_ value: some BinaryInteger) {
    benchmark_consume(UInt64(truncatingIfNeeded: value))
}
