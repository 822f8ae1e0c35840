import BluetoothHost
import BluetoothSockets

// The parts of a link's end that depend on its adapter.
extension Link {
    /// Returns the reason for the end of a bearer whose channel reports `error`; nil if it follows later.
    func reasonOfEnd(_ error: ChannelFailure, of bearer: ATTBearer) -> BluetoothError? {
        if let id = bearer.id { return enhancedBearersIfAny?.reasonOfEnd(error, of: id, self) }
        let channel = bearer.channel
        let said = attachment?.host.reasonOfEnd(peer, error)
        let own = channel.error(error, said.map { .linkSaid($0, peer) } ?? .link(peer))
        // The peer's own reason is certain, and so is the end of an earlier link.
        if own.cause == .controller(.remoteUserTerminatedConnection) || own.code == .connectionFailed { return own }
        return reason(of: error, otherwise: own)
    }

    /// Handles the end of a bearer, from either side.
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError) {
        if let id = bearer.id { enhancedBearersIfAny?.end(id, reason) } else { finish(reason) }
    }

    /// Handles a change of the peer's attributes.
    func servicesChanged(in range: AttributeHandleRange) {
        database.servicesChanged(in: range, self)
        eventsIfAny?.send(.servicesChanged(range))
    }

    /// Returns the reason for the end of a channel with `error`: the adapter's, or `other`; nil if `end` is called with
    /// either within five seconds.
    func reason(
        of error: ChannelFailure, otherwise other: BluetoothError,
        then end: @escaping (Link, BluetoothError) -> Void = { $0.finish($1) }
    ) -> BluetoothError? {
        guard let adapter else { return other }
        return adapter.hostChannels.reason(of: error, otherwise: other, isLocal: other.disconnectReason == .localHost) {
            [weak self] reason in if let self { end(self, reason) }
        }
    }
}
