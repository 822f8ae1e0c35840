import BluetoothSockets

/// When to connect again, and when to give up.
///
/// A device that is merely away costs nothing and is not tried again and again: the controller listens for it, and
/// connects when it is heard. Delays are for links that fail to be established, or that end right after they came up.
public struct ReconnectionPolicy: Hashable, Sendable {
    /// The delay after the first failure in a row.
    public var initialDelay: Duration
    /// How many times longer each further delay is.
    public var multiplier: Double
    /// The longest delay.
    public var maximumDelay: Duration
    /// By which part of itself a delay may be longer or shorter, 0 to 1, so that many devices do not come back at once.
    public var jitter: Double
    /// How many failures in a row end it; nil for none.
    public var maximumFailures: Int?
    /// A link that lasted for less than this counts as a failure.
    public var minimumLinkDuration: Duration
    /// Whether to wait for an adapter that was switched off or unplugged; otherwise its end is the end.
    public var waitsForAdapter: Bool

    /// A policy with the usual choices: half a second, twice as long each time up to a minute, for ever.
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

    /// How long to wait after so many failures in a row; `chance` is any number.
    func delay(afterFailures count: Int, chance: UInt64) -> Duration {
        guard count > 0 else { return .zero }
        let longest = Double(max(0, maximumDelay.clampedNanoseconds))
        var nanoseconds = Double(max(0, initialDelay.clampedNanoseconds))
        for _ in 1..<min(max(count, 1), 64) where nanoseconds < longest { nanoseconds *= max(1, multiplier) }
        nanoseconds = min(nanoseconds, longest)
        // From −1 to 1.
        let swing = Double(chance >> 11) / Double(1 << 52 as UInt64) - 1
        nanoseconds *= 1 + swing * min(max(jitter, 0), 1)
        // Also what is no number, such as an infinite multiplier makes of zero, is no delay.
        guard nanoseconds.isFinite, nanoseconds > 0 else { return .zero }
        return .nanoseconds(Int64(min(nanoseconds, 1e18)))
    }

    /// Whether an attempt, or a link, that ended for this reason is worth another.
    func isWorthAnother(_ reason: BluetoothError, failures: Int) -> Bool {
        switch reason.code {
        case .invalidArgument, .unsupported, .notPermitted, .noBluetooth, .cancelled: return false
        default: break
        }
        if reason.concernsAdapter { return waitsForAdapter }
        // Pairing that is missing or wrong does not mend itself.
        if reason.disconnectReason == .authentication { return false }
        return maximumFailures.map { failures < $0 } ?? true
    }
}

extension BluetoothError {
    /// Whether it is the adapter that is in the way.
    var concernsAdapter: Bool {
        [.adapterOff, .adapterBlocked, .noAdapter].contains(code)
            || disconnectReason == .adapterOff || disconnectReason == .adapterRemoved
    }
}
