import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// An event of an adapter.
package enum AdapterNotice: Sendable {
    /// It was plugged in, or returned to the kernel.
    case added(UInt16)
    /// It was unplugged, or taken from the kernel.
    case removed(UInt16)
    /// Its settings changed.
    case settings(UInt16, ManagementSettings)
    /// The kernel or the controller has not answered a command for it.
    case unanswered(UInt16, ManagementOpcode)
    /// A discovery began or ended.
    case discovering(UInt16, ManagementAddressTypes, isOn: Bool)
    /// Another program, or the kernel, removed an advertising instance.
    case advertisingRemoved(UInt16, UInt8)
    /// A link of any program begins.
    case connected(UInt16, isByPeer: Bool)
    /// A link of it has ended.
    case disconnected(UInt16)
    /// Pairing exchanged an identity resolving key that must be stored, with a device of this private address.
    case identityResolvingKey(UInt16, IdentityResolvingKey, of: BluetoothAddress?)
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
    /// The notice of an event of the management socket; nil if nobody follows such events.
    init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        let index = packet.index
        switch packet.eventCode {
        case ManagementIndexAdded.code: self = .added(index)
        case ManagementIndexRemoved.code: self = .removed(index)
        case ManagementDeviceDisconnected.code: self = .disconnected(index)
        default:
            if let event = try packet.as(ManagementNewSettings.self) {
                self = .settings(index, event.value)
            } else if let event = try packet.as(ManagementDiscovering.self) {
                self = .discovering(index, event.types, isOn: event.isDiscovering)
            } else if let event = try packet.as(ManagementAdvertisingRemoved.self) {
                self = .advertisingRemoved(index, event.value)
            } else if let event = try packet.deviceConnected() {
                self = .connected(index, isByPeer: !event.flags.contains(.initiatedConnection))
            } else if let event = try packet.as(ManagementNewIdentityResolvingKey.self), event.isStored {
                self = .identityResolvingKey(index, event.key, of: event.randomAddress)
            } else if let pairing = try PairingEvent(packet) {
                self = .pairing(index, pairing)
            } else {
                return nil
            }
        }
    }
}
