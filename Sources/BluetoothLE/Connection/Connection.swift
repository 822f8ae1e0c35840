import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// Which side of a link this is (Core Vol 3 Part C §2.2.2).
public enum ConnectionRole: Hashable, Sendable {
    /// This side made the link, to a device that advertised.
    case central
    /// The device made the link, to what this machine advertised.
    case peripheral
}

/// A link to a device with its attribute bearer.
///
/// Every call ends with a value or a ``BluetoothError``: the peer's answer, the time limit, the task's cancellation, or
/// the end of the link, whichever comes first. Calls may be made at the same time from several tasks; requests are sent
/// one after the other, as the Attribute Protocol demands. The link is closed by ``disconnect()`` or when the last
/// reference goes.
public final class Connection: Sendable {
    /// The device at the other end.
    public let peer: BluetoothAddress
    /// This side's role on the link; either side may be GATT client and server, whatever its role.
    public let role: ConnectionRole
    let core: SessionReference<Link>

    /// The handle of a link; called on the loop.
    init(_ link: Link, in domain: any LoopActor) {
        (peer, role) = (link.peer, link.role)
        core = SessionReference(link, in: domain)
        link.isHeld(by: self)
    }

    init(_ core: SessionReference<Link>, to peer: BluetoothAddress) {
        (self.peer, role) = (peer, .central)
        self.core = core
    }

    deinit {
        core.later { $0.dropped() }
    }

    /// The loop the connection lives on; a task that prefers it as its executor saves two thread switches a call.
    public var loop: EventLoop { core.loop }
}
