import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// The links of a controller, as its events report them: this program's and others'.
struct LinkTable {
    /// The number of connections being created, whose events are still to come.
    var connecting = 0
    /// The number of links of this program, with those that have ended and are not dropped yet.
    private var count = 0
    /// The links of this program. A handle is reused after its link has ended.
    private var ours: [ConnectionHandle: WeakReference<KernelLink>] = [:]
    /// The parameters of links that are not ours, or not yet. There are at most as many as handles.
    private var others: [ConnectionHandle: LEActiveConnectionParameters] = [:]

    /// Whether no component needs the controller's events.
    var isIdle: Bool { connecting == 0 && count == 0 }

    /// Our link that has this handle now.
    subscript(handle: ConnectionHandle) -> KernelLink? { ours[handle]?.object }

    /// Adds a new link of this program.
    mutating func add(_ link: KernelLink) {
        count += 1
        link.parameters = others.removeValue(forKey: link.handle).map { ConnectionParameters($0) }
        ours[link.handle] = WeakReference(to: link)
    }

    /// Removes a link of this program, which has been dropped.
    mutating func remove(_ handle: ConnectionHandle) {
        count -= 1
        if self[handle] == nil { ours[handle] = nil }
    }

    /// The links that are not ours, or not yet.
    var otherHandles: [ConnectionHandle] { Array(others.keys) }

    /// Discards the links that are not ours, when no component follows the controller any longer.
    mutating func forgetOthers() {
        others = [:]
    }

    /// Ends all waits: no more events will arrive.
    func end(_ reason: BluetoothError) {
        for link in ours.values { link.object?.end(reason) }
    }

    /// Records the parameters of a new link, whose owner is not known yet, or a link's new ones.
    mutating func record(_ parameters: LEActiveConnectionParameters, of handle: ConnectionHandle) {
        if let link = self[handle] {
            link.parameters = ConnectionParameters(parameters)
        } else {
            others[handle] = parameters
        }
    }

    /// Records a link's end; its handle may be reused.
    mutating func ended(_ event: HCIDisconnectionComplete) {
        others[event.handle] = nil
        ours.removeValue(forKey: event.handle)?.object?.endReason = event.reason
    }
}

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
