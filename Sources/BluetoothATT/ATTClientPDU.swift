import BluetoothPrimitives

/// A PDU a client sends to a server: a request, a command or the confirmation (Core Vol 3 Part F §3.4).
///
/// Values and lists borrow the bytes the PDU was decoded from.
@frozen
public enum ATTClientPDU: ~Escapable {
    /// States the largest PDU the client can receive (Core Vol 3 Part F §3.4.2.1).
    case exchangeMTURequest(clientReceiveMTU: UInt16)
    /// Asks for the types of all attributes in a range (Core Vol 3 Part F §3.4.3.1).
    case findInformationRequest(AttributeHandleRange)
    /// Asks which attributes in a range have a 16-bit type and a value (Core Vol 3 Part F §3.4.3.3).
    case findByTypeValueRequest(AttributeHandleRange, type: UInt16, value: RawSpan)
    /// Asks for the values of all attributes in a range that have a type (Core Vol 3 Part F §3.4.4.1).
    case readByTypeRequest(AttributeHandleRange, type: BluetoothUUID)
    /// Asks for the value of an attribute (Core Vol 3 Part F §3.4.4.3).
    case readRequest(AttributeHandle)
    /// Asks for the value of an attribute from an offset on (Core Vol 3 Part F §3.4.4.5).
    case readBlobRequest(AttributeHandle, offset: UInt16)
    /// Asks for the values of several attributes whose lengths the client knows (Core Vol 3 Part F §3.4.4.7).
    case readMultipleRequest(ATTHandleList)
    /// Asks for the values of all attributes in a range that begin a group (Core Vol 3 Part F §3.4.4.9).
    case readByGroupTypeRequest(AttributeHandleRange, groupType: BluetoothUUID)
    /// Asks for a value to be written (Core Vol 3 Part F §3.4.5.1).
    case writeRequest(AttributeHandle, value: RawSpan)
    /// Asks for a part of a value to be queued for writing (Core Vol 3 Part F §3.4.6.1).
    case prepareWriteRequest(AttributeHandle, offset: UInt16, value: RawSpan)
    /// Asks for the queue to be written or forgotten (Core Vol 3 Part F §3.4.6.3).
    case executeWriteRequest(ATTExecuteWriteFlags)
    /// Says that an indication has arrived (Core Vol 3 Part F §3.4.7.3).
    case handleValueConfirmation
    /// Asks for the values of several attributes with their lengths (Core Vol 3 Part F §3.4.4.11).
    case readMultipleVariableRequest(ATTHandleList)
    /// Orders a value to be written, without an answer (Core Vol 3 Part F §3.4.5.3).
    case writeCommand(AttributeHandle, value: RawSpan)
    /// Orders a value to be written, without an answer, with a signature (Core Vol 3 Part F §3.4.5.4).
    case signedWriteCommand(AttributeHandle, value: RawSpan, signature: ATTAuthenticationSignature)
    /// A PDU whose opcode no client sends by the specification, with all bytes that follow the opcode.
    case unknown(ATTOpcode, parameters: RawSpan)
}

extension ATTClientPDU {
    /// Decodes one whole PDU, which stays borrowed as long as the result lives.
    ///
    /// An attribute type that came in 128 bits and has a 16-bit form is the same as one that came in 16 bits.
    ///
    /// - Throws: ``ATTDecodingError`` when there is no opcode or when the bytes after a known opcode are too few or
    ///   too many.
    @_lifetime(copy pdu)
    public init(decoding pdu: RawSpan) throws(ATTDecodingError) {
        var reader = try PDUReader(pdu)
        switch reader.opcode {
        case .exchangeMTURequest:
            self = .exchangeMTURequest(clientReceiveMTU: try reader.readUInt16())
        case .findInformationRequest:
            self = .findInformationRequest(try reader.readHandleRange())
        case .findByTypeValueRequest:
            let range = try reader.readHandleRange()
            let type = try reader.readUInt16()
            self = .findByTypeValueRequest(range, type: type, value: reader.readValue())
        case .readByTypeRequest:
            let range = try reader.readHandleRange()
            self = .readByTypeRequest(range, type: try reader.readAttributeType())
        case .readRequest:
            self = .readRequest(try reader.readHandle())
        case .readBlobRequest:
            let handle = try reader.readHandle()
            self = .readBlobRequest(handle, offset: try reader.readUInt16())
        case .readMultipleRequest:
            self = .readMultipleRequest(try ATTHandleList(&reader))
        case .readByGroupTypeRequest:
            let range = try reader.readHandleRange()
            self = .readByGroupTypeRequest(range, groupType: try reader.readAttributeType())
        case .writeRequest:
            let handle = try reader.readHandle()
            self = .writeRequest(handle, value: reader.readValue())
        case .prepareWriteRequest:
            let handle = try reader.readHandle()
            let offset = try reader.readUInt16()
            self = .prepareWriteRequest(handle, offset: offset, value: reader.readValue())
        case .executeWriteRequest:
            self = .executeWriteRequest(ATTExecuteWriteFlags(rawValue: try reader.readUInt8()))
        case .handleValueConfirmation:
            self = .handleValueConfirmation
        case .readMultipleVariableRequest:
            self = .readMultipleVariableRequest(try ATTHandleList(&reader))
        case .writeCommand:
            let handle = try reader.readHandle()
            self = .writeCommand(handle, value: reader.readValue())
        case .signedWriteCommand:
            let handle = try reader.readHandle()
            let signed = try reader.readSignedValue()
            self = .signedWriteCommand(handle, value: signed.value, signature: signed.signature)
        default:
            self = .unknown(reader.opcode, parameters: reader.readValue())
        }
        try reader.finish()
    }

    /// The opcode of this PDU.
    public var opcode: ATTOpcode {
        switch self {
        case .exchangeMTURequest: .exchangeMTURequest
        case .findInformationRequest: .findInformationRequest
        case .findByTypeValueRequest: .findByTypeValueRequest
        case .readByTypeRequest: .readByTypeRequest
        case .readRequest: .readRequest
        case .readBlobRequest: .readBlobRequest
        case .readMultipleRequest: .readMultipleRequest
        case .readByGroupTypeRequest: .readByGroupTypeRequest
        case .writeRequest: .writeRequest
        case .prepareWriteRequest: .prepareWriteRequest
        case .executeWriteRequest: .executeWriteRequest
        case .handleValueConfirmation: .handleValueConfirmation
        case .readMultipleVariableRequest: .readMultipleVariableRequest
        case .writeCommand: .writeCommand
        case .signedWriteCommand: .signedWriteCommand
        case .unknown(let opcode, _): opcode
        }
    }

    /// Appends this PDU to `writer`, whose capacity is the ATT_MTU; an attribute type is written in 16 bits where it
    /// has them.
    ///
    /// A list is written from where it stands, without the entries that were taken off.
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
        case .exchangeMTURequest(let mtu):
            try writer.write(mtu)
        case .findInformationRequest(let range):
            try writer.write(range)
        case .findByTypeValueRequest(let range, let type, let value):
            try writer.write(range)
            try writer.write(type)
            try writer.write(value)
        case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
            try writer.write(range)
            try writer.write(attributeType: type)
        case .readRequest(let handle):
            try writer.write(handle)
        case .readBlobRequest(let handle, let offset):
            try writer.write(handle)
            try writer.write(offset)
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            try writer.write(handles.reader.unread)
        case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
            try writer.write(handle)
            try writer.write(value)
        case .prepareWriteRequest(let handle, let offset, let value):
            try writer.write(handle)
            try writer.write(offset)
            try writer.write(value)
        case .executeWriteRequest(let flags):
            try writer.write(flags.rawValue)
        case .handleValueConfirmation:
            break
        case .signedWriteCommand(let handle, let value, let signature):
            try writer.write(handle)
            try writer.write(value)
            try writer.write(signature.signCounter)
            try writer.write(signature.messageAuthenticationCode)
        case .unknown(_, let parameters):
            try writer.write(parameters)
        }
    }

    /// The name and all fields in one line, values in hexadecimal: `Write Request handle 0x0003 value 0100`.
    public var description: String {
        let fields =
            switch self {
            case .exchangeMTURequest(let mtu): "client receive MTU \(mtu)"
            case .findInformationRequest(let range): "handles \(range)"
            case .findByTypeValueRequest(let range, let type, let value):
                "handles \(range) type \(BluetoothUUID(type)) value \(hexadecimal(value))"
            case .readByTypeRequest(let range, let type): "handles \(range) type \(type)"
            case .readRequest(let handle): "handle \(handle)"
            case .readBlobRequest(let handle, let offset): "handle \(handle) offset \(offset)"
            case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
                "handles \(handles.description)"
            case .readByGroupTypeRequest(let range, let type): "handles \(range) group type \(type)"
            case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
                "handle \(handle) value \(hexadecimal(value))"
            case .prepareWriteRequest(let handle, let offset, let value):
                "handle \(handle) offset \(offset) value \(hexadecimal(value))"
            case .executeWriteRequest(let flags): "flags \(flags)"
            case .handleValueConfirmation: ""
            case .signedWriteCommand(let handle, let value, let signature):
                "handle \(handle) value \(hexadecimal(value)) signature \(signature)"
            case .unknown(_, let parameters): "parameters \(hexadecimal(parameters))"
            }
        return fields.isEmpty ? opcode.description : "\(opcode) \(fields)"
    }
}
