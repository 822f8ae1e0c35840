import BluetoothHost
import BluetoothSockets

/// What an adapter has to do with the end of a link.
private enum LinkEndExplanation {
    /// It is the reason.
    case adapter(BluetoothError)
    /// Nothing.
    case other
    /// That is not known yet.
    case pending
}

/// Says of the end of a link, or of a channel, whether it is the adapter's doing.
///
/// A link whose adapter is powered off, blocked or unplugged ends like one that the peer or another program has ended:
/// its socket says so before the management socket does, with an error that fits either. So the adapter is asked.
package final class LinkEnds {
    private let mark: ComponentCount.Mark
    /// How long a link whose end this machine has caused waits for the adapter to be off. Powering off, the kernel ends
    /// all links first and gives the controller two seconds for each command.
    private static let powerOffLimit = Duration.seconds(5)

    /// A link whose end is to be explained.
    private struct Waiting {
        let timer: LoopTimer
        let completion: (BluetoothError?) -> Void
    }

    private let facts: AdapterFacts
    private let directory: any HostDirectory
    private let loop: EventLoop
    /// How the adapter stands, as far as it has been told.
    private let state: () -> AdapterState
    /// Whether the controller has said that it is being switched off.
    private let isPoweringOff: () -> Bool
    private var waiting: [UInt64: Waiting] = [:]
    private var nextID: UInt64 = 0
    private var isClosed = false

    package init(
        of facts: AdapterFacts, _ directory: any HostDirectory, on loop: EventLoop,
        state: @escaping () -> AdapterState, isPoweringOff: @escaping () -> Bool
    ) {
        mark = loop.components.mark("LinkEnds")
        self.facts = facts
        self.directory = directory
        self.loop = loop
        self.state = state
        self.isPoweringOff = isPoweringOff
    }

    /// How many links wait to be explained.
    package var waitingCount: Int { waiting.count }

    /// The adapter, if that is why a link's or a channel's socket ended with `error`, or `other`; nil when `completion` is
    /// called on the loop with either, within five seconds.
    ///
    /// `isLocal` is whether the controller says that this machine has ended the link, where it has said anything.
    package func reason(
        of error: KernelError, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError? {
        switch explain(error, isLocal: isLocal) {
        case .adapter(let reason): return other.caused(by: reason)
        case .other: return other
        case .pending:
            wait { reason in completion(reason.map { other.caused(by: $0) } ?? other) }
            return nil
        }
    }

    private func explain(_ error: KernelError, isLocal: Bool) -> LinkEndExplanation {
        switch error.number {
        case .connectionAborted, .connectionReset, .networkDown, .hostUnreachable, .noSuchDevice, .brokenPipe: break
        default: return .other
        }
        if isClosed { return .other }
        let information = facts.information
        // What has happened to the adapter is taken in before it is told.
        directory.look(at: information.index)
        let operation = BluetoothError.Operation("use the link", adapter: information.name)
        if let reason = BluetoothError.unavailable(state(), operation) { return .adapter(reason) }
        // Which error a socket gets when its adapter is powered off depends on the controller; the peer's doing it is not
        // where either says that it was this machine's.
        let isOurs = isLocal || error.number == .connectionAborted || isPoweringOff()
        return isOurs ? .pending : .other
    }

    private func wait(_ completion: @escaping (BluetoothError?) -> Void) {
        let id = nextID
        nextID &+= 1
        let timer = loop.makeLocalTimer { [weak self] in self?.complete(id, nil) }
        timer.set(after: Self.powerOffLimit)
        waiting[id] = Waiting(timer: timer, completion: completion)
    }

    private func complete(_ id: UInt64, _ reason: BluetoothError?) {
        waiting.removeValue(forKey: id)?.completion(reason)
    }

    /// Tells those that wait for it that the adapter is why, or, with nil, that it is not.
    package func completeAll(_ reason: BluetoothError?) {
        for id in waiting.keys.sorted() { complete(id, reason) }
    }

    /// The adapter is closed: no link's end is its doing any more.
    package func close() {
        isClosed = true
        completeAll(nil)
    }
}

extension BluetoothError {
    /// This end of a link, or of an attempt at one, with the adapter's reason.
    fileprivate func caused(by reason: BluetoothError) -> BluetoothError {
        var error = reason
        error.operation = operation
        error.operation.adapter = reason.operation.adapter
        error.cause = cause
        error.disconnectReason =
            switch reason.code {
            case .noAdapter: .adapterRemoved
            case .adapterBlocked: .adapterBlocked
            default: .adapterOff
            }
        return error
    }
}
