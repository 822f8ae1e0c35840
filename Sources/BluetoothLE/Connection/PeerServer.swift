import ATT
import BluetoothPrimitives
import GATT

/// The peer as a server: who subscribes to its values, and what is known of it. The same on all bearers of a link.
struct PeerServer {
    /// Who subscribes to the peer's values, on whichever bearer.
    var subscribers = SubscriberTable()
    /// Where the peer indicates changes of its services.
    var serviceChanged = RemoteServiceChanged()
    /// What the peer has said it does not know.
    var unsupportedRequests: Set<ATTOpcode> = []

    /// Hands the values of a PDU to those who subscribe to them.
    ///
    /// One that says that attributes have changed stays back: their range is returned, and ``deliverServiceChange(_:)``
    /// follows when that is known to those it concerns.
    mutating func receive(_ pdu: ATTServerPDU, _ record: BearerRecord) -> AttributeHandleRange? {
        switch pdu {
        case .handleValueNotification(let handle, let value):
            subscribers.deliver(value, of: handle, as: .notification)
        case .handleValueIndication(let handle, let value):
            if let range = serviceChanged.receiveIndication(of: handle, value) { return range }
            subscribers.deliver(value, of: handle, as: .indication)
        case .multipleHandleValueNotification(var list):
            while let entry = list.next() { subscribers.deliver(entry.value, of: entry.handle, as: .notification) }
        default: record.note("ignored unknown PDU \(pdu.opcode)")
        }
        return nil
    }

    /// Hands a change of attributes to those who subscribe to it themselves.
    mutating func deliverServiceChange(_ pdu: ATTServerPDU) {
        guard case .handleValueIndication(let handle, let value) = pdu, subscribers.contains(handle) else { return }
        subscribers.deliver(value, of: handle, as: .indication)
    }
}
