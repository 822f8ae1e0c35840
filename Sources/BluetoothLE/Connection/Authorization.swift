import ATT
import BluetoothPrimitives
import GATT

/// What a device wants to do that takes authorisation; see ``AttributeHandlers/authorize``.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The device that asks.
    public var peer: BluetoothAddress
    /// The attribute: the handle of a characteristic's value or of a descriptor.
    public var handle: AttributeHandle
    /// What the attribute is.
    public var type: BluetoothUUID
    /// Whether it wants to read or to write it.
    public var access: AttributeAccess

    /// A request from its parts.
    public init(peer: BluetoothAddress, handle: AttributeHandle, type: BluetoothUUID, access: AttributeAccess) {
        self.peer = peer
        self.handle = handle
        self.type = type
        self.access = access
    }
}

/// What a program says to a device that wants to do what takes authorisation.
public enum ClientAuthorization: Sendable, Hashable {
    /// It may not: it is told Insufficient Authorization, and the next time is asked about anew.
    case refused
    /// It may this time, of which a write in several parts is one.
    case once
    /// It may, and may do everything that takes authorisation with the attributes published together with this one, for
    /// as long as the link lasts; among it, be sent values. That alone is not asked about.
    case whileConnected
}
