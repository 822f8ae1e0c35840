#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An instant of a kernel's monotonic clock, real or virtual.
public struct KernelInstant: InstantProtocol, Hashable, Sendable {
    /// The time since the clock's zero in nanoseconds.
    public var nanoseconds: Int64

    /// The instant `nanoseconds` after the clock's zero.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The instant before all others.
    public static let distantPast = KernelInstant(nanoseconds: .min)

    /// The instant after `duration`, clamped to the clock's range.
    public func advanced(by duration: Duration) -> KernelInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        return KernelInstant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The duration from this instant to `other`.
    public func duration(to other: KernelInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// The duration from `now` to this instant; zero when it has passed.
    package func remaining(at now: KernelInstant) -> Duration { max(.zero, now.duration(to: self)) }

    /// Whether `left` is before `right`.
    public static func < (left: KernelInstant, right: KernelInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension KernelInstant: CustomStringConvertible {
    /// The time since the clock's zero, on Linux the start of the machine: `5.006238241 seconds`.
    public var description: String {
        let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = String(rest)
        return (nanoseconds < 0 ? "-" : "") + "\(seconds)." + String(repeating: "0", count: 9 - fraction.count)
            + fraction + " seconds"
    }
}

// Both clocks are read anew at each call, since the time of day may be set, and the kernel's clock stops while the machine
// is suspended.
extension KernelInstant {
    /// The same instant on the continuous clock.
    ///
    /// Its distance to now is that on the loop's clock: it leaves out the time for which the machine was suspended in
    /// between, and in a simulation's virtual time it is virtual.
    /// - Parameter loop: The event loop of the adapter whose clock measured the instant.
    public func continuousInstant(on loop: EventLoop) -> ContinuousClock.Instant {
        .now.advanced(by: loop.now.duration(to: self))
    }

    /// The same instant in seconds since 1970 (UTC), by the time of day at the call.
    ///
    /// Its distance to now is that of ``continuousInstant(on:)``.
    /// - Parameter loop: The event loop of the adapter whose clock measured the instant.
    public func secondsSince1970(on loop: EventLoop) -> Double {
        (.microseconds(SystemClock.microsecondsSince1970) + loop.now.duration(to: self)) / .seconds(1)
    }
}

/// The wall clock.
package enum SystemClock {
    /// The time in microseconds since 1970 in UTC (`CLOCK_REALTIME`).
    package static var microsecondsSince1970: Int64 {
        var time = timespec()
        _ = clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to 64 bits (about ±292 years).
    package var clampedNanoseconds: Int64 {
        // The components of longer durations would not be representable either.
        guard self < .nanoseconds(Int64.max) else { return .max }
        guard self > .nanoseconds(Int64.min) else { return .min }
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}
