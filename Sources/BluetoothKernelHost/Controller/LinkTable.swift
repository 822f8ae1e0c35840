import BluetoothHost
import BluetoothSockets
import BluetoothHCI

/// What a controller has told of its links, ours and everybody's.
///
/// A handle is given again after its link has ended, so links of ours go by a number that never is.
struct LinkTable {
    /// One link of ours.
    struct Entry {
        let handle: ConnectionHandle
        /// What it runs with; nil where the controller's events are not for us to see.
        var parameters: LEActiveConnectionParameters?
        /// The size of its packets; nil until it is told.
        var dataLength: LEDataLengthChange?
        /// Why it ended, between Disconnection Complete and the end of its socket.
        var endReason: HCIStatus?
        /// Who wants to know when it is encrypted.
        var onEncrypted: (() -> Void)?
        /// Made when somebody waits or listens.
        var watch: LinkWatch?
    }

    /// How many connections are being made: their events are about to come.
    var connecting = 0
    private(set) var entries: [UInt64: Entry] = [:]
    private var numbers: [ConnectionHandle: UInt64] = [:]
    /// What links run with that are not ours, or not yet. Not more than there are handles.
    private var others: [ConnectionHandle: LEActiveConnectionParameters] = [:]
    private var nextNumber: UInt64 = 0

    /// Whether the controller's events are of use to somebody.
    var isIdle: Bool { connecting == 0 && entries.isEmpty }

    subscript(number: UInt64) -> Entry? {
        get { entries[number] }
        set { entries[number] = newValue }
    }

    /// Who wants to know when the link of ours with this handle is encrypted.
    func encryptionHandler(of handle: ConnectionHandle) -> (() -> Void)? {
        numbers[handle].flatMap { entries[$0]?.onEncrypted }
    }

    /// A link of ours has come up.
    mutating func add(_ handle: ConnectionHandle, onEncrypted: (() -> Void)? = nil) -> UInt64 {
        nextNumber += 1
        entries[nextNumber] = Entry(
            handle: handle, parameters: others.removeValue(forKey: handle), onEncrypted: onEncrypted)
        numbers[handle] = nextNumber
        return nextNumber
    }

    /// A link of ours is of no more use.
    mutating func remove(_ number: UInt64) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if numbers[entry.handle] == number { numbers[entry.handle] = nil }
        return entry
    }

    /// Forgets what was told of links that are not ours, when nothing is listened to any more.
    mutating func forgetOthers() {
        others = [:]
    }

    /// Nothing will be told any more.
    mutating func end(_ reason: BluetoothError) {
        for number in entries.keys {
            entries[number]?.watch?.end(reason)
            entries[number]?.watch = nil
        }
    }

    /// The number of the link of ours that has this handle now.
    func number(of handle: ConnectionHandle) -> UInt64? { numbers[handle] }

    /// A link has come up, not known whose.
    mutating func began(_ event: LEConnectionComplete) {
        guard event.status.isSuccess else { return }
        if let number = numbers[event.handle] {
            entries[number]?.parameters = event.parameters
        } else {
            others[event.handle] = event.parameters
        }
    }

    /// A link has other parameters.
    mutating func updated(_ event: LEConnectionUpdateComplete) {
        guard event.status.isSuccess else { return }
        if let number = numbers[event.handle] {
            entries[number]?.parameters = event.parameters
        } else {
            others[event.handle] = event.parameters
        }
    }

    /// A link has ended; its handle may be given again.
    mutating func ended(_ event: HCIDisconnectionComplete) {
        others[event.handle] = nil
        guard let number = numbers.removeValue(forKey: event.handle) else { return }
        entries[number]?.endReason = event.reason
    }
}

/// Who waits for something to happen to a link, and who wants to know of everything that does.
final class LinkWatch {
    /// What one waits for.
    enum Procedure: Hashable {
        case parameters(LEConnectionParameters)
        case phys
    }

    private var waiters: [Procedure: WaiterList<LinkChange, BluetoothError>] = [:]
    /// Who is told of changes.
    var onChange: ((Result<LinkChange, BluetoothError>) -> Void)?
    /// The parameters to insist on, and how.
    var insistence: ParameterInsistence?

    /// Waits for the end of a procedure from now on.
    func waiter(for procedure: Procedure) -> Promise<LinkChange, BluetoothError> {
        waiters = waiters.filter { !$0.value.isEmpty }
        return waiters[procedure, default: WaiterList()].makePromise()
    }

    /// Ends the wait for the procedures that have ended like this.
    func resolve(_ result: Result<LinkChange, BluetoothError>, where hasEnded: (Procedure) -> Bool) {
        for procedure in waiters.keys where hasEnded(procedure) { waiters[procedure]?.resolveAll(result) }
    }

    /// Tells whoever listens.
    func tell(_ change: LinkChange) { onChange?(.success(change)) }

    /// Ends everybody's wait.
    func end(_ reason: BluetoothError) {
        resolve(.failure(reason)) { _ in true }
        onChange?(.failure(reason))
        (onChange, insistence) = (nil, nil)
    }
}

/// Parameters that a link shall run with, whatever its peer asks for.
///
/// The kernel grants a peer's request by itself, so all that can be done is to ask for ours again; with a peer that does
/// the same it would never end, so after three times it is left until there was quiet.
struct ParameterInsistence {
    let range: LEConnectionParameters
    private var attempts = 0
    private var lastAttempt: KernelInstant?

    /// How often in a row, and how long it has to be quiet.
    static let limit = 3
    static let quiet = Duration.seconds(30)

    init(_ range: LEConnectionParameters) {
        self.range = range
    }

    /// Whether to ask again, now that the link runs with `parameters`.
    mutating func shallAsk(for parameters: LEActiveConnectionParameters, at now: KernelInstant) -> Bool {
        guard !range.includes(parameters) else { return false }
        if let lastAttempt, lastAttempt.duration(to: now) >= Self.quiet { attempts = 0 }
        guard attempts < Self.limit else { return false }
        attempts += 1
        lastAttempt = now
        return true
    }
}

extension LEConnectionParameters {
    /// Whether a link that runs with `parameters` has what these ask for.
    func includes(_ parameters: LEActiveConnectionParameters) -> Bool {
        parameters.interval >= intervalMinimum && parameters.interval <= intervalMaximum
            && parameters.latency == latency && parameters.supervisionTimeout == supervisionTimeout
    }
}
