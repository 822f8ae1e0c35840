/// The time limits of a bearer.
package enum BearerTimer: Hashable, Sendable, CaseIterable {
    /// The peer has to answer a request (Core Vol 3 Part F §3.3.3).
    case request
    /// The peer has to confirm an indication.
    case indication
}

/// Which time limits run, and for what.
struct BearerTimers: Hashable, Sendable {
    private var request: UInt64?
    private var indication: UInt64?

    /// The next timer to be set (anew) or cancelled, given what is in flight now; nil when all are right.
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
