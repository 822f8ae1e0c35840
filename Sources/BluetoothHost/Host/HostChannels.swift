import BluetoothATT
import BluetoothLoop
import BluetoothPrimitives

/// The L2CAP channels of an adapter, opened from this side and by peers, and its links.
///
/// Without the privilege to follow a controller (CAP_NET_RAW) links work as well, but less of their state is known.
//
// Lives on the loop, with the session.
package protocol HostChannels: AnyObject {
    /// Prepares the host for a request, unless it has done so, and waits until no earlier link to the peer blocks a new
    /// one.
    ///
    /// Connection parameters with which the host cannot begin a link, and PHYs on which it cannot look for the peer, are
    /// logged.
    /// - Throws: `.unsupported` if the controller lacks one of the PHYs; `.busy` where waiting may take long;
    ///   `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func prepare(_ request: LinkRequest) async throws(BluetoothError)

    /// Requests a channel to a peer, and the link it needs. ``ChannelReceiver/channelIsWritable()`` reports that it is
    /// open, ``ChannelReceiver/channelEnded(_:)`` that it failed; closing the channel cancels the attempt.
    /// - Throws: also `.preempted`: an earlier link to the peer has begun to end since ``prepare(_:)``.
    func connect(
        _ request: LinkRequest, _ receiver: any ChannelReceiver
    ) throws(BluetoothError) -> any HostChannel

    /// Accepts the channels that peers open; the closure returns the receiver of each, or nil to refuse it. The events of
    /// links whose attribute channels are accepted are not missed.
    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions, _ operation: BluetoothError.Operation,
        _ accept: @escaping (any HostChannel) -> (any ChannelReceiver)?
    ) throws(BluetoothError) -> any HostChannelListener

    /// Reports the ends of all links of the adapter, also those of other programs, as long as the result is retained.
    func followLinks() -> any AnyObject & Sendable

    /// Whether another program listens for the attribute channels of peers, as far as this one can see it.
    var hasOtherListener: Bool { get }
}

/// An L2CAP channel of a link. Dropping the last reference closes it.
package protocol HostChannel: AnyObject, Sendable {
    /// The peer, by the address that the host uses for it now.
    var peer: BluetoothAddress { get }

    /// The largest packet that may be received and sent; nil if unknown.
    var maximumTransmissionUnits: (receive: Int, send: Int)? { get }

    /// Whether the channel is open. One that has ended is not, while the reason is not known yet.
    var isOpen: Bool { get }

    /// Sends one packet without waiting.
    func send(_ packet: RawSpan) -> ChannelSend

    /// Requests one ``ChannelReceiver/channelIsWritable()`` as soon as a packet can be sent.
    func notifyWhenWritable()

    /// Pauses or resumes ``ChannelReceiver/receive(_:)``. Packets that arrive meanwhile are queued.
    func setReading(_ isOn: Bool)

    /// Takes one packet that waits during a pause; nil if there is none. Not for an attribute channel.
    func takeWaiting() -> [UInt8]?

    /// Follows the attribute channel's link as long as the result is retained; nil if the host does not report it, as
    /// while it is being encrypted.
    func attach() -> (any HostLink)?

    /// The current security of the link.
    func security() throws(BluetoothError) -> LinkSecurity

    /// Requests a higher security level; nil withdraws that before it begins. Meanwhile the channel may hold what is sent.
    /// Returns the event that is due at once; later ones are those of ``PairingEvent/security(_:)``.
    ///
    /// - Parameters:
    ///   - outstanding: the outstanding transactions; the host begins once the peer owes no answer, also to what is sent
    ///     after the call.
    ///   - isBegun: whether the host encrypts the link automatically, as requested with it.
    func raiseSecurity(
        to level: SecurityLevel?, owing outstanding: OutstandingTransactions, isBegun: Bool
    ) -> SecurityEvent?

    /// Closes the channel. No event follows; a second call does nothing. Calls that wait for an attribute channel's link
    /// fail with the reason, and no later link to the peer receives an answer to the outstanding transactions.
    ///
    /// - Parameter down: succeeds when an open attribute channel's link is down: at once where another channel of this
    ///   program keeps the link, and when a connect uses it again.
    func close(
        _ reason: BluetoothError?, owing outstanding: OutstandingTransactions,
        whenDown down: Promise<Void, BluetoothError>?
    )
}

extension HostChannel {
    /// Closes a channel without outstanding transactions.
    package func close(whenDown down: Promise<Void, BluetoothError>? = nil) {
        close(nil, owing: OutstandingTransactions(), whenDown: down)
    }

    /// Requests a higher security level on a channel without outstanding transactions; nil withdraws that.
    package func raiseSecurity(to level: SecurityLevel?) -> SecurityEvent? {
        raiseSecurity(to: level, owing: OutstandingTransactions(), isBegun: false)
    }
}

/// The receiver of a channel's packets and events. The host holds it until the channel has ended or is closed.
///
/// Called on the loop only, and never from within a call to the channel.
package protocol ChannelReceiver: AnyObject {
    /// Takes one packet, which is borrowed until the call returns.
    func receive(_ packet: RawSpan)

    /// The channel is open, or accepts packets again that it did not.
    func channelIsWritable()

    /// The channel has ended, or could not be opened, and all packets that arrived before were passed. The last call, made
    /// once, when the reason is known: with ``BluetoothError/pairingFailure`` if pairing or encryption has failed.
    func channelEnded(_ reason: BluetoothError)
}

/// The result of sending a packet.
package enum ChannelSend: Equatable, Sendable {
    case sent
    /// The packet was not accepted, since there is no room or the link is being encrypted;
    /// ``HostChannel/notifyWhenWritable()`` reports when to try again.
    case wouldBlock
    /// The packet of an attribute channel was not accepted, since it begins something while the host raises the link's
    /// security: answers are accepted. ``ChannelReceiver/channelIsWritable()`` follows when that is over.
    case held
    /// The channel did not accept the packet. A bearer of attributes has ended, as ``ChannelReceiver/channelEnded(_:)``
    /// reports after the packets that arrived before.
    case failed(ChannelFailure)
}

/// The reason why an operation on a channel failed.
package struct ChannelFailure: Error, Hashable, Sendable {
    package let cause: BluetoothError.Cause
    /// Whether the packet is too long.
    package let isTooLong: Bool

    package init(_ cause: BluetoothError.Cause, isTooLong: Bool) {
        (self.cause, self.isTooLong) = (cause, isTooLong)
    }
}

extension ChannelFailure: CustomStringConvertible {
    package var description: String { cause.kernelError.map { "\($0)" } ?? "\(cause)" }
}

/// A listener for channels. Dropping the last reference closes it.
package protocol HostChannelListener: AnyObject, Sendable {
    /// The address listened on, with the PSM that the host has picked where 0 was requested.
    var channel: L2CAPChannel { get }

    /// Stops listening. Channels opened before remain open.
    func close()
}
