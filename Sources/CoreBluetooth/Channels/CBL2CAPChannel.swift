import BluetoothLE
public import Foundation

/// An L2CAP channel to another device.
///
/// The program retains it, sets the delegates of its streams, schedules them in a run loop and opens them, as with any
/// streams. The channel closes when both streams are closed, or when it is released with them.
//
// Sendable unchecked, since streams are not: the state of these is locked.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
    private let remote: CBPeer
    private let number: CBL2CAPPSM
    private let input: ChannelInputStream
    private let output: ChannelOutputStream

    init(_ channel: ConnectionOrientedChannel, _ peer: CBPeer) {
        remote = peer
        number = channel.psm
        let end = ChannelEnd(channel)
        input = ChannelInputStream(end)
        output = ChannelOutputStream(end)
        super.init()
    }

    /// The peer: a peripheral or a central.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var peer: CBPeer! { remote }

    /// The stream of received bytes.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var inputStream: InputStream! { input }

    /// The stream of bytes to send.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var outputStream: OutputStream! { output }

    /// The channel's PSM.
    open var psm: CBL2CAPPSM { number }
}
