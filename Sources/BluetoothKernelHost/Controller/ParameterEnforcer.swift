import BluetoothHCI
import BluetoothHost
import BluetoothLoop

/// The enforcement of a link's parameters against its peer's requests.
///
/// The kernel grants a peer's request, so the only means is to request ours again. Against a peer that does the same
/// this would never end, so it ends after three requests; a policy of the program pauses until the link was left alone
/// for a while.
struct ParameterEnforcer {
    /// Nil for whatever the peer requests.
    private var range: LEConnectionParameters?
    private var isPolicy = false
    private var attempts = 0
    private var lastAttempt: KernelInstant?

    /// The maximum number of requests in a row, and the pause that follows.
    static let limit = 3
    static let quiet = Duration.seconds(30)

    /// Enforces other parameters from now on, unless a policy takes precedence over what was requested once.
    mutating func keep(_ range: LEConnectionParameters?, isPolicy: Bool) {
        if isPolicy { self = ParameterEnforcer(isPolicy: true) } else if self.isPolicy { return }
        self.range = range
    }

    /// The parameters to request again, now that the link runs with `parameters`; nil for none.
    mutating func request(
        insteadOf parameters: LEActiveConnectionParameters, at now: KernelInstant
    ) -> LEConnectionParameters? {
        guard let range, !range.includes(parameters) else { return nil }
        if isPolicy, let lastAttempt, lastAttempt.duration(to: now) >= Self.quiet { attempts = 0 }
        guard attempts < Self.limit else { return nil }
        attempts += 1
        lastAttempt = now
        return range
    }
}
