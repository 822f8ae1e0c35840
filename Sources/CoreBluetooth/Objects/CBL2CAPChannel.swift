import BluetoothLE
public import Foundation

/// An L2CAP channel to another device.
///
/// The program keeps it, gives its streams delegates, schedules them in a run loop and opens them, as with any streams.
/// Closing both streams, or dropping the channel with them, closes it.
open class CBL2CAPChannel: NSObject {
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

    /// The device at the other end: a peripheral or a central.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var peer: CBPeer! { remote }

    /// What the device sends.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var inputStream: InputStream! { input }

    /// What is sent to the device.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var outputStream: OutputStream! { output }

    /// The number of the service.
    open var psm: CBL2CAPPSM { number }
}
