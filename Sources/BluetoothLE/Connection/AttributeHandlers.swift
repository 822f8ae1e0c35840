import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

/// A client's access to a value of the program.
package struct AttributeRequest: Sendable, Hashable {
    /// The address of the client.
    package var peer: BluetoothAddress
    /// The handle of a characteristic's value or of a descriptor.
    package var handle: AttributeHandle
    /// The type of the attribute.
    package var type: BluetoothUUID
    /// The offset of the bytes in the value: zero but for the parts of a long write.
    package var offset: Int

    /// A request from its parts.
    package init(peer: BluetoothAddress, handle: AttributeHandle, type: BluetoothUUID, offset: Int = 0) {
        self.peer = peer
        self.handle = handle
        self.type = type
        self.offset = offset
    }
}

/// The handlers of one publication: of all its dynamic values, or of each of its definitions.
///
/// The requests of one device are handled one after the other, in the order received; those of several devices at the
/// same time. After 25 s the client receives Unlikely Error and the handler's task is cancelled. A thrown `ATTErrorCode`
/// is sent to the client; any other error is logged and sent as Unlikely Error.
package struct AttributeHandlers: Sendable {
    /// Answers a read with the whole value, at most 512 bytes.
    package var read: (@Sendable (AttributeRequest) async throws -> [UInt8])?
    /// Accepts a written value, or a part of one; without an offset the bytes are the whole new value.
    ///
    /// Commands arrive here as well; their errors are only logged.
    package var write: (@Sendable (AttributeRequest, [UInt8]) async throws -> Void)?
    /// Authorises access to attributes with `AttributePermissions.readAuthorized` and
    /// `AttributePermissions.writeAuthorized`, once the link has the security that the access requires.
    ///
    /// Without it, when it throws and when it is late, the client receives Insufficient Authorization.
    package var authorize: Authorizer?
    /// Receives a device's requests in place of ``read`` and ``write``, as one sequence of events.
    package var events: PeerEventDelivery?
    /// Handles each value in place of ``read`` and ``write``, by its own definition.
    var definitions: PublishedDefinitions?

    /// Handlers of dynamic values and of authorisation; a missing one refuses as Read Not Permitted, Write Not Permitted
    /// and Insufficient Authorization.
    package init(
        read: (@Sendable (AttributeRequest) async throws -> [UInt8])? = nil,
        write: (@Sendable (AttributeRequest, [UInt8]) async throws -> Void)? = nil,
        authorize: Authorizer? = nil
    ) {
        self.read = read
        self.write = write
        self.authorize = authorize
    }
}

/// A handler that authorises clients; see ``Adapter/publish(_:authorizing:)``.
public typealias Authorizer = @Sendable (AuthorizationRequest) async throws -> ClientAuthorization

/// A device's subscription to a published characteristic, or its end.
public struct PeerSubscription: Sendable, Hashable {
    /// The handle of the characteristic's value.
    public var characteristic: AttributeHandle
    /// The values that the device has subscribed to; empty when it has unsubscribed.
    public var configuration: ClientCharacteristicConfiguration

    /// A subscription from its parts.
    public init(characteristic: AttributeHandle, configuration: ClientCharacteristicConfiguration) {
        self.characteristic = characteristic
        self.configuration = configuration
    }
}
