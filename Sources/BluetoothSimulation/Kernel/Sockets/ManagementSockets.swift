import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// A kernel's management sockets, and the faults injected into its replies.
final class ManagementSockets: SocketList<ManagementSocketState> {
    /// Commands that are refused, as when another program is in the way.
    private var refusals: [ManagementOpcode: ManagementStatus] = [:]
    /// Commands that are never answered.
    private var silentOpcodes: Set<ManagementOpcode> = []

    func setRefusal(_ status: ManagementStatus?, of opcode: ManagementOpcode) {
        refusals[opcode] = status
    }

    func refusal(of opcode: ManagementOpcode) -> ManagementStatus? { refusals[opcode] }

    func setSilent(_ isSilent: Bool, for opcode: ManagementOpcode) {
        if isSilent { silentOpcodes.insert(opcode) } else { silentOpcodes.remove(opcode) }
    }

    func isSilent(_ opcode: ManagementOpcode) -> Bool { silentOpcodes.contains(opcode) }

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
