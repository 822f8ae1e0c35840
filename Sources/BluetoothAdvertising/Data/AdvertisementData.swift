import BluetoothPrimitives

/// The advertising payload of a device and its scan response, decoded together.
///
/// Stores the bytes as received, an advertising payload of at most 31 bytes without allocation. Every property decodes
/// them on access, so that creating a value costs one copy and loses nothing. A malformed field affects only itself and
/// is listed in ``problems``. If a field that may occur once is repeated, the first one with a value counts, in the
/// advertising payload before the scan response. Equality compares the bytes.
public struct AdvertisementData: Sendable {
    /// An advertising payload of at most 31 bytes in the first bytes, and its length in the last one; or the length of a
    /// longer payload, and 0xFF in the last byte.
    @usableFromInline let short: InlineArray<4, UInt64>
    /// A longer advertising payload, and the scan response.
    @usableFromInline let rest: [UInt8]

    /// The data of the given payloads.
    @inlinable
    public init(advertising: [UInt8], scanResponse: [UInt8] = []) {
        self.init(advertising.span.bytes, scanResponse: scanResponse)
    }

    /// A copy of a payload.
    @inlinable @inline(__always)
    public init(_ advertising: RawSpan) {
        self.init(advertising, scanResponse: [])
    }

    @inlinable @inline(__always)
    init(_ advertising: RawSpan, scanResponse: [UInt8]) {
        let count = advertising.byteCount
        if count <= 31 {
            let last = advertising.word(3) | (UInt64(truncatingIfNeeded: count) << 56).littleEndian
            short = [advertising.word(0), advertising.word(1), advertising.word(2), last]
            rest = scanResponse
        } else {
            short = [UInt64(count), 0, 0, .max]
            rest = [UInt8](advertising) + scanResponse
        }
    }

    /// Empty payloads.
    public static let empty = AdvertisementData(advertising: [])

    /// Whether both payloads are empty.
    public var isEmpty: Bool { count == 0 && rest.isEmpty }

    /// The advertising payload as received.
    public var advertising: [UInt8] { [UInt8](advertisingBytes) }

    /// The scan response as received; empty if there is none.
    public var scanResponse: [UInt8] { longCount == 0 ? rest : [UInt8](scanResponseBytes) }

    /// The last byte of ``short``.
    @inlinable var count: Int { Int(UInt64(littleEndian: short[3]) >> 56) }
    /// The length of an advertising payload of more than 31 bytes; otherwise 0.
    @inlinable var longCount: Int { count > 31 ? Int(short[0]) : 0 }

    @inlinable
    var advertisingBytes: RawSpan {
        @_lifetime(borrow self)
        get { longCount > 0 ? rest.span.bytes.extracting(first: longCount) : short.span.bytes.extracting(first: count) }
    }

    @inlinable
    var scanResponseBytes: RawSpan {
        @_lifetime(borrow self)
        get { rest.span.bytes.extracting(droppingFirst: longCount) }
    }

    /// The structures of the advertising payload, with borrowed bytes.
    @inlinable
    public var advertisingStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(advertisingBytes) }
    }

    /// The structures of the scan response, with borrowed bytes.
    @inlinable
    public var scanResponseStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(scanResponseBytes) }
    }

    /// All structures in the order received, those of the advertising payload first.
    public var structures: [ADStructure] {
        var all: [ADStructure] = []
        forEach { all.append(ADStructure($0)) }
        return all
    }

    /// The decoded structures in the order received.
    public var fields: [ADField] {
        var all: [ADField] = []
        forEach { all.append(ADField($0)) }
        return all
    }

    /// All problems of the payloads, in order.
    public var problems: [ADProblem] {
        var all: [ADProblem] = []
        for payload in [ADPayload.advertising, .scanResponse] {
            var structures = payload == .advertising ? advertisingStructures : scanResponseStructures
            while let structure = structures.next() {
                var fault: ADFault?
                _ = ADField(structure, fault: &fault)
                guard let fault else { continue }
                all.append(ADProblem(payload: payload, offset: structure.offset, type: structure.type, fault: fault))
            }
            if var problem = structures.problem {
                problem.payload = payload
                all.append(problem)
            }
        }
        return all
    }

    /// Calls `body` with every structure, those of the advertising payload first.
    @inlinable
    func forEach(_ body: (ADStructureView) -> Void) {
        var structures = advertisingStructures
        while let structure = structures.next() { body(structure) }
        structures = scanResponseStructures
        while let structure = structures.next() { body(structure) }
    }

    /// The value that `read` returns for the first structure of `type` with a value.
    @inlinable
    func first<Value>(
        _ type: ADType, _ read: (inout ByteReader) throws(TruncatedBytes) -> Value?
    ) -> Value? {
        first(in: advertisingStructures, type, read) ?? first(in: scanResponseStructures, type, read)
    }

    @inlinable
    func first<Value>(
        in structures: ADStructures, _ type: ADType,
        _ read: (inout ByteReader) throws(TruncatedBytes) -> Value?
    ) -> Value? {
        var structures = structures
        while let structure = structures.next() {
            guard structure.type == type else { continue }
            var reader = ByteReader(structure.data)
            if let value = try? read(&reader) { return value }
        }
        return nil
    }
}

extension AdvertisementData: Hashable {
    /// Whether the bytes of both payloads are equal.
    public static func == (left: AdvertisementData, right: AdvertisementData) -> Bool {
        left.rest == right.rest && (0..<4).allSatisfy { left.short[$0] == right.short[$0] }
    }

    /// Hashes the bytes of both payloads.
    public func hash(into hasher: inout Hasher) {
        for index in 0..<4 { hasher.combine(short[index]) }
        hasher.combine(rest)
    }
}

extension RawSpan {
    /// The eight bytes from a multiple of eight, zeros beyond the end.
    @inlinable @inline(__always)
    func word(_ index: Int) -> UInt64 {
        let count = byteCount - 8 * index
        if count >= 8 { return unsafeLoadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
        guard count > 0 else { return 0 }
        if byteCount >= 8 {
            let last = UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: byteCount - 8, as: UInt64.self))
            return (last >> UInt64(8 * (8 - count))).littleEndian
        }
        var word: UInt64 = 0
        for index in 0..<count {
            word |= UInt64(unsafeLoad(fromByteOffset: index, as: UInt8.self)) << UInt64(8 * index)
        }
        return word.littleEndian
    }
}

extension AdvertisementData: CustomStringConvertible {
    /// All fields in one line.
    public var description: String { fields.map { $0.description }.joined(separator: ", ") }
}
