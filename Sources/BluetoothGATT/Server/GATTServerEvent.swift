import BluetoothATT
import BluetoothPrimitives

/// An event of a client that the program must know of or respond to.
///
/// One that asks the program belongs to the server that created it, where its number distinguishes it from all others.
public enum GATTServerEvent: Hashable, Sendable {
    /// The client reads a value of the program; answer with ``GATTServer/answer(_:with:database:into:)``.
    case readRequested(AttributeHandle, number: UInt64)
    /// The client writes one or several values of the program, all or nothing and at least one: the writes in order, with
    /// consecutive parts of a value joined. Answer with
    /// ``GATTServer/answer(_:with:database:into:)``.
    case writeRequested([AttributeWrite], number: UInt64)
    /// The client wrote a value of the program without response.
    case writeCommandReceived(AttributeWrite)
    /// The client requests access that requires authorization, or a bond that
    /// ``BearerSecurity/isBonded`` does not confirm; answer with
    /// ``GATTServer/answer(_:with:database:into:)``.
    case authorizationRequested(AttributeHandle, AttributeAccess, number: UInt64)
    /// The client sent a command that requires authorization or a bond, without response; answer with
    /// ``GATTServer/answer(_:with:database:into:)``.
    case commandAuthorizationRequested(AttributeWrite)
    /// The client changed a stored value.
    case storedValueChanged(AttributeHandle)
    /// The client changed the configuration of the characteristic with this value handle.
    case configurationChanged(AttributeHandle, ClientCharacteristicConfiguration)
    /// The client wrote its supported features.
    case supportedFeaturesChanged(GATTClientFeatures)
    /// The client exchanged the ATT_MTU; the new one, in bytes, applies from the next PDU on.
    case mtuExchanged(Int)
    /// The client sent a request before the response to the previous one (Core Vol 3 Part F §3.3.2). There is no
    /// response; close the bearer.
    case requestOutOfTurn(ATTOpcode)
}

extension GATTServerEvent {
    /// The access that the program is asked about, of several the first; nil for an event that asks nothing.
    package var access: (handle: AttributeHandle, kind: AttributeAccess)? {
        switch self {
        case .readRequested(let handle, _): (handle, .read)
        case .writeRequested(let writes, _): writes.first.map { ($0.handle, .write) }
        case .authorizationRequested(let handle, let access, _): (handle, access)
        case .writeCommandReceived(let write), .commandAuthorizationRequested(let write): (write.handle, .write)
        default: nil
        }
    }

    /// Whether the client waits for a response.
    package var isRequest: Bool {
        switch self {
        case .readRequested, .writeRequested, .authorizationRequested: true
        default: false
        }
    }

    /// Whether the access requires authorization or a bond.
    package var asksForAuthorization: Bool {
        switch self {
        case .authorizationRequested, .commandAuthorizationRequested: true
        default: false
        }
    }
}

/// A write by a client into a value.
public struct AttributeWrite: Hashable, Sendable {
    /// The attribute handle.
    public var handle: AttributeHandle
    /// The offset of the bytes in the value; zero except for prepared writes.
    public var offset: Int
    /// The bytes; at offset zero they are the complete new value.
    public var value: [UInt8]

    /// A write of `value` at `offset`.
    public init(_ handle: AttributeHandle, offset: Int = 0, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }
}

/// The reason for which a value cannot be notified or indicated to a client.
public enum GATTServerError: Error, Hashable, Sendable {
    /// The client has not subscribed to the characteristic in this way.
    case notSubscribed(AttributeHandle)
    /// The client supports robust caching and is change-unaware (Core Vol 3 Part G §2.5.2.1).
    case clientOutOfSync(AttributeHandle)
    /// The link lacks the security that reading the value requires, or the client is not bonded or not authorized
    /// (Core Vol 3 Part C §10.3.1).
    case insufficientSecurity(AttributeHandle, ATTErrorCode)
}

extension GATTServerError: CustomStringConvertible {
    /// The error in one line.
    public var description: String {
        switch self {
        case .notSubscribed(let handle): "the client has not subscribed to \(handle)"
        case .clientOutOfSync(let handle): "\(handle) cannot be sent: the client is change-unaware"
        case .insufficientSecurity(let handle, let code): "\(handle) cannot be sent over this link: \(code)"
        }
    }
}

extension GATTServerEvent: CustomStringConvertible {
    /// The event in one line, values in hexadecimal.
    public var description: String {
        switch self {
        case .readRequested(let handle, _): "read of \(handle) requested"
        case .writeRequested(let writes, _):
            "write of \(writes.map { $0.description }.joined(separator: ", ")) requested"
        case .writeCommandReceived(let write): "write command \(write)"
        case .authorizationRequested(let handle, let access, _): "authorization to \(access) \(handle) requested"
        case .commandAuthorizationRequested(let write): "authorization for write command \(write) requested"
        case .storedValueChanged(let handle): "stored value of \(handle) changed"
        case .configurationChanged(let handle, let configuration): "configuration of \(handle): \(configuration)"
        case .supportedFeaturesChanged(let features):
            "supported features: 0x\(hexadecimal(features.rawValue, digits: 2))"
        case .mtuExchanged(let mtu): "ATT_MTU \(mtu)"
        case .requestOutOfTurn(let opcode): "\(opcode) out of turn"
        }
    }
}

extension AttributeWrite: CustomStringConvertible {
    /// `0x0003[0]: 0100`.
    public var description: String { "\(handle)[\(offset)]: \(value.isEmpty ? "-" : value.hexadecimal)" }
}
