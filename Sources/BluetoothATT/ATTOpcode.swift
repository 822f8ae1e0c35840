import BluetoothPrimitives

/// The six types of PDU (Core Vol 3 Part F §3.3).
@frozen
public enum ATTPDUType: Sendable, Hashable {
    /// Sent by a client, without a response.
    case command
    /// Sent by a client, answered by a response. A client has at most one outstanding.
    case request
    /// Sent by a server in response to a request.
    case response
    /// Sent by a server, without a confirmation.
    case notification
    /// Sent by a server, answered by a confirmation. A server has at most one outstanding.
    case indication
    /// Sent by a client to confirm an indication.
    case confirmation
}

/// The opcode, the first byte of every PDU (Core Vol 3 Part F §3.3.1 and §3.4.8).
///
/// An open set: a peer can send any of the 256 values.
@frozen
public struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    /// The opcode as sent, one byte.
    public let rawValue: UInt8

    /// The opcode with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The opcode with the value `rawValue`.
    @inlinable
    public init(_ rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The opcode of `pdu`, its first byte; nil when `pdu` is empty.
    @inlinable
    public init?(of pdu: RawSpan) {
        var reader = ByteReader(pdu)
        do {
            self.init(try reader.readUInt8())
        } catch {
            return nil
        }
    }
}

extension ATTOpcode {
    /// ATT_ERROR_RSP (Core Vol 3 Part F §3.4.1.1).
    @inlinable public static var errorResponse: Self { Self(0x01) }
    /// ATT_EXCHANGE_MTU_REQ (Core Vol 3 Part F §3.4.2.1).
    @inlinable public static var exchangeMTURequest: Self { Self(0x02) }
    /// ATT_EXCHANGE_MTU_RSP (Core Vol 3 Part F §3.4.2.2).
    @inlinable public static var exchangeMTUResponse: Self { Self(0x03) }
    /// ATT_FIND_INFORMATION_REQ (Core Vol 3 Part F §3.4.3.1).
    @inlinable public static var findInformationRequest: Self { Self(0x04) }
    /// ATT_FIND_INFORMATION_RSP (Core Vol 3 Part F §3.4.3.2).
    @inlinable public static var findInformationResponse: Self { Self(0x05) }
    /// ATT_FIND_BY_TYPE_VALUE_REQ (Core Vol 3 Part F §3.4.3.3).
    @inlinable public static var findByTypeValueRequest: Self { Self(0x06) }
    /// ATT_FIND_BY_TYPE_VALUE_RSP (Core Vol 3 Part F §3.4.3.4).
    @inlinable public static var findByTypeValueResponse: Self { Self(0x07) }
    /// ATT_READ_BY_TYPE_REQ (Core Vol 3 Part F §3.4.4.1).
    @inlinable public static var readByTypeRequest: Self { Self(0x08) }
    /// ATT_READ_BY_TYPE_RSP (Core Vol 3 Part F §3.4.4.2).
    @inlinable public static var readByTypeResponse: Self { Self(0x09) }
    /// ATT_READ_REQ (Core Vol 3 Part F §3.4.4.3).
    @inlinable public static var readRequest: Self { Self(0x0A) }
    /// ATT_READ_RSP (Core Vol 3 Part F §3.4.4.4).
    @inlinable public static var readResponse: Self { Self(0x0B) }
    /// ATT_READ_BLOB_REQ (Core Vol 3 Part F §3.4.4.5).
    @inlinable public static var readBlobRequest: Self { Self(0x0C) }
    /// ATT_READ_BLOB_RSP (Core Vol 3 Part F §3.4.4.6).
    @inlinable public static var readBlobResponse: Self { Self(0x0D) }
    /// ATT_READ_MULTIPLE_REQ (Core Vol 3 Part F §3.4.4.7).
    @inlinable public static var readMultipleRequest: Self { Self(0x0E) }
    /// ATT_READ_MULTIPLE_RSP (Core Vol 3 Part F §3.4.4.8).
    @inlinable public static var readMultipleResponse: Self { Self(0x0F) }
    /// ATT_READ_BY_GROUP_TYPE_REQ (Core Vol 3 Part F §3.4.4.9).
    @inlinable public static var readByGroupTypeRequest: Self { Self(0x10) }
    /// ATT_READ_BY_GROUP_TYPE_RSP (Core Vol 3 Part F §3.4.4.10).
    @inlinable public static var readByGroupTypeResponse: Self { Self(0x11) }
    /// ATT_WRITE_REQ (Core Vol 3 Part F §3.4.5.1).
    @inlinable public static var writeRequest: Self { Self(0x12) }
    /// ATT_WRITE_RSP (Core Vol 3 Part F §3.4.5.2).
    @inlinable public static var writeResponse: Self { Self(0x13) }
    /// ATT_PREPARE_WRITE_REQ (Core Vol 3 Part F §3.4.6.1).
    @inlinable public static var prepareWriteRequest: Self { Self(0x16) }
    /// ATT_PREPARE_WRITE_RSP (Core Vol 3 Part F §3.4.6.2).
    @inlinable public static var prepareWriteResponse: Self { Self(0x17) }
    /// ATT_EXECUTE_WRITE_REQ (Core Vol 3 Part F §3.4.6.3).
    @inlinable public static var executeWriteRequest: Self { Self(0x18) }
    /// ATT_EXECUTE_WRITE_RSP (Core Vol 3 Part F §3.4.6.4).
    @inlinable public static var executeWriteResponse: Self { Self(0x19) }
    /// ATT_HANDLE_VALUE_NTF (Core Vol 3 Part F §3.4.7.1).
    @inlinable public static var handleValueNotification: Self { Self(0x1B) }
    /// ATT_HANDLE_VALUE_IND (Core Vol 3 Part F §3.4.7.2).
    @inlinable public static var handleValueIndication: Self { Self(0x1D) }
    /// ATT_HANDLE_VALUE_CFM (Core Vol 3 Part F §3.4.7.3).
    @inlinable public static var handleValueConfirmation: Self { Self(0x1E) }
    /// ATT_READ_MULTIPLE_VARIABLE_REQ (Core Vol 3 Part F §3.4.4.11).
    @inlinable public static var readMultipleVariableRequest: Self { Self(0x20) }
    /// ATT_READ_MULTIPLE_VARIABLE_RSP (Core Vol 3 Part F §3.4.4.12).
    @inlinable public static var readMultipleVariableResponse: Self { Self(0x21) }
    /// ATT_MULTIPLE_HANDLE_VALUE_NTF (Core Vol 3 Part F §3.4.7.4).
    @inlinable public static var multipleHandleValueNotification: Self { Self(0x23) }
    /// ATT_WRITE_CMD (Core Vol 3 Part F §3.4.5.3).
    @inlinable public static var writeCommand: Self { Self(0x52) }
    /// ATT_SIGNED_WRITE_CMD (Core Vol 3 Part F §3.4.5.4).
    @inlinable public static var signedWriteCommand: Self { Self(0xD2) }
}

extension ATTOpcode {
    /// Whether the command flag is set. A server ignores an unknown command, and answers another unknown opcode with
    /// ``ATTErrorCode/requestNotSupported`` (Core Vol 3 Part F §3.3.1).
    @inlinable public var isCommand: Bool { rawValue & 0x40 != 0 }

    /// Whether a client sends this PDU: a request, a command or a confirmation.
    ///
    /// An unknown opcode counts as a client's, since the server is the side that refuses or ignores it.
    @inlinable public var isSentByClient: Bool {
        switch rawValue {
        case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21, 0x23: false
        default: true
        }
    }

    /// Whether the specification assigns this opcode.
    public var isKnown: Bool { name != nil }

    /// The PDU type.
    ///
    /// An unknown opcode is a command when its command flag is set and otherwise a request, as a server must treat it.
    @inlinable public var type: ATTPDUType {
        switch rawValue {
        case 0x1B, 0x23: .notification
        case 0x1D: .indication
        case 0x1E: .confirmation
        default:
            if !isSentByClient {
                .response
            } else if isCommand {
                .command
            } else {
                .request
            }
        }
    }

    /// The opcode of the response to this request, or of the confirmation of this indication; nil for other PDUs.
    ///
    /// A request can also be answered with ``errorResponse``.
    @inlinable public var answer: ATTOpcode? {
        switch type {
        case .request: isKnownRequest ? ATTOpcode(rawValue &+ 1) : nil
        case .indication: .handleValueConfirmation
        case .command, .response, .notification, .confirmation: nil
        }
    }

    @usableFromInline var isKnownRequest: Bool {
        switch rawValue {
        case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20: true
        default: false
        }
    }
}

extension ATTOpcode: CustomStringConvertible {
    /// The name in the specification, or nil for an unassigned opcode.
    public var name: String? {
        switch self {
        case .errorResponse: "Error Response"
        case .exchangeMTURequest: "Exchange MTU Request"
        case .exchangeMTUResponse: "Exchange MTU Response"
        case .findInformationRequest: "Find Information Request"
        case .findInformationResponse: "Find Information Response"
        case .findByTypeValueRequest: "Find By Type Value Request"
        case .findByTypeValueResponse: "Find By Type Value Response"
        case .readByTypeRequest: "Read By Type Request"
        case .readByTypeResponse: "Read By Type Response"
        case .readRequest: "Read Request"
        case .readResponse: "Read Response"
        case .readBlobRequest: "Read Blob Request"
        case .readBlobResponse: "Read Blob Response"
        case .readMultipleRequest: "Read Multiple Request"
        case .readMultipleResponse: "Read Multiple Response"
        case .readByGroupTypeRequest: "Read By Group Type Request"
        case .readByGroupTypeResponse: "Read By Group Type Response"
        case .writeRequest: "Write Request"
        case .writeResponse: "Write Response"
        case .prepareWriteRequest: "Prepare Write Request"
        case .prepareWriteResponse: "Prepare Write Response"
        case .executeWriteRequest: "Execute Write Request"
        case .executeWriteResponse: "Execute Write Response"
        case .handleValueNotification: "Handle Value Notification"
        case .handleValueIndication: "Handle Value Indication"
        case .handleValueConfirmation: "Handle Value Confirmation"
        case .readMultipleVariableRequest: "Read Multiple Variable Request"
        case .readMultipleVariableResponse: "Read Multiple Variable Response"
        case .multipleHandleValueNotification: "Multiple Handle Value Notification"
        case .writeCommand: "Write Command"
        case .signedWriteCommand: "Signed Write Command"
        default: nil
        }
    }

    /// The name in the specification, or `Unknown Opcode 0x3F`.
    public var description: String { name ?? "Unknown Opcode 0x" + hexadecimal(rawValue, digits: 2) }
}
