import BluetoothATT
import BluetoothPrimitives

/// Discover All Characteristics of a Service and Discover Characteristics by UUID (Core Vol 3 Part G §4.6.1, §4.6.2),
/// over any range of handles.
public struct CharacteristicDiscovery: ClientProcedure {
    private var walk: HandleWalk
    private let rangeEnd: AttributeHandle
    private let uuid: BluetoothUUID?
    /// What has been found so far; the last may prove to have its value elsewhere when the next declaration is known.
    private(set) var characteristics: [RemoteCharacteristic] = []
    /// Declarations that cannot be true.
    public private(set) var problems: [DatabaseProblem] = []

    /// A discovery of all characteristics declared in `range`, which may cover several services.
    ///
    /// Each characteristic is taken to reach up to the next declaration, the last to the end of the range.
    ///
    /// - Parameter uuid: which characteristics the result has; nil for all. The server is asked the same: it cannot be
    ///   asked for some, and where one ends follows from the next.
    public init(in range: AttributeHandleRange, uuid: BluetoothUUID? = nil) {
        walk = HandleWalk(range)
        rangeEnd = range.end
        self.uuid = uuid
    }

    /// What the next request asks for.
    var remaining: AttributeHandleRange { walk.range }

    /// Writes a Read By Type Request for what lies behind the last declaration found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByTypeRequest(walk.checkedRange(), type: .characteristic), into: &writer)
    }

    /// Takes the answer; the result is the characteristics in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteCharacteristic]> {
        switch answer {
        case .readByTypeResponse(let list):
            var list = list
            while let entry = list.next() { take(entry.handle, entry.value) }
            walk.endOfAnswer()
            if isTooShortForAnother { walk.end() }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        guard walk.isAtEnd else { return .next }
        closeLast(at: rangeEnd)
        return .done(uuid == nil ? characteristics : characteristics.filter { $0.uuid == uuid })
    }

    /// A declaration and its value take two handles, so what is left may be too short for them.
    ///
    /// The next request begins behind the last declaration (GATT/CL/GAD/BV-04-C). That the value is there is taken into
    /// account only where it follows its declaration at once, as it has to: a wrong value handle hides nothing.
    private var isTooShortForAnother: Bool {
        if walk.range.start >= rangeEnd { return true }
        guard let last = characteristics.last, last.declarationHandle.next == last.valueHandle else { return false }
        return walk.range.start == last.valueHandle && last.valueHandle.next ?? rangeEnd >= rangeEnd
    }

    private mutating func take(_ handle: AttributeHandle, _ value: RawSpan) {
        guard walk.advance(over: handle) else {
            problems.note(DatabaseProblem(.unexpectedHandle, .characteristic, at: handle))
            return
        }
        if let end = handle.previous { closeLast(at: end) }
        var reader = ByteReader(value)
        guard let bits = try? reader.readUInt8(), let number = try? reader.readUInt16(),
            let uuid = BluetoothUUID(attributeValue: reader.readRemaining())
        else {
            problems.note(DatabaseProblem(.malformedValue, .characteristic, at: handle))
            return
        }
        let characteristic = RemoteCharacteristic(
            uuid: uuid, properties: CharacteristicProperties(rawValue: bits), declarationHandle: handle,
            valueHandle: AttributeHandle(number), endHandle: rangeEnd)
        guard characteristic.valueHandle > handle else {
            problems.note(DatabaseProblem(.invalidValueHandle, characteristic))
            return
        }
        characteristics.append(characteristic)
    }

    /// Takes in that nothing behind `end` belongs to the last characteristic.
    private mutating func closeLast(at end: AttributeHandle) {
        guard let last = characteristics.indices.last, characteristics[last].endHandle >= end else { return }
        characteristics[last].endHandle = end
        guard characteristics[last].valueHandle > end else { return }
        problems.note(DatabaseProblem(.valueOutside, characteristics.removeLast()))
    }
}

extension DatabaseProblem {
    /// A problem of a characteristic with its value.
    init(_ reason: Reason, _ characteristic: RemoteCharacteristic) {
        let value = characteristic.valueHandle
        self.init(
            reason, .characteristic, at: characteristic.declarationHandle,
            declared: AttributeHandleRange(start: value, end: value), uuid: characteristic.uuid)
    }
}

/// Discover All Characteristic Descriptors (Core Vol 3 Part G §4.7.1).
public struct DescriptorDiscovery: ClientProcedure {
    private var walk: HandleWalk
    /// What has been found so far.
    private(set) var descriptors: [RemoteDescriptor] = []
    /// Handles that were not asked for.
    public private(set) var problems: [DatabaseProblem] = []

    /// A discovery of all attributes in `range`, which holds nothing but the descriptors of one characteristic.
    public init(in range: AttributeHandleRange) {
        walk = HandleWalk(range)
    }

    /// What the next request asks for.
    var remaining: AttributeHandleRange { walk.range }

    /// Writes a Find Information Request for what lies behind the last descriptor found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.findInformationRequest(walk.checkedRange()), into: &writer)
    }

    /// Takes the answer; the result is all descriptors in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteDescriptor]> {
        switch answer {
        case .findInformationResponse(let list):
            var list = list
            while let entry = list.next() {
                if walk.advance(over: entry.handle) {
                    descriptors.append(RemoteDescriptor(uuid: entry.type, handle: entry.handle))
                } else {
                    problems.note(DatabaseProblem(.unexpectedHandle, entry.type, at: entry.handle))
                }
            }
            walk.endOfAnswer()
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? .done(descriptors) : .next
    }
}
