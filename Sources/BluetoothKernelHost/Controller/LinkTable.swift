import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// The links of a controller, as its events report them: this program's and others'.
///
/// A handle is reused after its link has ended, so links of this program have a number that never is.
struct LinkTable {
    /// A link of this program.
    struct Entry {
        let handle: ConnectionHandle
        /// The parameters; nil where the controller's events are not available.
        var parameters: LEActiveConnectionParameters?
        /// The data length; nil until it is reported.
        var dataLength: LEDataLength?
        /// The reason for its end, between Disconnection Complete and the end of its socket.
        var endReason: HCIStatus?
        /// Called when the link is encrypted.
        var onEncrypted: (() -> Void)?
        /// The waiters and follower; created on first use.
        var watch: LinkWatch?
    }

    /// The number of connections being created, whose events are still to come.
    var connecting = 0
    private(set) var entries: [UInt64: Entry] = [:]
    private var numbers: [ConnectionHandle: UInt64] = [:]
    /// The parameters of links that are not ours, or not yet. There are at most as many as handles.
    private var others: [ConnectionHandle: LEActiveConnectionParameters] = [:]
    private var nextNumber: UInt64 = 0

    /// Whether no component needs the controller's events.
    var isIdle: Bool { connecting == 0 && entries.isEmpty }

    subscript(number: UInt64) -> Entry? {
        get { entries[number] }
        set { entries[number] = newValue }
    }

    /// The encryption handler of our link with this handle.
    func encryptionHandler(of handle: ConnectionHandle) -> (() -> Void)? {
        numbers[handle].flatMap { entries[$0]?.onEncrypted }
    }

    /// Adds a new link of this program.
    mutating func add(_ handle: ConnectionHandle, onEncrypted: (() -> Void)? = nil) -> UInt64 {
        nextNumber += 1
        entries[nextNumber] = Entry(
            handle: handle, parameters: others.removeValue(forKey: handle), onEncrypted: onEncrypted)
        numbers[handle] = nextNumber
        return nextNumber
    }

    /// Removes a link of this program.
    mutating func remove(_ number: UInt64) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if numbers[entry.handle] == number { numbers[entry.handle] = nil }
        return entry
    }

    /// The links that are not ours, or not yet.
    var otherHandles: [ConnectionHandle] { Array(others.keys) }

    /// Discards the links that are not ours, when no component follows the controller any longer.
    mutating func forgetOthers() {
        others = [:]
    }

    /// Ends all waits: no more events will arrive.
    mutating func end(_ reason: BluetoothError) {
        for number in entries.keys {
            entries[number]?.watch?.end(reason)
            entries[number]?.watch = nil
        }
    }

    /// The number of our link that has this handle now.
    func number(of handle: ConnectionHandle) -> UInt64? { numbers[handle] }

    /// Records a new link whose owner is not known yet.
    mutating func began(_ event: LEConnectionComplete) {
        guard event.status.isSuccess else { return }
        if let number = numbers[event.handle] {
            entries[number]?.parameters = event.parameters
        } else {
            others[event.handle] = event.parameters
        }
    }

    /// Records a link's new parameters.
    mutating func updated(_ event: LEConnectionUpdateComplete) {
        guard event.status.isSuccess else { return }
        if let number = numbers[event.handle] {
            entries[number]?.parameters = event.parameters
        } else {
            others[event.handle] = event.parameters
        }
    }

    /// Records a link's end; its handle may be reused.
    mutating func ended(_ event: HCIDisconnectionComplete) {
        others[event.handle] = nil
        guard let number = numbers.removeValue(forKey: event.handle) else { return }
        entries[number]?.endReason = event.reason
    }
}

/// The waiters for a link's procedures and the follower of its changes.
final class LinkWatch {
    /// A procedure to wait for.
    enum Procedure: Hashable {
        case parameters(LEConnectionParameters)
        case phys
    }

    private var waiters: [Procedure: WaiterList<LinkChange, BluetoothError>] = [:]
    /// The handler of changes.
    var onChange: ((Result<LinkChange, BluetoothError>) -> Void)?
    /// The parameters to enforce.
    var enforcer = ParameterEnforcer()

    /// A promise of a procedure's result, for procedures from now on.
    func waiter(for procedure: Procedure) -> Promise<LinkChange, BluetoothError> {
        waiters = waiters.filter { !$0.value.isEmpty }
        return waiters[procedure, default: WaiterList()].makePromise()
    }

    /// Resolves the procedures that have ended with this result.
    func resolve(_ result: Result<LinkChange, BluetoothError>, where hasEnded: (Procedure) -> Bool) {
        for procedure in waiters.keys where hasEnded(procedure) { waiters[procedure]?.resolveAll(result) }
    }

    /// Reports a change to the follower.
    func report(_ change: LinkChange) { onChange?(.success(change)) }

    /// Fails all waiters.
    func end(_ reason: BluetoothError) {
        resolve(.failure(reason)) { _ in true }
        onChange?(.failure(reason))
        onChange = nil
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
