import ATT
import BluetoothPrimitives

/// Discover All Characteristics of a Service and Discover Characteristics by UUID (Core Vol 3 Part G §4.6.1, §4.6.2),
/// over any range of handles.
public struct CharacteristicDiscovery: ClientProcedure {
    private var walk: HandleWalk
    private let rangeEnd: AttributeHandle
    private let uuid: BluetoothUUID?
    private var characteristics: [RemoteCharacteristic] = []

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

    /// Writes a Read By Type Request for what lies behind the last value found.
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
            while let entry = list.next() {
                let characteristic = try declaration(entry.handle, entry.value)
                // The value lies behind its declaration, so the walk goes on behind the value.
                try walk.advance(over: entry.handle, to: characteristic.valueHandle)
                if let last = characteristics.indices.last, let end = entry.handle.previous {
                    characteristics[last].endHandle = end
                }
                characteristics.append(characteristic)
            }
            if isTooShortForAnother { walk.end() }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        guard walk.isAtEnd else { return .next }
        return .done(uuid == nil ? characteristics : characteristics.filter { $0.uuid == uuid })
    }

    /// A declaration and its value take two handles, so one handle at the end of the range need not be asked about.
    private var isTooShortForAnother: Bool { walk.range.start == walk.range.end }

    private func declaration(
        _ handle: AttributeHandle, _ value: RawSpan
    ) throws(TransactionFailure) -> RemoteCharacteristic {
        var reader = ByteReader(value)
        do {
            let properties = CharacteristicProperties(rawValue: try reader.readUInt8())
            let valueHandle = AttributeHandle(try reader.readUInt16())
            if valueHandle > handle, let uuid = BluetoothUUID(attributeValue: reader.readRemaining()) {
                return RemoteCharacteristic(
                    uuid: uuid, properties: properties, declarationHandle: handle, valueHandle: valueHandle,
                    endHandle: rangeEnd)
            }
        } catch {}
        throw .violation("a characteristic declaration at \(handle) with the value \([UInt8](value).hexadecimal)")
    }
}

/// Discover All Characteristic Descriptors (Core Vol 3 Part G §4.7.1).
public struct DescriptorDiscovery: ClientProcedure {
    private var walk: HandleWalk
    private var descriptors: [RemoteDescriptor] = []

    /// A discovery of all attributes in `range`, which holds nothing but the descriptors of one characteristic.
    public init(in range: AttributeHandleRange) {
        walk = HandleWalk(range)
    }

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
                try walk.advance(over: entry.handle, to: entry.handle)
                descriptors.append(RemoteDescriptor(uuid: entry.type, handle: entry.handle))
            }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? .done(descriptors) : .next
    }
}
