import BluetoothPrimitives

/// An event of a link's security. After ``HostChannel/raiseSecurity(to:isBegun:)`` one of the last three follows.
package enum SecurityEvent: Hashable, Sendable {
    /// The link's attribute channel has ended; if that was due to pairing, for this reason.
    case ending(PairingFailure)
    /// The host has begun to raise the security, which cannot be withdrawn any longer.
    case began
    /// The link has the security that was asked for, as far as the peer goes along, and can be used.
    case encrypted(LinkSecurity)
    /// The host refuses to raise the security.
    case refused(BluetoothError.Cause)
    /// The pairing, or the encryption with a stored key, has failed.
    case failed(PairingFailure)
}
