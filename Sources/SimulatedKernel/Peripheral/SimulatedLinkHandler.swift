import BluetoothKernel
import HCI

/// The program of a simulated peripheral, on one link: bytes in, bytes out.
///
/// All methods are called on the radio's loop, never from within a call to the link.
public protocol SimulatedLinkHandler: AnyObject, Sendable {
    /// A packet came in. It is borrowed for the call.
    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink)

    /// The link takes packets again after ``SimulatedLink/notifyWhenWritable()``.
    func writable(_ link: SimulatedLink)

    /// The link has been encrypted, or encrypted anew at a higher level.
    func securityChanged(_ security: LinkSecurity, of link: SimulatedLink)

    /// The link is down. Nothing else will be told about it.
    func disconnected(_ link: SimulatedLink, reason: HCIStatus)
}

extension SimulatedLinkHandler {
    /// Does nothing.
    public func writable(_ link: SimulatedLink) {}
    /// Does nothing.
    public func securityChanged(_ security: LinkSecurity, of link: SimulatedLink) {}
    /// Does nothing.
    public func disconnected(_ link: SimulatedLink, reason: HCIStatus) {}
}
