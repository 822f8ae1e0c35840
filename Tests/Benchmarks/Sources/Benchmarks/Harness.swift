import CBenchmarkSupport
import Glibc

/// The minimum work of an operation, measured next to each repetition of the workload.
struct Floor: Sendable {
    let name: String
    /// The number of its operations per operation of the workload.
    var factor = 1.0
    /// Whether it consists of system calls, whose cost in relation to the processor's differs between machines.
    var isSystemCalls = false
    /// Prepares one repetition; returns a function that performs the operation a given number of times.
    ///
    /// Called for each repetition: a socket's place in the kernel's memory changes the cost of its calls by a
    /// fifth.
    let prepare: @Sendable () throws -> (Int) -> Void
}

/// The cost of one workload, per operation.
struct Measurement {
    /// The operation.
    var name: String
    /// Processor time of all threads, the median of the repetitions, in nanoseconds.
    var cpu: Double
    /// Elapsed time, the median of the repetitions, in nanoseconds.
    var wall: Double
    /// Allocations, counted in a separate pass.
    var allocations: Double
    /// The upper limit of the ratio to the floor; where the floor consists of system calls, of the work above it.
    var goal: Double?
    /// The upper limit of the allocations.
    var allocationGoal: Double?
    /// The floor.
    var floor: FloorCost?

    /// The cost of a floor next to a workload.
    struct FloorCost {
        var name: String
        /// Processor time, the median of the repetitions, in nanoseconds.
        var cpu: Double
        /// The median of the ratios of neighbouring repetitions.
        var ratio: Double
        /// The time above the floor, in multiples of `malloc` and `free`, the median of neighbouring repetitions; nil
        /// if the floor does not consist of system calls.
        var work: Double?
        /// From the lowest to the highest ratio of several runs.
        var range: ClosedRange<Double>?

        /// The figure to which the goal applies.
        var limited: Double { work ?? ratio }
    }

    /// The ratio to the floor's cost.
    var ratio: Double? { floor?.ratio }

    /// A workload that was not selected.
    static func left(out name: String) -> Measurement {
        Measurement(name: name, cpu: .nan, wall: .nan, allocations: .nan)
    }

    /// Whether it has been measured.
    var isMeasured: Bool { !cpu.isNaN }

    /// Whether it meets its goals.
    var meetsGoals: Bool { meetsGoals(tolerance: 1) }

    /// Whether its allocations meet their goal, and its time exceeds its own at most by the factor.
    func meetsGoals(tolerance: Double) -> Bool {
        guard isMeasured else { return true }
        // Excludes one-time allocations of growing queues and buffers.
        let isSparing = allocations <= (allocationGoal ?? .infinity) + 0.05
        return floor?.limited ?? 0 <= goal.map { $0 * tolerance } ?? .infinity && isSparing
    }

    /// The factor by which a time may exceed its goal in a check: machines of the same kind differ by half in what a
    /// cache miss costs against an allocation.
    static let tolerance = 1.5
}

/// The extent of the measurement.
struct Options {
    /// The duration of a repetition in milliseconds.
    var repetitionMilliseconds = 8.0
    /// The number of repetitions of a workload; the median counts.
    var repetitions = 21
    /// The number of runs; the median counts.
    var runs = 1
    /// The processor core to run on.
    var core = 0
    /// The number of operations of each workload, once and without floors, for a profiler; nil for as many as last long
    /// enough.
    var operations: Int?
    /// The seconds for which idle connections are observed.
    var idleSeconds = 3.0
    /// The output format.
    var output = Output.tables
    /// Exit with an error if a goal is missed.
    var checksGoals = false
    /// Only workloads whose group contains one of these; all if empty.
    var groups: [String] = []
    /// Only workloads whose name contains this.
    var only = ""

    enum Output { case tables, json, summary }
}

/// Measures workloads in turn.
struct Harness {
    let options: Options

    /// Measures `body`, which performs the operation a given number of times.
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

    /// Measures an asynchronous `body`, which performs the operation a given number of times.
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

/// The repetitions of one workload: determines how many operations last long enough, then alternates repetitions of the
/// workload and of its floor, so that a slower machine affects both.
private struct Series {
    private let options: Options
    private let floor: Floor?
    private let goal: Double?
    private var count: Int
    private var floorCount = 1
    private var isCalibrated: Bool
    private var attempts = 1
    private var samples: [Times] = []
    /// One more than samples: before the first, between them, and after the last.
    private var floorSamples: [Double] = []
    /// The cost of `malloc` and `free` next to the floor's samples, where the floor consists of system calls.
    private var processorSamples: [Double] = []

    init(_ options: Options, _ floor: Floor?, goal: Double?) {
        self.options = options
        self.floor = options.operations == nil ? floor : nil
        self.goal = goal
        count = options.operations ?? 1
        isCalibrated = options.operations != nil
    }

    /// The number of operations of the next repetition; nil after the last.
    mutating func next() throws -> Int? {
        guard isCalibrated else { return count }
        if samples.count == options.repetitions {
            try addFloor()
            // A check tests the program, not the load of the machine during a quarter of a second.
            let limit = goal.map { $0 * Measurement.tolerance } ?? .infinity
            guard options.checksGoals, attempts < 3, work ?? ratio > limit else { return nil }
            attempts += 1
            samples = []
            floorSamples = []
            processorSamples = []
        }
        try addFloor()
        return count
    }

    /// Records the duration of the repetition.
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
        let (cost, count) = try Self.cost(of: floor, floorCount) { count, times in
            floorSamples.isEmpty ? nextCount(after: count, times) : nil
        }
        floorCount = count
        floorSamples.append(cost * floor.factor)
        guard floor.isSystemCalls else { return }
        processorSamples.append(try Self.cost(of: .allocation, Self.allocationCount) { _, _ in nil }.cost)
    }

    /// The number of allocations per sample, about 2 ms.
    private static let allocationCount = 150_000

    /// The cost of one operation of a floor, and the number of operations that were measured.
    private static func cost(
        of floor: Floor, _ count: Int, next: (Int, Times) -> Int?
    ) throws -> (cost: Double, count: Int) {
        let body = try floor.prepare()
        // The first calls on a new socket allocate the kernel's state for it.
        body(1)
        var count = count
        while true {
            let start = Times.now
            body(count)
            let times = start.elapsed
            guard let more = next(count, times) else { return (Double(times.cpu) / Double(count), count) }
            count = more
        }
    }

    /// A count that lasts as long as a repetition should; nil if `count` did.
    private func nextCount(after count: Int, _ times: Times) -> Int? {
        let wanted = options.repetitionMilliseconds * 1e6
        let passed = Double(times.cpu)
        guard passed < wanted * 0.7 else { return nil }
        return max(count + 1, Int(min(10, wanted / max(passed, 1)) * Double(count)))
    }

    /// The median of the repetitions, compared with the floor right before and after each.
    private var ratio: Double {
        guard floor != nil else { return .nan }
        return median(
            samples.indices.map { index in
                2 * Double(samples[index].cpu) / Double(count) / (floorSamples[index] + floorSamples[index + 1])
            })
    }

    /// The median of the time above the floor, in multiples of `malloc` and `free`; nil if the floor does not consist
    /// of system calls.
    private var work: Double? {
        guard floor?.isSystemCalls == true else { return nil }
        return median(
            samples.indices.map { index in
                let floors = (floorSamples[index] + floorSamples[index + 1]) / 2
                let processor = (processorSamples[index] + processorSamples[index + 1]) / 2
                return (Double(samples[index].cpu) / Double(count) - floors) / processor
            })
    }

    /// The number of operations for counting allocations.
    var countedOperations: Int { options.operations ?? min(count, 5000) }

    func measurement(
        _ name: String, allocationGoal: Double?, _ allocations: benchmark_allocations
    ) -> Measurement {
        Measurement(
            name: name, cpu: median(samples.map { Double($0.cpu) / Double(count) }),
            wall: median(samples.map { Double($0.wall) / Double(count) }),
            allocations: Double(allocations.count) / Double(countedOperations), goal: goal,
            allocationGoal: allocationGoal,
            floor: floor.map {
                Measurement.FloorCost(name: $0.name, cpu: median(floorSamples), ratio: ratio, work: work)
            })
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.filter { !$0.isNaN }.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// A reading of the clocks, or the difference of two, in nanoseconds.
struct Times {
    var cpu: UInt64
    var wall: UInt64

    static var now: Times {
        Times(cpu: nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall: nanoseconds(CLOCK_MONOTONIC))
    }

    /// The time since an earlier reading.
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

/// Consumes `value` from the compiler's point of view.
@inline(__always)
func consume(_ value: some BinaryInteger) {
    benchmark_consume(UInt64(truncatingIfNeeded: value))
}
