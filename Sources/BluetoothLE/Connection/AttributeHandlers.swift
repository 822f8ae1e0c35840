import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

/// Whose access to which of our attributes a handler is asked about.
public struct AttributeRequest: Sendable, Hashable {
    /// The device that asks.
    public var peer: BluetoothAddress
    /// The attribute: the handle of a characteristic's value or of a descriptor.
    public var handle: AttributeHandle
    /// What the attribute is.
    public var type: BluetoothUUID
    /// Where in the value the bytes begin: zero but for the parts of a long write.
    public var offset: Int

    /// A request from its parts.
    public init(peer: BluetoothAddress, handle: AttributeHandle, type: BluetoothUUID, offset: Int = 0) {
        self.peer = peer
        self.handle = handle
        self.type = type
        self.offset = offset
    }
}

/// What a program does when devices read and write its dynamic values.
///
/// A device's requests are handled one after the other, in the order they came; those of several devices at the same
/// time. A request may take 25 s, then the device is told Unlikely Error and the handler's task is cancelled. An
/// `ATTErrorCode` that a handler throws is what the device is told; any other error becomes Unlikely Error and is
/// logged. Handlers run on the event loop unless they belong to an actor of their own: they may wait, but not block.
public struct AttributeHandlers: Sendable {
    /// Answers a read with the whole value, at most 512 bytes.
    public var read: (@Sendable (AttributeRequest) async throws -> [UInt8])?
    /// Takes a written value, or a part of one. Without an offset the bytes are the whole new value.
    ///
    /// Commands come here as well; nobody is told when it throws then.
    public var write: (@Sendable (AttributeRequest, [UInt8]) async throws -> Void)?
    /// Decides whether a device may do what takes authorisation (``AttributePermissions/readAuthorized`` and
    /// ``AttributePermissions/writeAuthorized``), before anything else that its link may lack is looked at.
    ///
    /// Without it, when it throws and when it is late, the device is told Insufficient Authorization.
    public var authorize: (@Sendable (AuthorizationRequest) async throws -> ClientAuthorization)?
    /// Takes in place of ``read`` and ``write`` what a device does, as one sequence of events.
    package var events: PeerEventDelivery?

    /// Handlers of dynamic values and of authorisation; what has none is refused as Read Not Permitted, Write Not Permitted
    /// and Insufficient Authorization.
    public init(
        read: (@Sendable (AttributeRequest) async throws -> [UInt8])? = nil,
        write: (@Sendable (AttributeRequest, [UInt8]) async throws -> Void)? = nil,
        authorize: (@Sendable (AuthorizationRequest) async throws -> ClientAuthorization)? = nil
    ) {
        self.read = read
        self.write = write
        self.authorize = authorize
    }
}

/// That a device subscribed to one of our characteristics, or ended its subscription.
public struct PeerSubscription: Sendable, Hashable {
    /// The handle of the characteristic's value.
    public var characteristic: AttributeHandle
    /// What the device wants to be sent from now on; empty for nothing.
    public var configuration: ClientCharacteristicConfiguration

    /// A subscription from its parts.
    public init(characteristic: AttributeHandle, configuration: ClientCharacteristicConfiguration) {
        self.characteristic = characteristic
        self.configuration = configuration
    }
}
