import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// An event of an adapter.
package enum AdapterNotice: Sendable {
    /// An event of it, other than those below.
    case event(UInt16, any ManagementEvent)
    /// The kernel or the controller has not answered a command for it.
    case unanswered(UInt16, ManagementOpcode)
    /// A link of any program begins.
    case connected(UInt16, isByPeer: Bool)
    /// A pairing asks a question, has made keys or has failed, or another program has made the kernel forget a device.
    case pairing(UInt16, PairingEvent)
    /// The management interface itself has ended.
    case lost(BluetoothError)
}

/// A receiver of the events of adapters, on the loop.
package protocol AdapterNoticeReceiver: AnyObject {
    /// Receives an event; of changes by commands of the same client as well, before their callers resume.
    func receive(_ notice: AdapterNotice)
}

extension AdapterNotice {
    /// The notice of an event of the management socket; nil for one without a type.
    init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        if let event = try packet.deviceConnected() {
            self = .connected(packet.index, isByPeer: !event.flags.contains(.initiatedConnection))
        } else if let pairing = try PairingEvent(packet) {
            self = .pairing(packet.index, pairing)
        } else if let event = try packet.event() {
            self = .event(packet.index, event)
        } else {
            return nil
        }
    }
}
