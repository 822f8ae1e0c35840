import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// A client with the security of its link when its request arrived.
struct AttributeClient: Sendable, Hashable {
    /// The address of the client.
    var address: BluetoothAddress
    /// The security of the link.
    var security: LinkSecurity
    /// Whether the link is encrypted and there is a bond with the client.
    var isBonded: Bool
}

/// A client's read of a value that this machine offers.
public struct ReadRequest: Sendable, Hashable {
    /// The address of the client, which any device can use; ``isBonded`` confirms it.
    public let peer: BluetoothAddress
    /// The type of the characteristic or descriptor.
    public let uuid: BluetoothUUID
    /// The definition that is read: the `id` of a ``LocalCharacteristic`` or ``LocalDescriptor``.
    public let target: DefinitionID
    /// The security of the link when the request arrived.
    public let security: LinkSecurity
    /// Whether the client was the bonded device when the request arrived: the link was encrypted, and there was a bond.
    public let isBonded: Bool
}

/// A client's write to a value that this machine offers, assembled from its parts.
public struct WriteRequest: Sendable, Hashable {
    /// The address of the client, which any device can use; ``isBonded`` confirms it.
    public let peer: BluetoothAddress
    /// The type of the characteristic or descriptor.
    public let uuid: BluetoothUUID
    /// The definition that is written: the `id` of a ``LocalCharacteristic`` or ``LocalDescriptor``.
    public let target: DefinitionID
    /// The written bytes, at most 512. With ``offset`` 0 they are the whole new value.
    public let value: [UInt8]
    /// The offset of the bytes in the value: zero, except where a client writes a part in the middle by prepared
    /// writes (Core Vol 3 Part F §3.4.6).
    public let offset: Int
    /// Whether it is a Write Command, for which the client receives no answer.
    public let isCommand: Bool
    /// The security of the link when the request arrived; for a write in parts, when the client executed it.
    public let security: LinkSecurity
    /// Whether the client was the bonded device when the request arrived: the link was encrypted, and there was a bond.
    public let isBonded: Bool
}

/// A client's request that waits for the program's answer; see ``PublishedServices/requests()``.
public enum ClientRequest: Sendable {
    /// A read.
    case read(PendingRead)
    /// A write, or all the writes of one Execute Write Request.
    case write(PendingWrite)
}

/// A read that waits for its answer. If it is released unanswered, the client receives Unlikely Error.
public final class PendingRead: Sendable {
    /// The read.
    public let request: ReadRequest
    private let question: PeerQuestion

    init(_ request: ReadRequest, _ question: PeerQuestion) {
        self.request = request
        self.question = question
    }

    /// Responds with the whole value, at most 512 bytes; reads with an offset receive the part from there.
    /// - Returns: whether it is the first answer and in time: the client waits for at most 25 s.
    @discardableResult
    public func respond(with value: [UInt8]) -> Bool { question.resolve(.success(value)) }

    /// Refuses the read with an ATT error code.
    /// - Returns: whether it is the first answer and in time.
    @discardableResult
    public func refuse(_ code: ATTErrorCode) -> Bool { question.resolve(.failure(code)) }
}

/// Writes that wait for their answer. If they are released unanswered, the client receives Unlikely Error.
public final class PendingWrite: Sendable {
    /// The writes: one, or all those of one Execute Write Request in their order, to be performed together.
    public let requests: [WriteRequest]
    private let question: PeerQuestion

    init(_ requests: [WriteRequest], _ question: PeerQuestion) {
        self.requests = requests
        self.question = question
    }

    /// Accepts the writes. Commands need no answer; answering one has no effect.
    /// - Returns: whether it is the first answer and in time: the client waits for at most 25 s. False for commands.
    @discardableResult
    public func respond() -> Bool { question.resolve(.success([])) }

    /// Refuses the writes with an ATT error code.
    /// - Returns: whether it is the first answer and in time.
    @discardableResult
    public func refuse(_ code: ATTErrorCode) -> Bool { question.resolve(.failure(code)) }
}

/// A handler that authorises clients; see ``Adapter/publish(_:authorizing:)``.
public typealias Authorizer = @Sendable (AuthorizationRequest) async throws -> ClientAuthorization

/// A client's request for access that requires authorisation, over a link with the security that the access requires;
/// see ``Adapter/publish(_:authorizing:)``.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The address of the client, which any device can use; ``isBonded`` confirms it.
    public let peer: BluetoothAddress
    /// The handle of the characteristic's value or of the descriptor.
    public let handle: AttributeHandle
    /// The type of the characteristic or descriptor.
    public let uuid: BluetoothUUID
    /// The requested access: reading or writing.
    public let access: AttributeAccess
    /// The security of the link when the request arrived.
    public let security: LinkSecurity
    /// Whether the client was the bonded device when the request arrived: the link was encrypted, and there was a bond.
    public let isBonded: Bool
}

/// The program's answer to an authorisation request.
public enum ClientAuthorization: Sendable, Hashable {
    /// Refused with Insufficient Authorization; the next request asks again.
    case refused
    /// Permitted this time; a write in several parts counts as one.
    case once
    /// Permitted for the lifetime of the link, for everything that requires authorisation among the attributes
    /// published together with this one, including notifications and indications, which never cause a request of their
    /// own.
    case whileConnected
}
