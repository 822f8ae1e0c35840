import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// The role of this side on a link (Core Vol 3 Part C §2.2.2).
public enum ConnectionRole: Hashable, Sendable {
    /// The initiator of the link, which connected to an advertising device.
    case central
    /// The advertiser, to which the device connected.
    case peripheral
}

/// A link to a device with its attribute bearer.
///
/// Every call ends with a value or a `BluetoothError`: at the peer's response, the time limit, the task's
/// cancellation, or the end of the link, whichever comes first. Several tasks may call concurrently; requests are sent
/// one after the other, as the Attribute Protocol requires. ``disconnect(timeout:)`` closes the link, and so does releasing the
/// last reference.
public final class Connection: Identifiable, Sendable {
    /// The device at the other end.
    public let peer: BluetoothAddress
    /// This side's role on the link; either side may be GATT client and server, whatever its role.
    public let role: ConnectionRole
    let core: SessionReference<Link>

    /// Creates the handle of a link; called on the loop.
    init(_ link: Link, in domain: any LoopActor) {
        (peer, role) = (link.peer, link.role)
        core = SessionReference(link, in: domain)
        link.setHandle(self)
    }

    init(_ core: SessionReference<Link>, to peer: BluetoothAddress) {
        (self.peer, role) = (peer, .central)
        self.core = core
    }

    deinit {
        core.later { $0.dropped() }
    }

    /// The connection's event loop; a task that prefers it as its executor saves two thread switches a call.
    public var loop: EventLoop { core.loop }
}
