import BluetoothATT
import BluetoothLoop
import BluetoothPrimitives

/// The L2CAP channels of an adapter: those that are opened from here, and those that peers open.
//
// Lives on the loop, with the session.
package protocol HostChannels: AnyObject {
    /// Whether nothing of an earlier link is in the way of a new one to a peer.
    func isWayClear(to peer: BluetoothAddress) -> Bool

    /// Waits until nothing of an earlier link is in the way of a new one to a peer.
    /// - Throws: `.busy` where that may take long, `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func makeWay(
        to peer: BluetoothAddress, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError)

    /// Asks for a channel to a peer, and for the link it needs. The handler is told that it is open by
    /// ``ChannelEvent/writable``, or why it is not; closing the channel gives the attempt up.
    func connect(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ handler: @escaping ChannelHandler
    ) throws(ChannelFailure) -> any HostChannel

    /// Takes the channels that peers open; the closure is asked for the handler of each.
    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ accept: @escaping (any HostChannel) -> ChannelHandler
    ) throws(ChannelFailure) -> any HostChannelListener

    /// What a failure means to the program.
    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError

    /// The adapter, if that is why a channel or its link failed, or `other`; nil when `completion` is called with either,
    /// within five seconds.
    ///
    /// `isLocal` is whether the controller says that this machine has ended the link, where it has said anything.
    func reason(
        of failure: ChannelFailure, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError?

    /// The adapter has left: that is why the ends came that wait to be explained.
    func adapterHasLeft(_ reason: BluetoothError)

    /// The adapter is closed: no channel's end is its doing any more.
    func close()
}

/// One L2CAP channel of one link. Dropping the last reference closes it.
package protocol HostChannel: AnyObject, Sendable {
    /// The other side: the address the host knows it by now.
    var peer: BluetoothAddress { get }

    /// The link's handle; nil while the link is not up, or is being encrypted and the host does not tell.
    var linkHandle: UInt16? { get }

    /// The largest packet that may be received and sent; nil where that is not known.
    var maximumTransmissionUnits: (receive: Int, send: Int)? { get }

    /// Hands over one packet without waiting.
    func send(_ packet: RawSpan) -> ChannelSend

    /// Takes one packet without waiting; `body` borrows it and runs before the call returns. False where there is none.
    func receive(_ body: (RawSpan) -> Void) -> Bool

    /// Asks for one ``ChannelEvent/writable`` as soon as a packet can be sent.
    func notifyWhenWritable()

    /// Stops or resumes ``ChannelEvent/readable``. Packets that arrive meanwhile wait.
    func setReading(_ isOn: Bool)

    /// Takes note that the peer has answered, so that the link is no earlier one that is about to end.
    func linkHolds()

    /// The link's protection now.
    func security() throws(ChannelFailure) -> LinkSecurity

    /// Asks for a better protection. Until the link is encrypted nothing can be sent.
    func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure)

    /// Records a link's beginning, and from now on what goes over its attribute channel, where packets are recorded.
    func beginRecord(isCentral: Bool)

    /// Records the link's end.
    func endRecord(_ reason: BluetoothError)

    /// What a failure means to the program.
    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError

    /// Closes the channel. No event follows; a second call does nothing.
    func close()

    /// Closes an attribute channel on which this is outstanding, so that no later link to the peer gets an answer that is
    /// not its own.
    func close(owing outstanding: OutstandingTransactions)
}

/// Takes a channel's events. Called on the loop only, never from within a call to the channel.
package typealias ChannelHandler = (ChannelEvent) -> Void

/// What happens on a channel.
package enum ChannelEvent: Equatable, Sendable {
    /// A packet can be received, most likely. Told again until there is none.
    case readable
    /// An attempt to open it has succeeded, or a full channel takes packets again.
    case writable
    /// The channel has ended. Told once, the last event.
    ///
    /// Packets that arrived before may still be received from within the event.
    case closed(ChannelFailure)
}

/// What became of a packet handed to a channel.
package enum ChannelSend: Equatable, Sendable {
    case sent
    /// The packet was not taken, as there is no room or the link is being encrypted; ``HostChannel/notifyWhenWritable()``
    /// tells when to try again.
    case wouldBlock
    /// It will never be sent here.
    case failed(ChannelFailure)
}

/// Why something did not come about on a channel, or it ended.
package struct ChannelFailure: Error, Hashable, Sendable {
    /// What makes a difference to whoever uses a channel.
    package enum Kind: Hashable, Sendable {
        /// The link was not encrypted in time.
        case notEncrypted
        /// The packet is too long.
        case tooLong
        /// This machine has ended the link.
        case aborted
        /// The peer has closed the channel, or ended the link.
        case closedByPeer
        /// It cannot be asked for yet.
        case tooEarly
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

/// What was done when a channel failed.
package enum ChannelContext: Sendable {
    /// A link was used that was up.
    case link(BluetoothAddress)
    /// A link was used of which the controller has told why it has ended.
    case linkSaid(BluetoothError, BluetoothAddress)
    /// A link was being made.
    case connecting(BluetoothError.Operation)
    /// A connection-oriented channel was used that was open.
    case channel(BluetoothAddress)
    /// A connection-oriented channel was being opened.
    case openingChannel(BluetoothError.Operation, psm: UInt16)
    /// An enhanced bearer was used that was open.
    case bearer(BluetoothAddress)
    /// An enhanced bearer was being opened.
    case openingBearer(BluetoothError.Operation)
    /// It was to be listened for links or channels, or for enhanced bearers.
    case listening(BluetoothError.Operation)
    case listeningForBearers(BluetoothError.Operation)
}

/// Listens for channels. Dropping the last reference ends that.
package protocol HostChannelListener: AnyObject, Sendable {
    /// What is listened on: with the PSM that the host has picked where 0 was asked for.
    var channel: L2CAPChannel { get }

    /// Stops listening. Channels opened before stay.
    func close()
}
