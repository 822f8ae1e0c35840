import BluetoothATT
import BluetoothGATT

/// An operation of a peer's client on published services.
package enum PeerEvent: Sendable {
    /// The client reads a value.
    case read(AttributeRequest, PeerQuestion)
    /// The client writes values, all at once; without a question it expects no response.
    case write([AttributeWrite], PeerQuestion?)
    /// The client has subscribed to a value, or ended its subscription.
    case subscription(PeerSubscription)
}

/// The delivery of a client's reads and writes; changes of subscriptions are delivered as they arrive.
package enum PeerEventDelivery: Sendable {
    /// Receives the events of a link, on the loop and in the order received; must neither suspend nor block.
    package typealias Receiver = @Sendable (PeerEvent, Connection) -> Void

    /// As they arrive, for receivers that answer before they return or soon after.
    case atOnce(Receiver)
    /// One at a time with a question each, for receivers that let a person or a thread decide. Requests wait and time
    /// out like those of other handlers.
    case inTurn(Receiver)

    var receiver: Receiver {
        switch self {
        case .atOnce(let receiver), .inTurn(let receiver): receiver
        }
    }
}
