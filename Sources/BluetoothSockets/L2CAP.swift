import BluetoothPrimitives

/// One L2CAP channel of one link.
public protocol L2CAPSocket: PacketSocket {
    /// The other side: the address the kernel knows it by now (`getpeername`).
    var peer: BluetoothAddress { get }

    /// The link's HCI connection handle (`L2CAP_CONNINFO`); throws while the link is not up or is being encrypted.
    func connectionHandle() throws(KernelError) -> UInt16

    /// The link's protection now (`getsockopt(BT_SECURITY)`).
    func security() throws(KernelError) -> LinkSecurity

    /// Asks the kernel to raise the link's protection (`setsockopt(BT_SECURITY)`).
    ///
    /// The call returns at once; until the link is encrypted the socket cannot send, and becomes writable when it can.
    func raiseSecurity(to level: SecurityLevel) throws(KernelError)

    /// The largest packet that may be received and sent (`BT_RCVMTU`, `BT_SNDMTU`).
    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16)
}

/// Takes the connections that peers make to a listening socket. Called on the loop only.
///
/// The closure is asked for the handler of the new socket's events.
public typealias L2CAPAcceptHandler = (any L2CAPSocket) -> SocketHandler

/// A listening L2CAP socket. Dropping the last reference closes it.
public protocol L2CAPListener: AnyObject, Sendable {
    /// The channel listened on: the PSM the kernel picked where 0 was asked for.
    var channel: L2CAPChannel { get }

    /// Stops listening. Connections made before stay.
    func close()
}
