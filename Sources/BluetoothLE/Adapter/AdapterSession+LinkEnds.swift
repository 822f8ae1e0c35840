import BluetoothKernel

/// What an adapter has to do with the end of a link.
private enum LinkEndExplanation {
    /// It is the reason.
    case adapter(BluetoothError)
    /// Nothing.
    case other
    /// That is not known yet, and is told later.
    case pending
}

// A link whose adapter is powered off, blocked or unplugged ends like one that the peer or another program has ended:
// its socket says so before the management socket does, with an error that fits either. So the adapter is asked.
extension AdapterSession {
    /// How long a link whose end this machine has caused waits for the adapter to be off. Powering off, the kernel ends
    /// all links first and gives the controller two seconds for each command.
    private static let powerOffLimit = Duration.seconds(5)

    /// The adapter, if that is why a link's or a channel's socket ended with `error`, or `other`; nil when `completion` is
    /// called on the loop with either, within five seconds.
    ///
    /// `isLocal` is whether the controller says that this machine has ended the link, where it has said anything.
    func reasonOfEnd(
        _ error: KernelError, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping @Sendable (BluetoothError) -> Void
    ) -> BluetoothError? {
        let explanation = explainLinkEnd(error, isLocal: isLocal) { reason in
            completion(reason.map { other.caused(by: $0) } ?? other)
        }
        switch explanation {
        case .adapter(let reason): return other.caused(by: reason)
        case .other: return other
        case .pending: return nil
        }
    }

    /// Tells whether the adapter is why a link's socket ended with `error`; when that is not known yet, `completion` is
    /// called on the loop within five seconds, with the reason if it is the adapter.
    private func explainLinkEnd(
        _ error: KernelError, isLocal: Bool, then completion: @escaping @Sendable (BluetoothError?) -> Void
    ) -> LinkEndExplanation {
        switch error.number {
        case .connectionAborted, .connectionReset, .networkDown, .hostUnreachable, .noSuchDevice, .brokenPipe: break
        default: return .other
        }
        if end != nil { return .other }
        lookAtAdapter()
        if let reason = BluetoothError.unavailable(standing.value, operation("use the link")) {
            return .adapter(reason)
        }
        // Which error a socket gets when its adapter is powered off depends on the controller; the peer's doing it is not
        // where either says that it was this machine's.
        guard isLocal || error.number == .connectionAborted || controller.value.isPoweringOff
        else { return .other }
        let id = life.nextLinkEnd
        life.nextLinkEnd &+= 1
        let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.completeLinkEnd(id, nil) } }
        timer.set(after: Self.powerOffLimit)
        life.linkEnds[id] = AdapterLife.LinkEnd(timer: timer, completion: completion)
        return .pending
    }

    private func completeLinkEnd(_ id: UInt64, _ reason: BluetoothError?) {
        life.linkEnds.removeValue(forKey: id)?.completion(reason)
    }

    /// Tells those that wait for it that the adapter is why, or, with nil, that it is not.
    func completeLinkEnds(_ reason: BluetoothError?) {
        for id in life.linkEnds.keys.sorted() { completeLinkEnd(id, reason) }
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
