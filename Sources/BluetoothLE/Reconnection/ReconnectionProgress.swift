import BluetoothLoop
import BluetoothPrimitives

/// The attempts since the last link and the consecutive failures, by which a policy decides what follows.
struct ReconnectionProgress: Hashable, Sendable {
    /// The shortest delay after a peer without the key of its bond has answered: the bonded device may answer later, or
    /// get its key back, but an attempt rarely helps.
    static let keyMissingDelay = Duration.seconds(60)

    private let policy: ReconnectionPolicy
    private var attempts = 0
    private var failures = 0
    /// Whether the last attempts, and how many, met a peer without the key of its bond.
    private var keyMissingCount = 0

    init(_ policy: ReconnectionPolicy) {
        self.policy = policy
    }

    /// Begins an attempt; returns its number since the last link, from 1.
    mutating func beginAttempt() -> Int {
        attempts += 1
        return attempts
    }

    /// Whether the attempts are not reported: the first one that met a peer without the key of its bond was.
    var isSilent: Bool { keyMissingCount > 0 }

    /// Whether the failure of the last attempt is not reported, since the one before it was the same.
    var isRepeated: Bool { keyMissingCount > 1 }

    /// Records that the attempt has failed.
    mutating func attemptFailed(_ reason: BluetoothError) {
        failures += 1
        keyMissingCount = reason.pairingFailure == .keyMissing ? keyMissingCount + 1 : 0
    }

    /// Records that the link of the attempt has ended after this time; a short one counts as a failure.
    mutating func linkEnded(after duration: Duration) {
        (attempts, keyMissingCount) = (0, 0)
        failures = duration < policy.minimumLinkDuration ? failures + 1 : 0
    }

    /// Whether another attempt follows an attempt or a link that ended for this reason.
    func isWorthRetrying(_ reason: BluetoothError) -> Bool {
        policy.isWorthRetrying(reason, failures: failures)
    }

    /// The delay before the next attempt. The time and a number of the device make it random.
    func delay(at now: KernelInstant, for number: UInt64) -> Duration {
        let chance = UInt64(bitPattern: now.nanoseconds) &* 0x9E37_79B9_7F4A_7C15 ^ number
        let delay = policy.delay(afterFailures: failures, chance: chance &* 0xBF58_476D_1CE4_E5B9)
        return keyMissingCount > 0 ? max(delay, Self.keyMissingDelay) : delay
    }
}
