/// The timers of a bearer.
package enum BearerTimer: Hashable, Sendable, CaseIterable {
    /// The time for the response to a request (Core Vol 3 Part F §3.3.3).
    case request
    /// The time for the confirmation of an indication.
    case indication
}

/// The running timers and the transactions they belong to.
struct BearerTimers: Hashable, Sendable {
    private var request: UInt64?
    private var indication: UInt64?

    /// The next timer to set (anew) or cancel for the outstanding transactions; nil when all timers match.
    mutating func nextChange(
        request: UInt64?, indication: UInt64?
    ) -> (timer: BearerTimer, isOn: Bool)? {
        if request != self.request {
            self.request = request
            return (.request, request != nil)
        }
        if indication != self.indication {
            self.indication = indication
            return (.indication, indication != nil)
        }
        return nil
    }
}
