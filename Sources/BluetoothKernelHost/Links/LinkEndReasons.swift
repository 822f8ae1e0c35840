import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI

extension DisconnectReason {
    /// What the error number of a socket means (net/bluetooth/lib.c), where the controller has told nothing.
    package init(_ number: ErrorNumber) {
        switch number {
        case .timedOut: self = .supervisionTimeout
        case .connectionReset: self = .remote
        case .connectionAborted, .networkDown: self = .adapterOff
        case .brokenPipe, .noSuchDevice: self = .adapterRemoved
        case .accessDenied: self = .authentication
        default: self = .other
        }
    }
}

/// What is known of an adapter when a link of it ends.
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
    /// Why a link that was up has ended: by the controller's word where there is one, otherwise by the socket's.
    ///
    /// That the adapter goes down or away looks like an end by the local host, so `presence` is asked then.
    /// - Parameter isFollowed: whether the controller's word would be here if the link had ended by its doing.
    package static func disconnected(
        _ peer: BluetoothAddress, _ error: KernelError, status: HCIStatus?, isFollowed: Bool,
        presence: () -> AdapterPresence?
    ) -> BluetoothError {
        var reason = status.map { DisconnectReason($0) } ?? DisconnectReason(error.number)
        // No peer ends a link without the controller's telling it.
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
