import BluetoothLE
public import Foundation

/// An L2CAP channel to another device.
open class CBL2CAPChannel: NSObject {
    private let remote: CBPeer
    private let number: CBL2CAPPSM
    private let channel: ConnectionOrientedChannel

    init(_ channel: ConnectionOrientedChannel, _ peer: CBPeer) {
        self.channel = channel
        remote = peer
        number = channel.psm
        super.init()
    }

    /// The device at the other end.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var peer: CBPeer! { remote }

    /// The number of the service.
    open var psm: CBL2CAPPSM { number }
}
