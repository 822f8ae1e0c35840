import BluetoothHCI
import BluetoothLoop
import BluetoothPrimitives

/// A request for a channel to a peer, and for the link that it needs.
///
/// The host keeps what it has prepared for the request until ``end()``, or until the request is released.
//
// Lives on the loop, with the session.
package final class LinkRequest {
    package let peer: BluetoothAddress
    package let channel: L2CAPChannel
    package let operation: BluetoothError.Operation
    /// The options of the channel; the host sets the time limit, which is later than ``deadline``.
    package var options: L2CAPOptions
    /// The connection parameters with which the link begins; nil for the host's.
    package var parameters: LEConnectionParameters?
    /// The PHYs that the controller must have; the peer is looked for on LE Coded as well if that is among them.
    package var phys: LEPHYSet = []
    /// The end of the time until the channel is open; nil for no limit.
    package var deadline: KernelInstant?
    /// Whether the peer has responded on the link, which is therefore not an earlier one that is about to end.
    package var isAnswered = false
    /// What the host has prepared, to be undone when it is released.
    package var preparation: AnyObject?

    package init(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ operation: BluetoothError.Operation,
        _ options: L2CAPOptions = L2CAPOptions(), until deadline: KernelInstant? = nil
    ) {
        (self.peer, self.channel, self.options) = (peer, channel, options)
        (self.operation, self.deadline) = (operation, deadline)
    }

    /// The remaining time; nil for no limit.
    package func remaining(at now: KernelInstant) -> Duration? { deadline.map { now.duration(to: $0) } }

    /// Undoes what the host has prepared: no link is created for the request any more.
    package func end() { preparation = nil }
}

extension BluetoothError.Code {
    /// An attempt is to be made once more: others have preempted it, or its link was about to end. Never leaves the library.
    package static let preempted = BluetoothError.Code(rawValue: "preempted")
}
