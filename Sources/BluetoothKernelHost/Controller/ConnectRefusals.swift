import BluetoothHCI
import BluetoothPrimitives

/// The controller's refusals of connections that the kernel has requested.
///
/// The kernel translates a refusal into an error number that other failures have as well; the raw socket shows the
/// command with its status before the kernel acts on it.
struct ConnectRefusals {
    private var refusals: [(peer: LEPeerAddress, status: HCIStatus)] = []
    private static let limit = 16

    /// Records the status of a command of the kernel.
    mutating func receive(_ command: AnyHCICommand, _ status: HCIStatus) {
        let peer = command.as(LECreateConnection.self)?.peer ?? command.as(LEExtendedCreateConnection.self)?.peer
        if let peer { record(peer, status) }
    }

    /// Records the end of an attempt that the controller had begun.
    mutating func receive(_ event: LEConnectionComplete) { record(event.peer, event.status) }

    private mutating func record(_ peer: LEPeerAddress, _ status: HCIStatus) {
        refusals.removeAll { $0.peer == peer }
        guard status.isWantOfRoom else { return }
        if refusals.count == Self.limit { refusals.removeFirst() }
        refusals.append((peer, status))
    }

    /// Removes and returns the status of the last attempt to a peer, if it was refused because the link limit is
    /// reached.
    mutating func take(_ peer: LEPeerAddress) -> HCIStatus? {
        // A bonded device has another address on the air.
        let only = refusals.count == 1 ? 0 : nil
        guard let index = refusals.firstIndex(where: { $0.peer == peer }) ?? only else { return nil }
        return refusals.remove(at: index).status
    }

    /// Discards all: the controller is no longer followed.
    mutating func forget() { refusals = [] }
}

extension HCIStatus {
    /// Whether a controller refuses a link with it because the link limit is reached.
    var isWantOfRoom: Bool { self == .connectionLimitExceeded || self == .rejectedLimitedResources }
}
