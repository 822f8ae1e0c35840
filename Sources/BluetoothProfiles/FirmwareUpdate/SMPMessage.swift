import BluetoothPrimitives

/// A command of the Simple Management Protocol: the number of its group, and its number in the group.
struct SMPCommand: Hashable, Sendable {
    var group: UInt16
    var number: UInt8

    /// Group 0: management of the operating system.
    static let echo = SMPCommand(group: 0, number: 0)
    static let reset = SMPCommand(group: 0, number: 5)
    static let parameters = SMPCommand(group: 0, number: 6)
    /// Group 1: management of images.
    static let imageState = SMPCommand(group: 1, number: 0)
    static let imageUpload = SMPCommand(group: 1, number: 1)
}

/// The header of a message of the Simple Management Protocol, eight bytes, most significant byte first.
struct SMPHeader: Hashable, Sendable {
    /// A message's operation.
    enum Operation: UInt8 {
        case read, readResponse, write, writeResponse

        var isResponse: Bool { self == .readResponse || self == .writeResponse }
        var response: Operation { self == .read ? .readResponse : .writeResponse }
    }

    static let length = 8

    var operation: Operation
    /// The version, 0 for the first and 1 for the second, in which errors have a group.
    var version: UInt8 = 1
    var command: SMPCommand
    var sequence: UInt8
    /// The number of bytes that follow.
    var bodyLength = 0

    init(_ operation: Operation, _ command: SMPCommand, sequence: UInt8, version: UInt8 = 1) {
        (self.operation, self.command, self.sequence, self.version) = (operation, command, sequence, version)
    }

    /// The header at the begin of these bytes; nil for fewer than eight, and for an unknown operation.
    init?(_ bytes: some RandomAccessCollection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.length))
        guard bytes.count == Self.length, let operation = Operation(rawValue: bytes[0] & 7) else { return nil }
        self.operation = operation
        version = bytes[0] >> 3 & 3
        bodyLength = Int(bytes[2]) << 8 | Int(bytes[3])
        command = SMPCommand(group: UInt16(bytes[4]) << 8 | UInt16(bytes[5]), number: bytes[7])
        sequence = bytes[6]
    }

    /// A message with this header and this body.
    func message(_ body: [String: CBOR]) -> [UInt8] {
        let body = CBOR.map(body).encoded
        let (length, group) = (UInt16(clamping: body.count), command.group)
        let first = operation.rawValue | version << 3
        let header = [first, 0, UInt8(length >> 8), UInt8(length & 0xFF), UInt8(group >> 8), UInt8(group & 0xFF)]
        return header + [sequence, command.number] + body
    }
}

/// The messages that arrive in fragments, one after the other.
struct SMPAssembler: Sendable {
    /// A message whose body is not decoded.
    struct Frame: Hashable, Sendable {
        var header: SMPHeader
        var body: [UInt8]
    }

    /// The length of the longest message.
    let limit: Int
    private var pending: [UInt8] = []
    /// The number of bytes to come of a message that is too long.
    private var skippedCount = 0

    init(limit: Int) { self.limit = limit }

    /// Adds a fragment.
    mutating func append(_ fragment: [UInt8]) {
        let skipped = min(skippedCount, fragment.count)
        skippedCount -= skipped
        pending += fragment.dropFirst(skipped)
    }

    /// Drops an incomplete message, also one that is skipped.
    mutating func removeAll() { (pending, skippedCount) = ([], 0) }

    /// The next complete message; nil while it is incomplete.
    /// - Throws: an error for bytes that are no message, and for a message that is too long; these are dropped.
    mutating func next() throws(MalformedValue) -> Frame? {
        guard pending.count >= SMPHeader.length else { return nil }
        guard let header = SMPHeader(pending) else {
            defer { removeAll() }
            throw MalformedValue("Operation", "\(pending[0] & 7) has no meaning")
        }
        let length = SMPHeader.length + header.bodyLength
        guard length <= limit else {
            let available = min(length, pending.count)
            pending.removeFirst(available)
            skippedCount = length - available
            throw MalformedValue("Length", "a message of \(length) bytes exceeds \(limit)")
        }
        guard pending.count >= length else { return nil }
        defer { pending.removeFirst(length) }
        return Frame(header: header, body: Array(pending[SMPHeader.length..<length]))
    }
}

extension [UInt8] {
    /// The parts of a message that fit into values of `length` bytes.
    func fragments(_ length: Int) -> [[UInt8]] {
        stride(from: 0, to: count, by: Swift.max(1, length)).map { Array(self[$0...].prefix(Swift.max(1, length))) }
    }
}
