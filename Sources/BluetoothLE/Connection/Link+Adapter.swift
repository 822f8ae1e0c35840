import BluetoothHost
import BluetoothKernel

// What a link's adapter has to do with its end.
extension Link {
    /// Why the link has ended, whose socket says `error`; nil when ``finish(_:)`` tells it later.
    func reasonOfEnd(_ error: ChannelFailure, _ channel: any HostChannel) -> BluetoothError? {
        let own = attachment?.host.reasonOfEnd(peer, error) ?? channel.error(error, .link(peer))
        // Controllers say of the kernel's end that it was this side's, or repeat the reason that the kernel gave the peer.
        if isPrecarious, own.disconnectReason == .localHost || own.disconnectReason == .remote {
            return channel.error(
                ChannelFailure(error.kind, own.cause ?? error.cause), .meetingTheEnd(.init("connect", peer: peer)))
        }
        // The peer's own word is beyond doubt.
        if own.cause == .controller(.remoteUserTerminatedConnection) { return own }
        return reason(of: error, otherwise: own)
    }

    /// The adapter, if that is why a socket of the link ended with `error`, or `other`; nil when `end` is called with either
    /// later, within five seconds.
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
