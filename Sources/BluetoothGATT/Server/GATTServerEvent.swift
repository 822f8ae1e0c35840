import BluetoothATT
import BluetoothPrimitives

/// What a client did that the program has to know or to decide.
public enum GATTServerEvent: Hashable, Sendable {
    /// The client waits for a value that the program has; answer with
    /// ``GATTServer/answer(_:value:startingAt:database:into:)`` or refuse with
    /// ``GATTServer/refuse(_:with:database:into:)``.
    case readRequested(GATTReadRequest)
    /// The client waits for the program to take values; answer with ``GATTServer/accept(_:database:into:)`` or refuse
    /// with ``GATTServer/refuse(_:at:with:into:)``.
    case writeRequested(GATTWriteRequest)
    /// The client wrote to an attribute whose value the program has, and waits for nothing.
    case writeCommandReceived(AttributeWrite)
    /// The client waits to be authorised for what an attribute asks that of; answer with
    /// ``GATTServer/authorize(_:database:into:)`` or ``GATTServer/refuse(_:database:into:)``.
    case authorizationRequested(GATTAuthorizationRequest)
    /// The client sent a command for which it has to be authorised, and waits for nothing; see
    /// ``GATTServer/carryOut(_:database:)``.
    case commandAuthorizationRequested(AttributeWrite)
    /// The client changed a value that the database keeps.
    case storedValueChanged(AttributeHandle)
    /// The client changed what it wants to be sent of the characteristic whose value has this handle.
    case configurationChanged(AttributeHandle, ClientCharacteristicConfiguration)
    /// The client has said what it can do.
    case supportedFeaturesChanged(GATTClientFeatures)
    /// The ATT_MTU, in bytes, from the next PDU on.
    case mtuExchanged(Int)
    /// The client has the value that was indicated; the next indication can be sent.
    case indicationConfirmed(AttributeHandle)
    /// The client sent a request while another waits for its response (Core Vol 3 Part F §3.3.2). Nothing is
    /// answered; the bearer is best closed.
    case requestOutOfTurn(ATTOpcode)
}

/// Bytes that a client wants to be written into a value.
public struct AttributeWrite: Hashable, Sendable {
    /// The attribute.
    public var handle: AttributeHandle
    /// Where in the value the bytes go. Zero but for prepared writes.
    public var offset: Int
    /// The bytes; written at offset zero they are the whole new value.
    public var value: [UInt8]

    /// A write of `value` from `offset` on.
    public init(_ handle: AttributeHandle, offset: Int = 0, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }
}

/// A client's question for a value that the program has.
///
/// Belongs to the one server that made it and is answered once; an answer that comes twice, or for another request,
/// does nothing.
public struct GATTReadRequest: Hashable, Sendable {
    let number: UInt64
    /// The attribute.
    public let handle: AttributeHandle
    /// Where in the value the client goes on reading; zero at first.
    public let offset: Int
}

/// A client's wish to write values that the program has, one or several at once.
///
/// Belongs to the one server that made it and is answered once; an answer that comes twice, or for another request,
/// does nothing.
public struct GATTWriteRequest: Hashable, Sendable {
    let number: UInt64
    /// What is to be written, in this order, all or nothing; never empty. Parts that follow each other are joined.
    public let writes: [AttributeWrite]
}

/// Why a value cannot be sent to a client now.
public enum GATTServerError: Error, Hashable, Sendable {
    /// The client has not asked for this characteristic to be sent in this way.
    case notSubscribed(AttributeHandle)
    /// The client uses robust caching and does not know yet that the database has changed
    /// (Core Vol 3 Part G §2.5.2.1).
    case clientOutOfSync(AttributeHandle)
    /// The client has not confirmed the last indication.
    case indicationOutstanding(AttributeHandle)
    /// The link is not protected as reading the value requires, or the client is not authorised to
    /// (Core Vol 3 Part C §10.3.1).
    case insufficientSecurity(AttributeHandle, ATTErrorCode)
}

extension GATTServerError: CustomStringConvertible {
    /// Everything in one line.
    public var description: String {
        switch self {
        case .notSubscribed(let handle): "the client has not subscribed to \(handle)"
        case .clientOutOfSync(let handle): "\(handle) cannot be sent before the client knows the changed database"
        case .indicationOutstanding(let handle): "the indication of \(handle) is not confirmed"
        case .insufficientSecurity(let handle, let code): "\(handle) cannot be sent over this link: \(code)"
        }
    }
}

extension GATTServerEvent: CustomStringConvertible {
    /// Everything in one line, values in hexadecimal.
    public var description: String {
        switch self {
        case .readRequested(let request): "read of \(request.handle) from \(request.offset) requested"
        case .writeRequested(let request):
            "write of \(request.writes.map(\.description).joined(separator: ", ")) requested"
        case .writeCommandReceived(let write): "write command \(write)"
        case .authorizationRequested(let request): "authorisation to \(request.access) \(request.handle) requested"
        case .commandAuthorizationRequested(let write): "authorisation for write command \(write) requested"
        case .storedValueChanged(let handle): "stored value of \(handle) changed"
        case .configurationChanged(let handle, let configuration): "configuration of \(handle): \(configuration)"
        case .supportedFeaturesChanged(let features):
            "supported features: 0x\(hexadecimal(features.rawValue, digits: 2))"
        case .mtuExchanged(let mtu): "ATT_MTU \(mtu)"
        case .indicationConfirmed(let handle): "indication of \(handle) confirmed"
        case .requestOutOfTurn(let opcode): "\(opcode) out of turn"
        }
    }
}

extension AttributeWrite: CustomStringConvertible {
    /// `0x0003[0]: 0100`.
    public var description: String { "\(handle)[\(offset)]: \(value.isEmpty ? "-" : value.hexadecimal)" }
}
