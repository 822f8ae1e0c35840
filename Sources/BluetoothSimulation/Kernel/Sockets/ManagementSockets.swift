import BluetoothHCI
import BluetoothManagement

/// A kernel's management sockets, and the faults injected into its replies.
final class ManagementSockets: SocketList<ManagementSocketState> {
    /// Commands that are refused, as when another program is in the way.
    var refusals: [ManagementOpcode: ManagementStatus] = [:]
    /// Commands that are never answered.
    var isSilent: [ManagementOpcode: Bool] = [:]

    /// Sends an event to all management sockets; to those without CAP_NET_ADMIN only the unprivileged ones.
    func send<Event: ManagementEvent>(_ event: Event, index: UInt16, skipping skipped: ManagementSocketState? = nil) {
        // Events created here fit.
        guard let packet = try? event.packet(for: index) else { return }
        send(packet, isForEverybody: Self.publicEvents.contains(Event.code), skipping: skipped)
    }

    /// Sends an event's packet to all management sockets, or to those with CAP_NET_ADMIN.
    func send(_ packet: [UInt8], isForEverybody: Bool = false, skipping skipped: ManagementSocketState? = nil) {
        for socket in sockets where socket !== skipped && (socket.isTrusted || isForEverybody) {
            socket.offer(packet)
        }
    }

    private static let publicEvents: [ManagementEventCode] = [
        ManagementIndexAdded.code, ManagementIndexRemoved.code, ManagementNewSettings.code,
    ]
}
