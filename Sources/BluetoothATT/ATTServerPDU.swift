import BluetoothPrimitives

/// A PDU a server sends to a client: a response, a notification or an indication (Core Vol 3 Part F §3.4).
///
/// Values and lists borrow the bytes the PDU was decoded from. The responses that are lists are written with the
/// builders, such as ``ATTReadByTypeResponseBuilder``.
@frozen
public enum ATTServerPDU: ~Escapable {
    /// Refuses a request (Core Vol 3 Part F §3.4.1.1).
    case errorResponse(ATTError)
    /// States the largest PDU the server can receive (Core Vol 3 Part F §3.4.2.2).
    case exchangeMTUResponse(serverReceiveMTU: UInt16)
    /// Gives handles and types (Core Vol 3 Part F §3.4.3.2).
    case findInformationResponse(ATTInformationList)
    /// Gives the attributes that have the type and value, each with the end of its group
    /// (Core Vol 3 Part F §3.4.3.4).
    case findByTypeValueResponse(ATTHandleRangeList)
    /// Gives the handles and values of attributes of a type (Core Vol 3 Part F §3.4.4.2).
    case readByTypeResponse(ATTAttributeDataList)
    /// Gives a value, or its beginning when it fills the ATT_MTU (Core Vol 3 Part F §3.4.4.4).
    case readResponse(value: RawSpan)
    /// Gives a part of a value (Core Vol 3 Part F §3.4.4.6).
    case readBlobResponse(value: RawSpan)
    /// Gives several values with nothing between them (Core Vol 3 Part F §3.4.4.8).
    case readMultipleResponse(values: RawSpan)
    /// Gives groups of attributes and the values of their first (Core Vol 3 Part F §3.4.4.10).
    case readByGroupTypeResponse(ATTGroupAttributeDataList)
    /// Says that a value has been written (Core Vol 3 Part F §3.4.5.2).
    case writeResponse
    /// Says that a part has been queued, and repeats it (Core Vol 3 Part F §3.4.6.2).
    case prepareWriteResponse(AttributeHandle, offset: UInt16, value: RawSpan)
    /// Says that the queue has been written or forgotten (Core Vol 3 Part F §3.4.6.4).
    case executeWriteResponse
    /// Tells a value, without an answer (Core Vol 3 Part F §3.4.7.1).
    case handleValueNotification(AttributeHandle, value: RawSpan)
    /// Tells a value and wants a confirmation (Core Vol 3 Part F §3.4.7.2).
    case handleValueIndication(AttributeHandle, value: RawSpan)
    /// Gives several values with their lengths (Core Vol 3 Part F §3.4.4.12).
    case readMultipleVariableResponse(ATTLengthValueList)
    /// Tells several values, without an answer (Core Vol 3 Part F §3.4.7.4).
    case multipleHandleValueNotification(ATTHandleLengthValueList)
    /// A PDU whose opcode no server sends by the specification, with all bytes that follow the opcode.
    case unknown(ATTOpcode, parameters: RawSpan)
}

extension ATTServerPDU {
    /// Decodes one whole PDU, which stays borrowed as long as the result lives.
    ///
    /// - Throws: ``ATTDecodingError`` when there is no opcode, when the bytes after a known opcode are too few or too
    ///   many, or when a list is not made of whole entries.
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
        try reader.finish()
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
    /// A value is written whole; a server that may cut one does so before, see ``ATTValueLimits``. A list is written
    /// from where it stands, without the entries that were taken off.
    ///
    /// - Throws: ``BufferFull`` when the PDU does not fit; the writer is then as it was.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.writeWhole { (writer) throws(BufferFull) in
            try writer.write(opcode)
            try encodeParameters(into: &writer)
        }
    }

    private func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .errorResponse(let error):
            try writer.write(error.requestOpcode)
            try writer.write(error.handle)
            try writer.write(error.code.rawValue)
        case .exchangeMTUResponse(let mtu):
            try writer.write(mtu)
        case .findInformationResponse(let list):
            try writer.write(ATTInformationList.format(list.typeWidth))
            try writer.write(list.reader.unread)
        case .findByTypeValueResponse(let list):
            try writer.write(list.reader.unread)
        case .readByTypeResponse(let list):
            try writer.write(UInt8(truncatingIfNeeded: list.entryLength))
            try writer.write(list.reader.unread)
        case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value):
            try writer.write(value)
        case .readByGroupTypeResponse(let list):
            try writer.write(UInt8(truncatingIfNeeded: list.entryLength))
            try writer.write(list.reader.unread)
        case .writeResponse, .executeWriteResponse:
            break
        case .prepareWriteResponse(let handle, let offset, let value):
            try writer.write(handle)
            try writer.write(offset)
            try writer.write(value)
        case .handleValueNotification(let handle, let value), .handleValueIndication(let handle, let value):
            try writer.write(handle)
            try writer.write(value)
        case .readMultipleVariableResponse(let list):
            try writer.write(list.reader.unread)
        case .multipleHandleValueNotification(let list):
            try writer.write(list.reader.unread)
        case .unknown(_, let parameters):
            try writer.write(parameters)
        }
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
