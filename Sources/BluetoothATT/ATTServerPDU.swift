import BluetoothPrimitives

/// A PDU that a server sends to a client: a response, a notification or an indication (Core Vol 3 Part F §3.4).
///
/// Values and lists borrow the bytes that the PDU was decoded from. Builders such as ``ATTReadByTypeResponseBuilder``
/// write the responses that contain lists.
@frozen
public enum ATTServerPDU: ~Escapable {
    /// Error Response to a request (Core Vol 3 Part F §3.4.1.1).
    case errorResponse(ATTError)
    /// Exchange MTU Response, with the largest PDU the server can receive in bytes (Core Vol 3 Part F §3.4.2.2).
    case exchangeMTUResponse(serverReceiveMTU: UInt16)
    /// Find Information Response, with handles and types (Core Vol 3 Part F §3.4.3.2).
    case findInformationResponse(ATTInformationList)
    /// Find By Type Value Response, with the found attributes and their group end handles (Core Vol 3 Part F §3.4.3.4).
    case findByTypeValueResponse(ATTHandleRangeList)
    /// Read By Type Response, with the handles and values of attributes of a type (Core Vol 3 Part F §3.4.4.2).
    case readByTypeResponse(ATTAttributeDataList)
    /// Read Response, with a value, or its beginning when it fills the ATT_MTU (Core Vol 3 Part F §3.4.4.4).
    case readResponse(value: RawSpan)
    /// Read Blob Response, with a part of a value (Core Vol 3 Part F §3.4.4.6).
    case readBlobResponse(value: RawSpan)
    /// Read Multiple Response, with the concatenated values (Core Vol 3 Part F §3.4.4.8).
    case readMultipleResponse(values: RawSpan)
    /// Read By Group Type Response, with groups and the values of their first attributes (Core Vol 3 Part F §3.4.4.10).
    case readByGroupTypeResponse(ATTGroupAttributeDataList)
    /// Write Response, after the value was written (Core Vol 3 Part F §3.4.5.2).
    case writeResponse
    /// Prepare Write Response, which echoes the queued part (Core Vol 3 Part F §3.4.6.2).
    case prepareWriteResponse(AttributeHandle, offset: UInt16, value: RawSpan)
    /// Execute Write Response, after the prepared writes were written or cancelled (Core Vol 3 Part F §3.4.6.4).
    case executeWriteResponse
    /// Handle Value Notification, which has no confirmation (Core Vol 3 Part F §3.4.7.1).
    case handleValueNotification(AttributeHandle, value: RawSpan)
    /// Handle Value Indication, which the client confirms (Core Vol 3 Part F §3.4.7.2).
    case handleValueIndication(AttributeHandle, value: RawSpan)
    /// Read Multiple Variable Response, with several values and their lengths (Core Vol 3 Part F §3.4.4.12).
    case readMultipleVariableResponse(ATTLengthValueList)
    /// Multiple Handle Value Notification, which has no confirmation (Core Vol 3 Part F §3.4.7.4).
    case multipleHandleValueNotification(ATTHandleLengthValueList)
    /// A PDU with an opcode that the specification assigns to no server PDU, and all bytes that follow the opcode.
    case unknown(ATTOpcode, parameters: RawSpan)
}

extension ATTServerPDU {
    /// Decodes one complete PDU, whose bytes the result borrows.
    ///
    /// - Throws: ``ATTDecodingError`` when the PDU is empty, when too few or too many bytes follow a known opcode, or
    ///   when a list ends within an entry.
    @_lifetime(copy pdu)
    public init(decoding pdu: RawSpan) throws(ATTDecodingError) {
        var reader = try PDUReader(pdu)
        switch reader.opcode {
        case .errorResponse:
            let request = ATTOpcode(try reader.readUInt8())
            let handle = try reader.readHandle()
            let code = ATTErrorCode(try reader.readUInt8())
            self = .errorResponse(ATTError(requestOpcode: request, handle: handle, code: code))
        case .exchangeMTUResponse:
            self = .exchangeMTUResponse(serverReceiveMTU: try reader.readUInt16())
        case .findInformationResponse:
            self = .findInformationResponse(try ATTInformationList(&reader))
        case .findByTypeValueResponse:
            self = .findByTypeValueResponse(try ATTHandleRangeList(&reader))
        case .readByTypeResponse:
            self = .readByTypeResponse(try ATTAttributeDataList(&reader))
        case .readResponse:
            self = .readResponse(value: reader.readValue())
        case .readBlobResponse:
            self = .readBlobResponse(value: reader.readValue())
        case .readMultipleResponse:
            self = .readMultipleResponse(values: reader.readValue())
        case .readByGroupTypeResponse:
            self = .readByGroupTypeResponse(try ATTGroupAttributeDataList(&reader))
        case .writeResponse:
            self = .writeResponse
        case .prepareWriteResponse:
            let handle = try reader.readHandle()
            let offset = try reader.readUInt16()
            self = .prepareWriteResponse(handle, offset: offset, value: reader.readValue())
        case .executeWriteResponse:
            self = .executeWriteResponse
        case .handleValueNotification:
            let handle = try reader.readHandle()
            self = .handleValueNotification(handle, value: reader.readValue())
        case .handleValueIndication:
            let handle = try reader.readHandle()
            self = .handleValueIndication(handle, value: reader.readValue())
        case .readMultipleVariableResponse:
            self = .readMultipleVariableResponse(try ATTLengthValueList(&reader))
        case .multipleHandleValueNotification:
            self = .multipleHandleValueNotification(try ATTHandleLengthValueList(&reader))
        default:
            self = .unknown(reader.opcode, parameters: reader.readValue())
        }
        try reader.expectEnd()
    }

    /// The opcode of this PDU.
    public var opcode: ATTOpcode {
        switch self {
        case .errorResponse: .errorResponse
        case .exchangeMTUResponse: .exchangeMTUResponse
        case .findInformationResponse: .findInformationResponse
        case .findByTypeValueResponse: .findByTypeValueResponse
        case .readByTypeResponse: .readByTypeResponse
        case .readResponse: .readResponse
        case .readBlobResponse: .readBlobResponse
        case .readMultipleResponse: .readMultipleResponse
        case .readByGroupTypeResponse: .readByGroupTypeResponse
        case .writeResponse: .writeResponse
        case .prepareWriteResponse: .prepareWriteResponse
        case .executeWriteResponse: .executeWriteResponse
        case .handleValueNotification: .handleValueNotification
        case .handleValueIndication: .handleValueIndication
        case .readMultipleVariableResponse: .readMultipleVariableResponse
        case .multipleHandleValueNotification: .multipleHandleValueNotification
        case .unknown(let opcode, _): opcode
        }
    }

    /// Appends this PDU to `writer`, whose capacity is the ATT_MTU.
    ///
    /// A value is written in full; a server truncates it first where the specification allows that, see
    /// ``ATTValueLimits``. A list is written from its current position: entries already returned by `next()` are left
    /// out.
    ///
    /// - Throws: ``BufferFull`` when the PDU does not fit; `writer` is then unchanged.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        var header = PDUHeader(opcode)
        var value = RawSpan()
        switch self {
        case .errorResponse(let error):
            header.append(error.requestOpcode.rawValue)
            header.append(error.handle.rawValue)
            header.append(error.code.rawValue)
        case .exchangeMTUResponse(let mtu):
            header.append(mtu)
        case .findInformationResponse(let list):
            header.append(ATTInformationList.format(list.typeWidth))
            value = list.reader.unread
        case .findByTypeValueResponse(let list):
            value = list.reader.unread
        case .readByTypeResponse(let list):
            header.append(UInt8(truncatingIfNeeded: list.entryLength))
            value = list.reader.unread
        case .readResponse(let bytes), .readBlobResponse(let bytes), .readMultipleResponse(let bytes):
            value = bytes
        case .readByGroupTypeResponse(let list):
            header.append(UInt8(truncatingIfNeeded: list.entryLength))
            value = list.reader.unread
        case .writeResponse, .executeWriteResponse:
            break
        case .prepareWriteResponse(let handle, let offset, let part):
            header.append(handle.rawValue)
            header.append(offset)
            value = part
        case .handleValueNotification(let handle, let bytes), .handleValueIndication(let handle, let bytes):
            header.append(handle.rawValue)
            value = bytes
        case .readMultipleVariableResponse(let list):
            value = list.reader.unread
        case .multipleHandleValueNotification(let list):
            value = list.reader.unread
        case .unknown(_, let parameters):
            value = parameters
        }
        try writer.write(header, value)
    }

    /// The name and all fields in one line, values in hexadecimal: `Read Response value 0100`.
    public var description: String {
        let fields =
            switch self {
            case .errorResponse(let error):
                "request \(error.requestOpcode) handle \(error.handle) code \(error.code)"
            case .exchangeMTUResponse(let mtu): "server receive MTU \(mtu)"
            case .findInformationResponse(let list): "information \(list.description)"
            case .findByTypeValueResponse(let list): "handles \(list.description)"
            case .readByTypeResponse(let list): "data \(list.description)"
            case .readResponse(let value), .readBlobResponse(let value): "value \(hexadecimal(value))"
            case .readMultipleResponse(let values): "values \(hexadecimal(values))"
            case .readByGroupTypeResponse(let list): "data \(list.description)"
            case .writeResponse, .executeWriteResponse: ""
            case .prepareWriteResponse(let handle, let offset, let value):
                "handle \(handle) offset \(offset) value \(hexadecimal(value))"
            case .handleValueNotification(let handle, let value), .handleValueIndication(let handle, let value):
                "handle \(handle) value \(hexadecimal(value))"
            case .readMultipleVariableResponse(let list): "values \(list.description)"
            case .multipleHandleValueNotification(let list): "values \(list.description)"
            case .unknown(_, let parameters): "parameters \(hexadecimal(parameters))"
            }
        return fields.isEmpty ? opcode.description : "\(opcode) \(fields)"
    }
}
