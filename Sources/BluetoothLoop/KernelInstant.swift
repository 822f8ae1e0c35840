/// A moment on a kernel's monotonic clock, real or virtual.
public struct KernelInstant: InstantProtocol, Hashable, Sendable {
    /// Nanoseconds since the clock's own zero.
    public var nanoseconds: Int64

    /// A moment `nanoseconds` after the clock's zero.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Before every moment of a clock.
    public static let distantPast = KernelInstant(nanoseconds: .min)

    /// The moment `duration` later; beyond the clock's range, its last moment.
    public func advanced(by duration: Duration) -> KernelInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        return KernelInstant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// How long it is from here to `other`.
    public func duration(to other: KernelInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Whether `left` comes before `right`.
    public static func < (left: KernelInstant, right: KernelInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    /// Whole nanoseconds, held within what 64 bits express (292 years either way).
    public var clampedNanoseconds: Int64 {
        // The components of much longer ones would not be representable either.
        guard self < .nanoseconds(Int64.max) else { return .max }
        guard self > .nanoseconds(Int64.min) else { return .min }
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}
