import ArgumentParser
import BluetoothLE

/// What is measured.
enum BenchmarkMeasurement: String, Sendable, CaseIterable, ExpressibleByArgument {
    /// The round trip of a read.
    case latency
    /// Write Commands to the device.
    case up
    /// Notifications from the device.
    case down

    /// What is sent.
    var title: String {
        switch self {
        case .latency: "read"
        case .up: "write commands"
        case .down: "notifications"
        }
    }
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
    /// The number of bytes of the last value.
    var size = 0
    var durations = DurationStatistics()
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

/// The distribution of durations.
struct DurationStatistics: Sendable {
    private var durations: [Duration] = []

    mutating func add(_ duration: Duration) { durations.append(duration) }

    var count: Int { durations.count }

    /// Nil without durations.
    var minimum: Duration? { durations.min() }
    var maximum: Duration? { durations.max() }
    var mean: Duration? { durations.isEmpty ? nil : durations.reduce(.zero, +) / durations.count }

    /// The least duration that is not exceeded by `percent` of them: number ⌈count × percent / 100⌉ in ascending order.
    func percentile(_ percent: Int) -> Duration? {
        durations.isEmpty ? nil : durations.sorted()[max(1, (count * percent + 99) / 100) - 1]
    }
}
