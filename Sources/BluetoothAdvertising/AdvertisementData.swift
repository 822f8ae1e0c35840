import BluetoothPrimitives

/// What a device says about itself: its advertising payload and, where known, its scan response, read as one.
///
/// The bytes are kept once, as received, and every property reads them anew, so making a value costs one copy and
/// nothing is lost. A field that is broken loses only itself and is listed in ``problems``. Where a field can be there
/// once but is there several times, the first one with a value counts, the advertising payload before the scan
/// response. Equality looks at the bytes.
public struct AdvertisementData: Hashable, Sendable {
    /// What the device sends by itself, as received.
    public let advertising: [UInt8]
    /// What it answered to a scan request, as received; empty when nothing is known.
    public let scanResponse: [UInt8]

    /// Data that is read from these payloads.
    @inlinable
    public init(advertising: [UInt8], scanResponse: [UInt8] = []) {
        self.advertising = advertising
        self.scanResponse = scanResponse
    }

    /// Copies a payload.
    @inlinable
    public init(_ advertising: RawSpan) {
        self.init(advertising: [UInt8](advertising))
    }

    /// Says nothing.
    public static let empty = AdvertisementData(advertising: [])

    /// Whether there are no bytes at all.
    public var isEmpty: Bool { advertising.isEmpty && scanResponse.isEmpty }

    /// The structures of the advertising payload, borrowed.
    @inlinable
    public var advertisingStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(advertising.span.bytes) }
    }

    /// The structures of the scan response, borrowed.
    @inlinable
    public var scanResponseStructures: ADStructures {
        @_lifetime(borrow self)
        get { ADStructures(scanResponse.span.bytes) }
    }

    /// All structures in the order received, the advertising payload before the scan response.
    public var structures: [ADStructure] {
        var all: [ADStructure] = []
        forEach { all.append(ADStructure($0)) }
        return all
    }

    /// What all structures mean, in the order received.
    public var fields: [ADField] {
        var all: [ADField] = []
        forEach { all.append(ADField($0)) }
        return all
    }

    /// Everything that is wrong with the payloads, in order.
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

    /// Calls `body` with every structure, the advertising payload before the scan response.
    @inlinable
    func forEach(_ body: (ADStructureView) -> Void) {
        var structures = advertisingStructures
        while let structure = structures.next() { body(structure) }
        guard !scanResponse.isEmpty else { return }
        structures = scanResponseStructures
        while let structure = structures.next() { body(structure) }
    }

    /// What `read` makes of the first structure of `type` that has a value.
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
    /// Every field in one line.
    public var description: String { fields.map { $0.description }.joined(separator: ", ") }
}
