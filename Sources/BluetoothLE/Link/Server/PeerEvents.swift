import BluetoothATT
import BluetoothGATT

/// An operation of a peer's client on published services.
package enum PeerEvent: Sendable {
    /// The client reads the value of an attribute.
    case read(AttributeHandle, PeerQuestion)
    /// The client writes values, all at once; without a question it expects no response.
    case write([AttributeWrite], PeerQuestion?)
    /// The client has subscribed to a value, or ended its subscription.
    case subscription(PeerSubscription)
}

/// Receives the events of a link, on the loop and in the order received; must neither suspend nor block. A question may be
/// answered later, within 25 s.
package typealias PeerEventReceiver = @Sendable (PeerEvent, Connection) -> Void

/// A device's subscription to a published characteristic, or its end.
public struct PeerSubscription: Sendable, Hashable {
    /// The handle of the characteristic's value.
    public var characteristic: AttributeHandle
    /// The values that the device has subscribed to; empty when it has unsubscribed.
    public var configuration: ClientCharacteristicConfiguration

    /// A subscription from its parts.
    package init(characteristic: AttributeHandle, configuration: ClientCharacteristicConfiguration) {
        self.characteristic = characteristic
        self.configuration = configuration
    }
}
