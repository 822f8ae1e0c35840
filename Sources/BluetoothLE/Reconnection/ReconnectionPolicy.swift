import BluetoothSockets

/// The delays between connection attempts, and when to give up.
///
/// A device that is out of range costs nothing and is not tried repeatedly: the controller scans for it, and connects
/// when it advertises. Delays follow links that fail to be established, or that end right after they came up.
///
/// It gives up after ``maximumFailures``, when pairing fails, and at an error that no attempt changes: `.notPermitted`,
/// `.unsupported`, `.noBluetooth`, `.invalidArgument`.
public struct ReconnectionPolicy: Hashable, Sendable {
    /// The delay after the first of several consecutive failures.
    public var initialDelay: Duration
    /// The factor of each further delay.
    public var multiplier: Double
    /// The longest delay.
    public var maximumDelay: Duration
    /// The random part of a delay, 0 to 1 of it, longer or shorter, so that many devices do not reconnect at once.
    public var jitter: Double
    /// The number of consecutive failures after which it gives up; nil for no limit.
    public var maximumFailures: Int?
    /// The shortest duration of a link that does not count as a failure.
    public var minimumLinkDuration: Duration
    /// Whether to wait for an adapter that is off, blocked or absent; otherwise that ends the kept connection.
    public var waitsForAdapter: Bool

    /// Creates a policy; by default with delays of half a second, doubled up to a minute, without a limit of attempts.
    public init(
        initialDelay: Duration = .milliseconds(500), multiplier: Double = 2, maximumDelay: Duration = .seconds(60),
        jitter: Double = 0.2, maximumFailures: Int? = nil, minimumLinkDuration: Duration = .seconds(5),
        waitsForAdapter: Bool = true
    ) {
        self.initialDelay = initialDelay
        self.multiplier = multiplier
        self.maximumDelay = maximumDelay
        self.jitter = jitter
        self.maximumFailures = maximumFailures
        self.minimumLinkDuration = minimumLinkDuration
        self.waitsForAdapter = waitsForAdapter
    }

    /// The delay after a number of consecutive failures; `chance` is any number.
    func delay(afterFailures count: Int, chance: UInt64) -> Duration {
        guard count > 0 else { return .zero }
        let longest = Double(max(0, maximumDelay.clampedNanoseconds))
        var nanoseconds = Double(max(0, initialDelay.clampedNanoseconds))
        for _ in 1..<min(max(count, 1), 64) where nanoseconds < longest { nanoseconds *= max(1, multiplier) }
        nanoseconds = min(nanoseconds, longest)
        // From −1 to 1.
        let swing = Double(chance >> 11) / Double(1 << 52 as UInt64) - 1
        nanoseconds *= 1 + swing * min(max(jitter, 0), 1)
        // An infinite multiplier makes NaN of zero: no delay.
        guard nanoseconds.isFinite, nanoseconds > 0 else { return .zero }
        return .nanoseconds(Int64(min(nanoseconds, 1e18)))
    }

    /// Whether another attempt follows an attempt or a link that ended for this reason.
    func isWorthRetrying(_ reason: BluetoothError, failures: Int) -> Bool {
        switch reason.code {
        case .invalidArgument, .unsupported, .notPermitted, .noBluetooth, .cancelled: return false
        default: break
        }
        if reason.concernsAdapter { return waitsForAdapter }
        // Another attempt does not repair a wrong pairing. Where the key is missing, another device may have its address;
        // see ``ReconnectionProgress/keyMissingDelay``.
        if reason.disconnectReason == .authentication, reason.pairingFailure != .keyMissing { return false }
        return maximumFailures.map { failures < $0 } ?? true
    }
}

extension BluetoothError {
    /// Whether the adapter's state is the reason.
    package var concernsAdapter: Bool {
        [.adapterOff, .adapterBlocked, .noAdapter].contains(code)
            || disconnectReason == .adapterOff || disconnectReason == .adapterRemoved
    }
}
