import BluetoothPrimitives

/// A socket of one L2CAP channel.
package protocol L2CAPSocket: PacketSocket {
    /// The peer's current address (`getpeername`).
    var peer: BluetoothAddress { get }

    /// The HCI connection handle of the link (`L2CAP_CONNINFO`); throws while the link is not connected or is being
    /// encrypted.
    func connectionHandle() throws(KernelError) -> UInt16

    /// The current security of the link (`getsockopt(BT_SECURITY)`).
    func security() throws(KernelError) -> LinkSecurity

    /// Requests that the kernel raise the security of the link (`setsockopt(BT_SECURITY)`).
    ///
    /// Returns immediately. The socket cannot send until the link is encrypted, and then reports
    /// ``SocketEvent/writable``.
    func raiseSecurity(to level: SecurityLevel) throws(KernelError)

    /// The maximum sizes of received and sent packets in bytes (`BT_RCVMTU`, `BT_SNDMTU`).
    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16)
}

/// The handler of incoming connections of a listening socket. Called on the loop only.
///
/// Returns the handler of the new socket's events.
package typealias L2CAPAcceptHandler = (any L2CAPSocket) -> SocketHandler

/// A listening L2CAP socket. Releasing the last reference closes it.
package protocol L2CAPListener: AnyObject, Sendable {
    /// The channel of the socket; for PSM 0, the PSM that the kernel chose.
    var channel: L2CAPChannel { get }

    /// Stops listening. Accepted connections remain open.
    func close()
}
