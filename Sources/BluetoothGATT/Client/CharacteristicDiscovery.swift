import BluetoothATT
import BluetoothPrimitives

/// Discover All Characteristics of a Service and Discover Characteristics by UUID (Core Vol 3 Part G §4.6.1, §4.6.2),
/// over any handle range.
public struct CharacteristicDiscovery: ClientProcedure {
    private var walk: HandleWalk
    private let rangeEnd: AttributeHandle
    private let uuid: BluetoothUUID?
    private var isFirstOnly = false
    /// The characteristics found so far; the last may prove invalid when the next declaration is known.
    private(set) var characteristics: [RemoteCharacteristic] = []
    /// The invalid declarations.
    public private(set) var problems: [DatabaseProblem] = []

    /// A discovery of all characteristics declared in `range`, which may contain several services.
    ///
    /// Each characteristic extends to the next declaration, the last one to the end of the range.
    ///
    /// - Parameter uuid: The UUID of the characteristics in the result; nil for all. The requests are the same in both
    ///   cases: ATT cannot filter characteristics by UUID, and the next declaration determines the end of each.
    public init(in range: AttributeHandleRange, uuid: BluetoothUUID? = nil) {
        walk = HandleWalk(range)
        rangeEnd = range.end
        self.uuid = uuid
    }

    /// A discovery that ends where the first valid characteristic with `uuid` is found; where the next declaration is
    /// not in the same response, that one's end is the end of the range.
    package init(in range: AttributeHandleRange, first uuid: BluetoothUUID) {
        self.init(in: range, uuid: uuid)
        isFirstOnly = true
    }

    /// The range of the next request.
    var remaining: AttributeHandleRange { walk.range }

    /// Writes a Read By Type Request for the handles after the last declaration found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByTypeRequest(walk.checkedRange(), type: .characteristic), into: &writer)
    }

    /// Processes the response; the result is the characteristics in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteCharacteristic]> {
        switch answer {
        case .readByTypeResponse(var list):
            while let entry = list.next() { add(entry.handle, entry.value) }
            walk.endOfAnswer()
            // A later declaration cannot prove it invalid.
            if isFirstOnly, let first = characteristics.first(where: { $0.uuid == uuid }),
                first.endHandle < rangeEnd || first.declarationHandle.next == first.valueHandle,
                first.valueHandle <= first.endHandle
            {
                return .done([first])
            }
            if isTooShortForAnother { walk.end() }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        guard walk.isAtEnd else { return .next }
        closeLast(at: rangeEnd)
        return .done(uuid == nil ? characteristics : characteristics.filter { $0.uuid == uuid })
    }

    /// Whether the remaining range is too small for a characteristic, which has a declaration and a value.
    ///
    /// The next request begins after the last declaration (GATT/CL/GAD/BV-04-C). The last value shortens the range only
    /// where it directly follows its declaration, as it must: a wrong value handle then hides no declaration.
    private var isTooShortForAnother: Bool {
        if walk.range.start >= rangeEnd { return true }
        guard let last = characteristics.last, last.declarationHandle.next == last.valueHandle else { return false }
        return walk.range.start == last.valueHandle && last.valueHandle.next ?? rangeEnd >= rangeEnd
    }

    private mutating func add(_ handle: AttributeHandle, _ value: RawSpan) {
        guard walk.advance(over: handle) else {
            return problems.record(DatabaseProblem(.unexpectedHandle, .characteristic, at: handle))
        }
        if let end = handle.previous { closeLast(at: end) }
        var reader = ByteReader(value)
        guard let bits = try? reader.readUInt8(), let valueHandle = try? reader.readHandle(),
            let uuid = BluetoothUUID(attributeValue: reader.readRemaining())
        else {
            return problems.record(DatabaseProblem(.malformedValue, .characteristic, at: handle))
        }
        let characteristic = RemoteCharacteristic(
            uuid: uuid, properties: CharacteristicProperties(rawValue: bits), declarationHandle: handle,
            valueHandle: valueHandle, endHandle: rangeEnd)
        guard characteristic.valueHandle > handle else {
            return problems.record(DatabaseProblem(.invalidValueHandle, characteristic))
        }
        characteristics.append(characteristic)
    }

    /// Ends the last characteristic at `end`.
    private mutating func closeLast(at end: AttributeHandle) {
        guard let last = characteristics.indices.last, characteristics[last].endHandle >= end else { return }
        characteristics[last].endHandle = end
        guard characteristics[last].valueHandle > end else { return }
        problems.record(DatabaseProblem(.valueOutside, characteristics.removeLast()))
    }
}

extension DatabaseProblem {
    /// A problem of a characteristic's value handle.
    init(_ reason: Reason, _ characteristic: RemoteCharacteristic) {
        let value = characteristic.valueHandle
        self.init(
            reason, .characteristic, at: characteristic.declarationHandle,
            declared: AttributeHandleRange(start: value, end: value), uuid: characteristic.uuid)
    }
}

/// Discover All Characteristic Descriptors (Core Vol 3 Part G §4.7.1), or all attributes of one type.
public struct DescriptorDiscovery: ClientProcedure {
    private var walk: HandleWalk
    private let type: BluetoothUUID?
    private let last: BluetoothUUID?
    /// The descriptors found so far.
    private(set) var descriptors: [RemoteDescriptor] = []
    /// The handles outside the requested range.
    public private(set) var problems: [DatabaseProblem] = []

    /// A discovery of attributes in `range`, which without a type contains only the descriptors of one characteristic.
    ///
    /// - Parameters:
    ///   - type: The type of the attributes, of any number of characteristics, for Read By Type Requests; those that
    ///     the server does not let be read are not found. Nil for all.
    ///   - last: The descriptor with which the discovery ends, unless `range` reaches the next declaration before.
    package init(in range: AttributeHandleRange, type: BluetoothUUID? = nil, until last: BluetoothUUID? = nil) {
        (walk, self.type, self.last) = (HandleWalk(range), type, last)
    }

    /// The range of the next request.
    var remaining: AttributeHandleRange { walk.range }

    /// Writes a request for the handles after the last descriptor found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        let range = try walk.checkedRange()
        if let type {
            try encode(.readByTypeRequest(range, type: type), into: &writer)
        } else {
            try encode(.findInformationRequest(range), into: &writer)
        }
    }

    /// Processes the response; the result is all descriptors in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteDescriptor]> {
        switch answer {
        case .findInformationResponse(var list):
            while !isComplete, let entry = list.next() { add(entry.type, at: entry.handle) }
            walk.endOfAnswer()
        case .readByTypeResponse(var list):
            guard let type else { throw failure(answer) }
            while let entry = list.next() { add(type, at: entry.handle) }
            walk.endOfAnswer()
        case .errorResponse(let error)
        where error.code == .attributeNotFound || type != nil && error.code != .databaseOutOfSync:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd || isComplete ? .done(descriptors) : .next
    }

    /// Whether what was searched for is found, or the next declaration.
    private var isComplete: Bool { last != nil && (walk.isAtEnd || descriptors.last?.uuid == last) }

    private mutating func add(_ type: BluetoothUUID, at handle: AttributeHandle) {
        guard walk.advance(over: handle) else {
            return problems.record(DatabaseProblem(.unexpectedHandle, type, at: handle))
        }
        if last != nil, [.primaryService, .secondaryService, .include, .characteristic].contains(type) {
            return walk.end()
        }
        descriptors.append(RemoteDescriptor(uuid: type, handle: handle))
    }
}
