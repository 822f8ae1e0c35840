import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

extension DisconnectReason {
    /// The meaning of a socket's error number (net/bluetooth/lib.c) when the controller has reported nothing.
    package init(_ number: ErrorNumber) {
        switch number {
        case .timedOut: self = .supervisionTimeout
        case .connectionReset: self = .remote
        case .connectionAborted: self = .localHost
        case .networkDown: self = .adapterOff
        case .brokenPipe, .noSuchDevice: self = .adapterRemoved
        case .accessDenied: self = .authentication
        default: self = .other
        }
    }
}

/// The presence of an adapter when a link of it ends.
package enum AdapterPresence {
    case up, down, absent

    package init(of index: UInt16, on kernel: any BluetoothKernel) {
        guard let adapter = (try? kernel.adapters())?.first(where: { $0.index == index }) else {
            self = .absent
            return
        }
        self = adapter.isUp ? .up : .down
    }
}

extension BluetoothError {
    /// The error for the end of a link that was up: by the controller's reason if there is one, otherwise by the
    /// socket's.
    ///
    /// An adapter that goes down or away looks like an end by the local host, so `presence` is checked then.
    /// - Parameter isFollowed: whether a reason from the controller would have been received.
    package static func disconnected(
        _ peer: BluetoothAddress, _ error: KernelError, status: HCIStatus?, isFollowed: Bool,
        presence: () -> AdapterPresence?
    ) -> BluetoothError {
        var reason = status.map { DisconnectReason($0) } ?? DisconnectReason(error.number)
        // A peer's end of a link is always reported by the controller.
        if status == nil, isFollowed, reason == .remote { reason = .localHost }
        if [.localHost, .adapterOff, .adapterRemoved].contains(reason) {
            switch presence() {
            case .absent: reason = .adapterRemoved
            case .down: reason = .adapterOff
            case .up, nil: break
            }
        }
        return BluetoothError(
            .disconnected, Operation("use the link", peer: peer), reason.sentence,
            cause: status.map { .controller($0) } ?? .kernel(error), isRetryable: reason.isRetryable,
            disconnectReason: reason)
    }
}
