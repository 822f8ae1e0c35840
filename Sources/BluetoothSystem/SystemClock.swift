/// The wall clock.
public enum SystemClock {
    /// The time in microseconds since 1970 in UTC (`CLOCK_REALTIME`).
    public static var microsecondsSince1970: Int64 {
        var time = timespec()
        _ = clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }
}

/// The time of `CLOCK_MONOTONIC`.
@inlinable
package func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    _ = clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
