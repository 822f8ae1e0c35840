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
        return adapter.assumeIsolated { adapter in
            adapter.reasonOfEnd(error, otherwise: other, isLocal: other.disconnectReason == .localHost) {
                [weak self] reason in self?.assumeIsolated { $0.finish(reason) }
            }
        }
    }
}
