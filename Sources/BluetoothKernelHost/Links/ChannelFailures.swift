import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

extension ChannelFailure {
    package init(_ error: KernelError) {
        self.init(.kernel(error), isTooLong: error.number == .messageTooLong)
    }
}

extension KernelError {
    /// The kernel has neither encrypted a link in time nor reported a failure.
    static let notEncrypted = KernelError("encrypt", .timedOut)
}

extension L2CAPChannel {
    /// Whether it carries the Attribute Protocol.
    var isBearer: Bool { self == .attribute || self == .enhancedBearer }
}

// The words for what is done with a channel of each kind.
extension BluetoothError {
    /// The error for a channel that could not be opened.
    static func opening(
        _ request: LinkRequest, _ error: KernelError, _ environment: HostEnvironment = HostEnvironment()
    ) -> BluetoothError {
        switch request.channel {
        case .fixed: .connecting(request.operation, error, environment)
        case .enhancedBearer: .openingEnhancedBearer(request.operation, error)
        case .dynamic(let psm): .openingChannel(request.operation, psm, error)
        }
    }

    /// The error for the end of an open channel, according to its socket.
    static func ended(_ channel: L2CAPChannel, _ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        switch channel {
        case .fixed: .disconnected(peer, error)
        case .enhancedBearer: .bearerEnded(peer, error)
        case .dynamic: .channelEnded(peer, error)
        }
    }

    /// The error for channels that cannot be listened for.
    static func listening(
        for channel: L2CAPChannel, _ operation: Operation, _ error: KernelError, _ environment: HostEnvironment
    ) -> BluetoothError {
        channel == .enhancedBearer
            ? .listeningForEnhancedBearers(operation, error, environment)
            : .listening(operation, error, environment)
    }

    /// The error for a link that was not encrypted in time.
    static func notEncrypted(_ peer: BluetoothAddress) -> BluetoothError {
        BluetoothError(
            .disconnected, .init("encrypt the link", peer: peer), "The link was not encrypted within 30 s.",
            cause: .kernel(.notEncrypted), isRetryable: true, disconnectReason: .authentication)
    }

    /// The error of a request that the host must be prepared for once more.
    static func notPrepared(_ operation: Operation) -> BluetoothError {
        BluetoothError(.preempted, operation, "An earlier link to the device has begun to end.")
    }
}
