import BluetoothKernel

// What a link's adapter has to do with its end.
extension Connection {
    /// Why the link has ended, whose socket says `error`; nil when ``finish(_:)`` tells it later.
    func reasonOfEnd(_ error: KernelError) -> BluetoothError? {
        let own = attachment?.reasonOfEnd(peer, error) ?? .disconnected(peer, error)
        // The peer's own word is beyond doubt.
        if own.cause == .controller(.remoteUserTerminatedConnection) { return own }
        return reason(of: error, otherwise: own)
    }

    /// The adapter, if that is why a socket of the link ended with `error`, or `other`; nil when ``finish(_:)`` tells
    /// which it is later, within five seconds.
    func reason(of error: KernelError, otherwise other: BluetoothError) -> BluetoothError? {
        guard let adapter else { return other }
        let explanation = adapter.assumeIsolated { adapter in
            adapter.explainLinkEnd(error, isLocal: other.disconnectReason == .localHost) { [weak self] reason in
                self?.assumeIsolated { $0.finish(reason.map { other.caused(by: $0) } ?? other) }
            }
        }
        switch explanation {
        case .adapter(let reason): return other.caused(by: reason)
        case .other: return other
        case .pending: return nil
        }
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
