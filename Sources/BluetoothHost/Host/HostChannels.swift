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

    /// Calls `close`, which closes an open attribute channel, and waits until its link is down, at most `timeout`.
    ///
    /// Returns at once where another channel of this program keeps the link, and when a connect uses it again.
    nonisolated(nonsending) func endLink(
        of channel: any HostChannel, timeout: Duration, by close: () -> Void
    ) async

    /// Requests a channel to a peer, and the link it needs. ``ChannelReceiver/channelIsWritable()`` reports that it is
    /// open, ``ChannelReceiver/channelEnded(_:)`` that it failed; closing the channel cancels the attempt.
    /// - Throws: also `.notPrepared`: an earlier link to the peer has begun to end since ``prepare(_:)``.
    func connect(
        _ request: LinkRequest, _ receiver: any ChannelReceiver
    ) throws(ChannelFailure) -> any HostChannel

    /// Accepts the channels that peers open; the closure returns the receiver of each, or nil to refuse it. The events of
    /// links whose attribute channels are accepted are not missed.
    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ accept: @escaping (any HostChannel) -> (any ChannelReceiver)?
    ) throws(ChannelFailure) -> any HostChannelListener

    /// Reports the ends of all links of the adapter, also those of other programs, as long as the result is retained.
    func followLinks() -> any AnyObject & Sendable

    /// Follows a new link of this program as long as the result is retained; nil if link events are not available.
    /// - Parameter onEncrypted: called when the link is encrypted.
    func attach(_ handle: UInt16, onEncrypted: (() -> Void)?) -> (any HostLink)?

    /// Whether another program listens for the attribute channels of peers, as far as this one can see it.
    var hasOtherListener: Bool { get }

    /// The program's error for a failure.
    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError

    /// The adapter's error if the adapter caused the failure of a channel or its link, else `other`; nil when
    /// `completion` is called with either within five seconds.
    ///
    /// `isLocal` is whether the controller reported that this machine ended the link; false if it reported nothing.
    func reason(
        of failure: ChannelFailure, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError?
}

/// An L2CAP channel of a link. Dropping the last reference closes it.
package protocol HostChannel: AnyObject, Sendable {
    /// The peer, by the address that the host uses for it now.
    var peer: BluetoothAddress { get }

    /// The link's handle; nil while the link is not up, or is being encrypted and the host does not report it.
    var linkHandle: UInt16? { get }

    /// The largest packet that may be received and sent; nil if unknown.
    var maximumTransmissionUnits: (receive: Int, send: Int)? { get }

    /// Sends one packet without waiting.
    func send(_ packet: RawSpan) -> ChannelSend

    /// Requests one ``ChannelReceiver/channelIsWritable()`` as soon as a packet can be sent.
    func notifyWhenWritable()

    /// Pauses or resumes ``ChannelReceiver/receive(_:)``. Packets that arrive meanwhile are queued.
    func setReading(_ isOn: Bool)

    /// Passes one packet that waits during a pause to the receiver before it returns; false if there is none.
    func passWaiting() -> Bool

    /// The current security of the link.
    func security() throws(ChannelFailure) -> LinkSecurity

    /// Requests a higher security level. Until the link is encrypted nothing can be sent.
    func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure)

    /// Records the link's beginning, and from now on the packets of its attribute channel, if packets are captured.
    func beginRecord(isCentral: Bool)

    /// Records the link's end.
    func endRecord(_ reason: BluetoothError)

    /// The program's error for a failure.
    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError

    /// Closes the channel. No event follows; a second call does nothing.
    func close()

    /// Closes an attribute channel with these outstanding transactions, so that no later link to the peer receives an
    /// answer meant for this one.
    func close(owing outstanding: OutstandingTransactions)
}

/// The receiver of a channel's packets and events. The host holds it until the channel has ended or is closed.
///
/// Called on the loop only, and from within a call to the channel by ``HostChannel/passWaiting()`` alone.
package protocol ChannelReceiver: AnyObject {
    /// Takes one packet, which is borrowed until the call returns.
    func receive(_ packet: RawSpan)

    /// The channel is open, or a full channel accepts packets again.
    func channelIsWritable()

    /// The channel has ended, and all packets that arrived before were passed. The last call, made once.
    func channelEnded(_ failure: ChannelFailure)
}

/// The result of sending a packet.
package enum ChannelSend: Equatable, Sendable {
    case sent
    /// The packet was not accepted, since there is no room or the link is being encrypted;
    /// ``HostChannel/notifyWhenWritable()`` reports when to try again.
    case wouldBlock
    /// The channel did not accept the packet. An attribute channel has ended, as ``ChannelReceiver/channelEnded(_:)``
    /// reports after the packets that arrived before.
    case failed(ChannelFailure)
}

/// The reason why an operation on a channel failed or the channel ended.
package struct ChannelFailure: Error, Hashable, Sendable {
    /// The kind of failure, as far as callers distinguish it.
    package enum Kind: Hashable, Sendable {
        /// The link was not encrypted in time.
        case notEncrypted
        /// The link could not be secured.
        case notSecured
        /// The packet is too long.
        case tooLong
        /// This machine ended the link.
        case aborted
        /// The peer closed the channel or ended the link.
        case closedByPeer
        /// The request came too early.
        case tooEarly
        /// The host is to be prepared again for the request.
        case notPrepared
        case other
    }

    package let kind: Kind
    package let cause: BluetoothError.Cause

    package init(_ kind: Kind, _ cause: BluetoothError.Cause) {
        (self.kind, self.cause) = (kind, cause)
    }
}

extension ChannelFailure: CustomStringConvertible {
    package var description: String { if case .kernel(let error) = cause { "\(error)" } else { "\(cause)" } }
}

/// The operation during which a channel failed.
package enum ChannelContext: Sendable {
    /// Using an established link.
    case link(BluetoothAddress)
    /// Using a link for whose end the controller has reported the reason.
    case linkSaid(BluetoothError, BluetoothAddress)
    /// Creating a link.
    case connecting(BluetoothError.Operation)
    /// Using an open connection-oriented channel.
    case channel(BluetoothAddress)
    /// Opening a connection-oriented channel.
    case openingChannel(BluetoothError.Operation, psm: UInt16)
    /// Using an open enhanced bearer.
    case bearer(BluetoothAddress)
    /// Opening an enhanced bearer.
    case openingBearer(BluetoothError.Operation)
    /// Listening for links, channels or enhanced bearers.
    case listening(BluetoothError.Operation)
    case listeningForBearers(BluetoothError.Operation)
}

/// A listener for channels. Dropping the last reference closes it.
package protocol HostChannelListener: AnyObject, Sendable {
    /// The address listened on, with the PSM that the host has picked where 0 was requested.
    var channel: L2CAPChannel { get }

    /// Stops listening. Channels opened before remain open.
    func close()
}
