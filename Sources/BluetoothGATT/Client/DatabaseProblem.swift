import BluetoothATT
import BluetoothPrimitives

/// A part of a peer's database that violates the specification, found by discovery (Core Vol 3 Part G §2.6, §3).
///
/// The result leaves that part out or corrects it, and has everything else.
public struct DatabaseProblem: Hashable, Sendable {
    /// The kind of a problem. An open set: switch with a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        package enum Kind: UInt8, CaseIterable, Hashable, Sendable {
            case malformedValue = 1
            case invalidRange, overlap, invalidValueHandle, valueOutside, misplaced, unreadable, unexpectedHandle
            case tooManyRequests
        }

        package let kind: Kind

        package init(_ kind: Kind) { self.kind = kind }

        /// The name of the reason.
        public var description: String { "\(kind)" }

        /// A declaration's value is too short, or has a UUID that is neither 2 nor 16 bytes long. It is left out.
        public static let malformedValue = Reason(.malformedValue)
        /// A service, or an included one, begins at 0x0000 or ends before it begins. It is left out.
        public static let invalidRange = Reason(.invalidRange)
        /// A service reaches into the next one, and is cut to end before it; or the handles of an include overlap a
        /// service that begins elsewhere, and the include is left out.
        public static let overlap = Reason(.overlap)
        /// The value of a characteristic is at 0x0000, at its own declaration, or before it. It is left out.
        public static let invalidValueHandle = Reason(.invalidValueHandle)
        /// The value of a characteristic lies after the next declaration, or after the end of its service. It is left
        /// out.
        public static let valueOutside = Reason(.valueOutside)
        /// A characteristic is declared at the handle of a service declaration. It is left out.
        public static let misplaced = Reason(.misplaced)
        /// The UUID of an included service cannot be read. The include is left out.
        public static let unreadable = Reason(.unreadable)
        /// The peer responded with a handle outside the requested range, or not in ascending order. It is left out; if
        /// the response had nothing else, that step of the discovery ends.
        public static let unexpectedHandle = Reason(.unexpectedHandle)
        /// The discovery reached its limit of requests. The result has what was found until then.
        public static let tooManyRequests = Reason(.tooManyRequests)
    }

    /// The kind of problem.
    public var reason: Reason
    /// The type of the attribute: the UUID of a declaration, or of a descriptor.
    package var attributeType: BluetoothUUID
    /// The handle of the attribute, or the next one to request.
    public var handle: AttributeHandle
    /// The handles that the attribute declares, of a service or of a value; nil if it declares none.
    package var declared: AttributeHandleRange?
    /// The UUID of the declared service or characteristic; nil if unknown.
    public var uuid: BluetoothUUID?

    /// A problem from its parts.
    package init(
        _ reason: Reason, _ attributeType: BluetoothUUID, at handle: AttributeHandle,
        declared: AttributeHandleRange? = nil, uuid: BluetoothUUID? = nil
    ) {
        self.reason = reason
        self.attributeType = attributeType
        self.handle = handle
        self.declared = declared
        self.uuid = uuid
    }
}

extension [DatabaseProblem] {
    /// Whether no more problems are stored: a response can contain a hundred, and a malicious peer can send thousands
    /// of responses.
    var isFull: Bool { count >= 1000 }

    /// Adds a problem unless the list is full.
    mutating func record(_ problem: DatabaseProblem) {
        if !isFull { append(problem) }
    }
}

extension DatabaseProblem: CustomStringConvertible {
    /// The problem in one line, such as `characteristic 2A19 at 0x0005: its value handle 0x0000 does not follow the
    /// declaration`.
    public var description: String {
        if reason == .tooManyRequests { return "the discovery reached its limit of requests at \(handle)" }
        let subject = [kind, uuid.map { "\($0)" }, "at \(handle)"].compactMap { $0 }.joined(separator: " ")
        return "\(subject): \(complaint)"
    }

    private var kind: String {
        switch attributeType {
        case .primaryService: "service"
        case .secondaryService: "secondary service"
        case .include: "include"
        case .characteristic: "characteristic"
        default: "attribute \(attributeType)"
        }
    }

    private var complaint: String {
        let handles = declared.map { "\($0.start)-\($0.end)" } ?? "none"
        let value = declared.map { "\($0.start)" } ?? "none"
        return switch reason.kind {
        case .malformedValue: "the declaration is malformed"
        case .invalidRange: "its handle range \(handles) is invalid"
        case .overlap where attributeType == .include: "its handles \(handles) overlap another service"
        case .overlap: "its handles \(handles) overlap the next service"
        case .invalidValueHandle: "its value handle \(value) does not follow the declaration"
        case .valueOutside: "its value handle \(value) is past its end"
        case .misplaced: "a service declaration has the same handle"
        case .unreadable: "the UUID of the service \(handles) cannot be read"
        case .unexpectedHandle: "the handle is out of the requested range or out of order"
        case .tooManyRequests: "the discovery reached its limit of requests"
        }
    }
}
