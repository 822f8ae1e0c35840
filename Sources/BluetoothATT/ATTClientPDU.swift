import BluetoothPrimitives

/// A PDU that a client sends to a server: a request, a command or a confirmation (Core Vol 3 Part F §3.4).
///
/// Values and lists borrow the bytes that the PDU was decoded from.
@frozen
public enum ATTClientPDU: ~Escapable {
    /// Exchange MTU Request, with the largest PDU the client can receive in bytes (Core Vol 3 Part F §3.4.2.1).
    case exchangeMTURequest(clientReceiveMTU: UInt16)
    /// Find Information Request for the types of all attributes in a range (Core Vol 3 Part F §3.4.3.1).
    case findInformationRequest(AttributeHandleRange)
    /// Find By Type Value Request for the attributes in a range with a 16-bit type and a value
    /// (Core Vol 3 Part F §3.4.3.3).
    case findByTypeValueRequest(AttributeHandleRange, type: UInt16, value: RawSpan)
    /// Read By Type Request for the values of all attributes of a type in a range (Core Vol 3 Part F §3.4.4.1).
    case readByTypeRequest(AttributeHandleRange, type: BluetoothUUID)
    /// Read Request for the value of an attribute (Core Vol 3 Part F §3.4.4.3).
    case readRequest(AttributeHandle)
    /// Read Blob Request for the value of an attribute from an offset in bytes on (Core Vol 3 Part F §3.4.4.5).
    case readBlobRequest(AttributeHandle, offset: UInt16)
    /// Read Multiple Request for the values of several attributes whose lengths the client knows
    /// (Core Vol 3 Part F §3.4.4.7).
    case readMultipleRequest(ATTHandleList)
    /// Read By Group Type Request for the groups of a type in a range (Core Vol 3 Part F §3.4.4.9).
    case readByGroupTypeRequest(AttributeHandleRange, groupType: BluetoothUUID)
    /// Write Request, which the server acknowledges (Core Vol 3 Part F §3.4.5.1).
    case writeRequest(AttributeHandle, value: RawSpan)
    /// Prepare Write Request, which queues a part of a value at an offset in bytes (Core Vol 3 Part F §3.4.6.1).
    case prepareWriteRequest(AttributeHandle, offset: UInt16, value: RawSpan)
    /// Execute Write Request, which writes or cancels the prepared writes (Core Vol 3 Part F §3.4.6.3).
    case executeWriteRequest(ATTExecuteWriteFlags)
    /// Handle Value Confirmation of an indication (Core Vol 3 Part F §3.4.7.3).
    case handleValueConfirmation
    /// Read Multiple Variable Request for the values of several attributes with their lengths
    /// (Core Vol 3 Part F §3.4.4.11).
    case readMultipleVariableRequest(ATTHandleList)
    /// Write Command, which has no response (Core Vol 3 Part F §3.4.5.3).
    case writeCommand(AttributeHandle, value: RawSpan)
    /// Signed Write Command, which has no response (Core Vol 3 Part F §3.4.5.4).
    case signedWriteCommand(AttributeHandle, value: RawSpan, signature: ATTAuthenticationSignature)
    /// A PDU with an opcode that the specification assigns to no client PDU, and all bytes that follow the opcode.
    case unknown(ATTOpcode, parameters: RawSpan)
}

extension ATTClientPDU {
    /// Decodes one complete PDU, whose bytes the result borrows.
    ///
    /// A 128-bit attribute type on the Bluetooth Base UUID with a 16-bit value equals the 16-bit type.
    ///
    /// - Throws: ``ATTDecodingError`` when the PDU is empty, or when too few or too many bytes follow a known opcode.
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
            let value = try reader.readSignedValue()
            self = .signedWriteCommand(handle, value: value, signature: try reader.readSignature())
        default:
            self = .unknown(reader.opcode, parameters: reader.readValue())
        }
        try reader.expectEnd()
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

    /// Appends this PDU to `writer`, whose capacity is the ATT_MTU.
    ///
    /// An attribute type takes 16 bits where its UUID has a 16-bit form. A list is written from its current position:
    /// entries already returned by `next()` are left out.
    ///
    /// - Throws: ``BufferFull`` when the PDU does not fit; `writer` is then unchanged.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        var header = PDUHeader(opcode)
        var value = RawSpan()
        switch self {
        case .exchangeMTURequest(let mtu):
            header.append(mtu)
        case .findInformationRequest(let range):
            header.append(range)
        case .findByTypeValueRequest(let range, let type, let bytes):
            header.append(range)
            header.append(type)
            value = bytes
        case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
            header.append(range)
            guard let short = type.uint16 else {
                return try writer.writeWhole { (writer) throws(BufferFull) in
                    try writer.write(header)
                    try writer.write(type, width: .bits128)
                }
            }
            header.append(short)
        case .readRequest(let handle):
            header.append(handle.rawValue)
        case .readBlobRequest(let handle, let offset):
            header.append(handle.rawValue)
            header.append(offset)
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            value = handles.reader.unread
        case .writeRequest(let handle, let bytes), .writeCommand(let handle, let bytes):
            header.append(handle.rawValue)
            value = bytes
        case .prepareWriteRequest(let handle, let offset, let part):
            header.append(handle.rawValue)
            header.append(offset)
            value = part
        case .executeWriteRequest(let flags):
            header.append(flags.rawValue)
        case .handleValueConfirmation:
            break
        case .signedWriteCommand(let handle, let bytes, let signature):
            header.append(handle.rawValue)
            return try writer.writeWhole { (writer) throws(BufferFull) in
                try writer.write(header, bytes)
                try writer.write(signature.signCounter)
                try writer.write(signature.messageAuthenticationCode)
            }
        case .unknown(_, let parameters):
            value = parameters
        }
        try writer.write(header, value)
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
