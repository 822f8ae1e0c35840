import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

extension ChannelFailure {
    package init(_ error: KernelError) {
        let kind: Kind =
            switch error.number {
            case _ where error == .notEncrypted: .notEncrypted
            case .accessDenied: .notSecured
            case .messageTooLong: .tooLong
            case .connectionAborted: .aborted
            case .connectionReset: .closedByPeer
            case .invalidArgument: .tooEarly
            default: .other
            }
        self.init(kind, .kernel(error))
    }

    /// The kernel's error.
    var kernelError: KernelError {
        if case .kernel(let error) = cause { error } else { KernelError("channel", .inputOutput) }
    }
}

extension KernelError {
    /// The kernel has neither encrypted a link in time nor reported a failure.
    static let notEncrypted = KernelError("encrypt", .timedOut)
}

extension BluetoothError {
    /// The error for a channel's failure.
    static func channel(
        _ failure: ChannelFailure, _ context: ChannelContext, _ environment: HostEnvironment?
    ) -> BluetoothError {
        let error = failure.kernelError
        switch context {
        case .link(let peer), .linkSaid(_, let peer):
            if failure.kind == .notEncrypted { return .notEncrypted(peer, failure.cause) }
            if case .linkSaid(let own, _) = context { return own }
            return .disconnected(peer, error)
        case .connecting(let operation):
            return .connecting(operation, error, environment ?? HostEnvironment())
        case .channel(let peer): return .channelEnded(peer, error)
        case .openingChannel(let operation, let psm): return .openingChannel(operation, psm, error)
        case .bearer(let peer): return .bearerEnded(peer, error)
        case .openingBearer(let operation): return .openingEnhancedBearer(operation, error)
        case .listening(let operation): return .listening(operation, error, environment ?? HostEnvironment())
        case .listeningForBearers(let operation):
            return .listeningForEnhancedBearers(operation, error, environment ?? HostEnvironment())
        }
    }

    private static func notEncrypted(_ peer: BluetoothAddress, _ cause: Cause) -> BluetoothError {
        BluetoothError(
            .disconnected, .init("encrypt the link", peer: peer), "The link was not encrypted within 30 s.",
            cause: cause, isRetryable: true, disconnectReason: .authentication)
    }
}
