import BluetoothATT
import BluetoothPrimitives

/// A value found by its attribute type.
public struct RemoteValue: Hashable, Sendable {
    /// The handle of the value.
    public var handle: AttributeHandle
    /// The complete value.
    public var value: [UInt8]

    /// A value with its handle.
    public init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// Read Using Characteristic UUID (Core Vol 3 Part G §4.8.2): the complete values, of any length, of all attributes of
/// a type in a range.
public struct ValueReadByUUID: ClientProcedure {
    private var walk: HandleWalk
    private let uuid: BluetoothUUID
    private var values: [RemoteValue] = []
    /// The indices of values that filled their entries and may continue, and the separate read of one of them.
    private var incomplete: [Int] = []
    private var single: ValueRead?
    private var mtu = AttributeProtocol.defaultMTU

    /// A read of all values with the type `uuid` in `range`, such as ``RemoteService/handles``.
    public init(_ uuid: BluetoothUUID, in range: AttributeHandleRange = .all) {
        self.uuid = uuid
        walk = HandleWalk(range)
    }

    /// Writes a Read By Type Request for the handles after the last value, then Read Requests for values that may be
    /// longer.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        mtu = writer.capacity
        if single != nil {
            try single?.writeRequest(into: &writer)
        } else {
            try encode(.readByTypeRequest(walk.checkedRange(), type: uuid), into: &writer)
        }
    }

    /// Processes the response; the result is all values in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteValue]> {
        if let step = try single?.receive(answer) {
            guard case .done(let value) = step, let index = incomplete.popLast() else { return .next }
            values[index].value = value
            return nextIncomplete()
        }
        switch answer {
        case .readByTypeResponse(var list):
            let mayGoOn = list.valueLength >= ATTValueLimits(mtu: mtu).readByType
            while let entry = list.next() {
                let asked = walk.range
                guard walk.advance(over: entry.handle) else {
                    throw .violation("a value at \(entry.handle) in the response to a request for \(asked)")
                }
                if mayGoOn { incomplete.append(values.count) }
                values.append(RemoteValue(handle: entry.handle, value: [UInt8](entry.value)))
            }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? nextIncomplete() : .next
    }

    // From the beginning: a Read Response has more room, and a value that just fits there is not long, so that a server
    // may refuse to continue at the length of this entry (Core Vol 3 Part F §3.4.4.5).
    private mutating func nextIncomplete() -> ProcedureStep<[RemoteValue]> {
        guard let index = incomplete.last else { return .done(values) }
        single = ValueRead(values[index].handle)
        return .next
    }
}

/// Read Multiple Variable Length Characteristic Values (Core Vol 3 Part G §4.8.5): the values of several attributes with
/// as few requests as the ATT_MTU permits.
///
/// The read repeats the request for a value that a response has no room for, and continues one that fits no response
/// with Read Blob Requests. With a server that does not support the request, or violates the specification, it reads
/// each value separately.
public struct MultipleValueRead: ClientProcedure {
    /// The result of the read.
    public struct Output: Hashable, Sendable {
        /// The complete values, in the order of the handles.
        public var values: [[UInt8]]
        /// False when this server does not support the request, or its response violates the specification.
        public var isSupported: Bool
    }

    private let handles: [AttributeHandle]
    private var isSupported = true
    private var values: [[UInt8]] = []
    /// The number of values in the outstanding request.
    private var requestedCount = 0
    /// The separate read of one value.
    private var single: ValueRead?
    private var mtu = AttributeProtocol.defaultMTU

    /// A read of values of any length with Read Multiple Variable Requests (Core Vol 3 Part F §3.4.4.11).
    ///
    /// - Parameter isSupported: False when the server is known not to support the request.
    public init(_ handles: [AttributeHandle], isSupported: Bool = true) {
        self.handles = handles
        self.isSupported = isSupported
    }

    /// Writes a request for as many values as fit, or for a part of one value.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        mtu = writer.capacity
        guard values.count < handles.count else { throw .invalid("no attribute to read") }
        if single == nil {
            let count = isSupported ? min(handles.count - values.count, (mtu - 1) / 2) : 1
            if count >= 2 {
                requestedCount = count
                var request = ATTReadMultipleRequestBuilder(variable: true)
                for handle in handles[values.count..<values.count + count] {
                    guard request.append(handle, to: &writer) else {
                        throw .invalid("\(count) handles do not fit into an ATT_MTU of \(mtu)")
                    }
                }
                return
            }
            single = ValueRead(handles[values.count])
        }
        try single?.writeRequest(into: &writer)
    }

    /// Processes the response.
    public mutating func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> ProcedureStep<Output> {
        if let step = try single?.receive(answer) {
            guard case .done(let value) = step else { return .next }
            values.append(value)
            single = nil
            return next()
        }
        switch answer {
        case .readMultipleVariableResponse(let list):
            if isTrusted(list) { try append(list) } else { isSupported = false }
        case .errorResponse(let error) where error.code == .requestNotSupported: isSupported = false
        default: throw failure(answer)
        }
        return next()
    }

    /// Whether the boundaries of the values are certain: only the end of a full PDU may truncate the last one
    /// (Core Vol 3 Part F §3.4.4.12). If a server truncates elsewhere, or exceeds the ATT_MTU, its values cannot be
    /// separated.
    private func isTrusted(_ list: ATTLengthValueList) -> Bool {
        let room = ATTValueLimits(mtu: mtu).readMultiple
        guard list.byteCount < room else { return list.byteCount == room }
        var list = list
        while let entry = list.next() {
            if entry.isTruncated { return false }
        }
        return true
    }

    private func next() -> ProcedureStep<Output> {
        values.count < handles.count ? .next : .done(Output(values: values, isSupported: isSupported))
    }

    private mutating func append(_ list: ATTLengthValueList) throws(TransactionFailure) {
        var list = list
        var taken = 0
        while let entry = list.next() {
            guard taken < requestedCount else { throw .violation("more than the \(requestedCount) requested values") }
            guard entry.length <= AttributeProtocol.maximumAttributeValueLength else {
                throw .violation("a value of \(entry.length) bytes")
            }
            guard !entry.isTruncated else {
                // A value that fits a response of its own is requested again, so that it is read in one piece. Only
                // longer values are long, and every server returns the rest of those.
                if entry.length >= ATTValueLimits(mtu: mtu).read {
                    single = ValueRead(handles[values.count], after: [UInt8](entry.value))
                } else if taken == 0 || entry.length > mtu - 3 {
                    single = ValueRead(handles[values.count])
                }
                return
            }
            values.append([UInt8](entry.value))
            taken += 1
        }
    }
}
