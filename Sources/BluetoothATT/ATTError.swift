import BluetoothPrimitives

/// The error code of an Error Response (Core Vol 3 Part F §3.4.1.1, Core Supplement Part B).
///
/// An open set: a peer can send any value. The service defines the codes 0x80 to 0x9F.
@frozen
public struct ATTErrorCode: Error, RawRepresentable, Hashable, Sendable {
    /// The code as sent, one byte.
    public let rawValue: UInt8

    /// The code with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The code with the value `rawValue`.
    @inlinable
    public init(_ rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The server has no attribute with this handle.
    public static let invalidHandle = ATTErrorCode(0x01)
    /// The attribute cannot be read.
    public static let readNotPermitted = ATTErrorCode(0x02)
    /// The attribute cannot be written.
    public static let writeNotPermitted = ATTErrorCode(0x03)
    /// The request was malformed.
    public static let invalidPDU = ATTErrorCode(0x04)
    /// The link must be authenticated first.
    public static let insufficientAuthentication = ATTErrorCode(0x05)
    /// The server does not support this request.
    public static let requestNotSupported = ATTErrorCode(0x06)
    /// The offset is past the end of the value.
    public static let invalidOffset = ATTErrorCode(0x07)
    /// The client must be authorized first.
    public static let insufficientAuthorization = ATTErrorCode(0x08)
    /// Too many prepared writes are queued.
    public static let prepareQueueFull = ATTErrorCode(0x09)
    /// No attribute was found within the range.
    public static let attributeNotFound = ATTErrorCode(0x0A)
    /// The attribute cannot be read with Read Blob Requests.
    public static let attributeNotLong = ATTErrorCode(0x0B)
    /// The encryption key of the link is too short.
    public static let insufficientEncryptionKeySize = ATTErrorCode(0x0C)
    /// The length of the value is invalid for the attribute.
    public static let invalidAttributeValueLength = ATTErrorCode(0x0D)
    /// An error that no other code describes.
    public static let unlikelyError = ATTErrorCode(0x0E)
    /// The link must be encrypted first.
    public static let insufficientEncryption = ATTErrorCode(0x0F)
    /// The attribute type is not a grouping type.
    public static let unsupportedGroupType = ATTErrorCode(0x10)
    /// The server has insufficient resources for the request.
    public static let insufficientResources = ATTErrorCode(0x11)
    /// The server's database changed, and the client must discover it again.
    public static let databaseOutOfSync = ATTErrorCode(0x12)
    /// The attribute does not allow this value.
    public static let valueNotAllowed = ATTErrorCode(0x13)
    /// The server rejected the write for a reason other than permissions.
    public static let writeRequestRejected = ATTErrorCode(0xFC)
    /// The Client Characteristic Configuration descriptor is not configured as the profile requires.
    public static let clientCharacteristicConfigurationDescriptorImproperlyConfigured = ATTErrorCode(0xFD)
    /// A procedure started earlier is still in progress.
    public static let procedureAlreadyInProgress = ATTErrorCode(0xFE)
    /// The value is out of the range that the service defines.
    public static let outOfRange = ATTErrorCode(0xFF)

    /// Whether the service defines the meaning of the code (0x80 to 0x9F).
    @inlinable public var isApplicationError: Bool { (0x80...0x9F).contains(rawValue) }

    /// Whether the code is one of the common profile and service errors (0xE0 to 0xFF), assigned or not.
    @inlinable public var isCommonProfileOrServiceError: Bool { rawValue >= 0xE0 }
}

extension ATTErrorCode: CustomStringConvertible {
    /// The name in the specification, or nil for an unassigned code.
    public var name: String? { Self.names[rawValue] }

    private static let names: [UInt8: String] = [
        0x01: "Invalid Handle", 0x02: "Read Not Permitted", 0x03: "Write Not Permitted", 0x04: "Invalid PDU",
        0x05: "Insufficient Authentication", 0x06: "Request Not Supported", 0x07: "Invalid Offset",
        0x08: "Insufficient Authorization", 0x09: "Prepare Queue Full", 0x0A: "Attribute Not Found",
        0x0B: "Attribute Not Long", 0x0C: "Insufficient Encryption Key Size", 0x0D: "Invalid Attribute Value Length",
        0x0E: "Unlikely Error", 0x0F: "Insufficient Encryption", 0x10: "Unsupported Group Type",
        0x11: "Insufficient Resources", 0x12: "Database Out Of Sync", 0x13: "Value Not Allowed",
        0xFC: "Write Request Rejected", 0xFD: "Client Characteristic Configuration Descriptor Improperly Configured",
        0xFE: "Procedure Already In Progress", 0xFF: "Out Of Range",
    ]

    /// The name and the code: `Attribute Not Found (0x0A)`, `Application Error (0x80)`.
    public var description: String {
        let name = name ?? (isApplicationError ? "Application Error" : "Reserved Error")
        return "\(name) (0x\(hexadecimal(rawValue, digits: 2)))"
    }
}

/// The parameters of an Error Response: the request, the attribute and the error code (Core Vol 3 Part F §3.4.1.1).
@frozen
public struct ATTError: Error, Hashable, Sendable {
    /// The opcode of the request in error.
    public var requestOpcode: ATTOpcode
    /// The handle of the attribute in error, or ``AttributeHandle/none``.
    public var handle: AttributeHandle
    /// The error code.
    public var code: ATTErrorCode

    /// An error of the request `requestOpcode`, caused by the attribute `handle`.
    @inlinable
    public init(requestOpcode: ATTOpcode, handle: AttributeHandle = .none, code: ATTErrorCode) {
        self.requestOpcode = requestOpcode
        self.handle = handle
        self.code = code
    }
}

extension ATTError: CustomStringConvertible {
    /// The error in one line: `Read Request failed at 0x0003: Read Not Permitted (0x02)`.
    public var description: String {
        handle.isValid ? "\(requestOpcode) failed at \(handle): \(code)" : "\(requestOpcode) failed: \(code)"
    }
}

/// A malformed PDU.
///
/// A server answers such a request with ``ATTErrorCode/invalidPDU``.
public struct ATTDecodingError: Error, Hashable, Sendable {
    /// The defect of a malformed PDU.
    public enum Problem: Hashable, Sendable {
        /// A field, or the last entry of a list, needs `needed` bytes, but only `available` remain.
        case truncated(needed: Int, available: Int)
        /// This number of bytes follows the last field.
        case trailingBytes(Int)
        /// This number of bytes remains for an attribute type, which has 2 or 16.
        case attributeTypeLength(Int)
        /// The format of a Find Information Response, which is neither 1 nor 2.
        case unknownFormat(UInt8)
        /// The entry length of a list, which is too small for the handles of an entry.
        case entryLength(Int, minimum: Int)
    }

    /// The opcode, or nil when the PDU is empty.
    public var opcode: ATTOpcode?
    /// The defect.
    public var problem: Problem
    /// The offset of the defect in bytes, counted from the opcode.
    public var offset: Int

    /// An error for `problem` at `offset` of a PDU.
    public init(opcode: ATTOpcode?, problem: Problem, offset: Int) {
        self.opcode = opcode
        self.problem = problem
        self.offset = offset
    }

    init(opcode: ATTOpcode?, _ truncated: TruncatedBytes) {
        self.init(
            opcode: opcode, problem: .truncated(needed: truncated.needed, available: truncated.available),
            offset: truncated.offset)
    }
}

extension ATTDecodingError.Problem: CustomStringConvertible {
    /// The defect without its offset.
    public var description: String {
        switch self {
        case .truncated(let needed, let available): "\(needed) bytes needed, \(available) available"
        case .trailingBytes(let count): "\(count) bytes after the end"
        case .attributeTypeLength(let count): "attribute type of \(count) bytes"
        case .unknownFormat(let format): "unknown format 0x\(hexadecimal(format, digits: 2))"
        case .entryLength(let length, let minimum): "entry length \(length) is less than \(minimum)"
        }
    }
}

extension ATTDecodingError: CustomStringConvertible {
    /// The error in one line: `malformed Read Request at offset 1: 2 bytes needed, 0 available`.
    public var description: String {
        guard let opcode else { return "malformed PDU: no opcode" }
        return "malformed \(opcode) at offset \(offset): \(problem)"
    }
}
