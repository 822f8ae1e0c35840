import BluetoothPrimitives

/// The advertising payload of a device and its scan response, decoded together.
///
/// Stores the bytes as received; every property decodes them on access, so that creating a value costs one copy and
/// loses nothing. A malformed field affects only itself and is listed in ``problems``. If a field that may occur once
/// is repeated, the first one with a value counts, in the advertising payload before the scan response. Equality
/// compares the bytes.
public struct AdvertisementData: Hashable, Sendable {
    /// The advertising payload as received.
    public let advertising: [UInt8]
    /// The scan response as received; empty if there is none.
    public let scanResponse: [UInt8]

    /// The data of the given payloads.
    @inlinable
    public init(advertising: [UInt8], scanResponse: [UInt8] = []) {
        self.advertising = advertising
        self.scanResponse = scanResponse
    }

    /// A copy of a payload.
    @inlinable
    public init(_ advertising: RawSpan) {
        self.init(advertising: [UInt8](advertising))
    }

    /// Empty payloads.
    public static let empty = AdvertisementData(advertising: [])

    /// Whether both payloads are empty.
    public var isEmpty: Bool { advertising.isEmpty && scanResponse.isEmpty }

    /// The structures of the advertising payload, with borrowed bytes.
    @inlinable
    public var advertisingStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(advertising.span.bytes) }
    }

    /// The structures of the scan response, with borrowed bytes.
    @inlinable
    public var scanResponseStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(scanResponse.span.bytes) }
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
        guard !scanResponse.isEmpty else { return }
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

extension AdvertisementData: CustomStringConvertible {
    /// All fields in one line.
    public var description: String { fields.map { $0.description }.joined(separator: ", ") }
}
