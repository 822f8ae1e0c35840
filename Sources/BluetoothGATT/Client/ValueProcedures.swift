import BluetoothATT
import BluetoothPrimitives

/// Exchange MTU (Core Vol 3 Part G §4.3.1). The result is the new ATT_MTU.
public struct MTUExchange: ClientProcedure {
    private let ours: UInt16

    /// An exchange with a client receive MTU of `mtu` bytes, at least 23.
    public init(offering mtu: UInt16) {
        ours = max(mtu, UInt16(AttributeProtocol.defaultMTU))
    }

    /// Writes the Exchange MTU Request.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.exchangeMTURequest(clientReceiveMTU: ours), into: &writer)
    }

    /// Processes the response; a server that does not support the request keeps the ATT_MTU at 23.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<Int> {
        switch answer {
        case .exchangeMTUResponse(let theirs):
            return .done(AttributeProtocol.mtu(clientReceiveMTU: ours, serverReceiveMTU: theirs))
        case .errorResponse(let error) where error.code == .requestNotSupported:
            return .done(AttributeProtocol.defaultMTU)
        default: throw failure(answer)
        }
    }
}

/// Read Characteristic Value and Read Long Characteristic Values (Core Vol 3 Part G §4.8.1, §4.8.3): the complete
/// value, of any length. Also for descriptors (§4.12.1, §4.12.2).
public struct ValueRead: ClientProcedure {
    private let handle: AttributeHandle
    private var value: [UInt8] = []
    private var isLong = false
    private var mtu = AttributeProtocol.defaultMTU

    /// A read of the attribute `handle`.
    public init(_ handle: AttributeHandle) {
        self.handle = handle
    }

    /// A read that continues after `beginning`, which another response contained.
    init(_ handle: AttributeHandle, after beginning: [UInt8]) {
        self.handle = handle
        value = beginning
        isLong = true
    }

    /// Writes a Read Request, then Read Blob Requests for the rest.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        mtu = writer.capacity
        if isLong {
            try encode(.readBlobRequest(handle, offset: UInt16(clamping: value.count)), into: &writer)
        } else {
            try encode(.readRequest(handle), into: &writer)
        }
    }

    /// Processes a part of the value; one that does not fill the ATT_MTU is the last.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[UInt8]> {
        let part: RawSpan
        switch answer {
        case .readResponse(let bytes) where !isLong: part = bytes
        case .readBlobResponse(let bytes) where isLong: part = bytes
        case .errorResponse(let error) where isLong && Self.endsValue(error.code): return .done(value)
        default: throw failure(answer)
        }
        if value.isEmpty {
            value = [UInt8](part)
        } else {
            part.withUnsafeBytes { value.append(contentsOf: $0) }
        }
        guard value.count <= AttributeProtocol.maximumAttributeValueLength else {
            throw .violation("a value of more than \(AttributeProtocol.maximumAttributeValueLength) bytes")
        }
        let isWhole =
            part.byteCount < mtu - 1 || value.count == AttributeProtocol.maximumAttributeValueLength
        if isWhole { return .done(value) }
        isLong = true
        return .next
    }

    /// Whether an Error Response to the next part means that the value just filled the last one: the offset is past its
    /// end, or the value is not long, or the server has no long values and does not support the request.
    private static func endsValue(_ code: ATTErrorCode) -> Bool {
        code == .invalidOffset || code == .attributeNotLong || code == .requestNotSupported
    }
}

/// Write Characteristic Value (Core Vol 3 Part G §4.9.3): one Write Request.
public struct ValueWrite: ClientProcedure {
    private let handle: AttributeHandle
    private let value: [UInt8]

    /// A write of `value`, at most ATT_MTU − 3 bytes, to the attribute `handle`.
    public init(_ value: [UInt8], to handle: AttributeHandle) {
        self.handle = handle
        self.value = value
    }

    /// Writes the Write Request.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.writeRequest(handle, value: value.span.bytes), into: &writer)
    }

    /// Processes the Write Response.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<Void> {
        guard case .writeResponse = answer else { throw failure(answer) }
        return .done(())
    }
}
