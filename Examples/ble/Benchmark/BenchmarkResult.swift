import BluetoothLE

/// What is measured.
enum BenchmarkMeasurement: String, Sendable, CaseIterable {
    case writeLatency = "write request"
    case readLatency = "read"
    case echoLatency = "command and echo"
    case writeCommands = "write commands"
    case writeRequests = "write requests"
    case notifications = "notifications"
    case indications = "indications"

    /// The group that the command line names.
    var group: BenchmarkGroup {
        switch self {
        case .writeLatency, .readLatency, .echoLatency: .latency
        case .writeCommands, .writeRequests: .up
        case .notifications, .indications: .down
        }
    }
}

/// The measurements that the command line names together.
enum BenchmarkGroup: String, Sendable, CaseIterable {
    case latency, up, down
}

/// The end of each measurement: after a number of packets, a time, or whichever comes first.
struct BenchmarkLimit: Sendable {
    var count: Int?
    var duration: Duration?

    func allows(_ done: Int, after time: Duration) -> Bool {
        done < count ?? .max && time < duration ?? .seconds(Int64.max >> 1)
    }
}

/// The result of a measurement of round trips.
struct LatencyResult: Sendable {
    var measurement: BenchmarkMeasurement
    /// The number of bytes of a value.
    var size: Int
    var durations = DurationStatistics()
    /// The answers that differ from what was sent.
    var corrupted = 0
    /// Whether the measurement has not been interrupted.
    var isComplete = false
}

/// The result of a measurement of throughput.
struct ThroughputResult: Sendable {
    var measurement: BenchmarkMeasurement
    var size: Int
    /// The number of packets that the sender has sent; nil if it has not said so.
    var sent: Int?
    /// What the receiver has counted; nil if it has not said so.
    var counts: PacketCounts?
    /// From the first request until everything has arrived.
    var time = Duration.zero
    var isComplete = false

    /// Received bytes per second; nil if nothing was received, or in no time.
    var rate: Double? {
        guard let counts, time > .zero else { return nil }
        return Double(counts.bytes) / (time / .seconds(1))
    }

    var lost: Int? {
        guard let sent, let counts else { return nil }
        return counts.lost(of: sent)
    }
}

/// A result, and the error that has ended the measurement.
typealias BenchmarkOutcome<Result> = (result: Result, failure: (any Error)?)
