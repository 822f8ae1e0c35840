import BluetoothATT
import BluetoothPrimitives

/// A value that was found by its type.
public struct RemoteValue: Hashable, Sendable {
    /// Where it is.
    public var handle: AttributeHandle
    /// The whole value.
    public var value: [UInt8]

    /// A value and where it is.
    public init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// Read Using Characteristic UUID (Core Vol 3 Part G §4.8.2): the values of all attributes of a type in a range,
/// however long they are.
public struct ValueReadByUUID: ClientProcedure {
    private var walk: HandleWalk
    private let uuid: BluetoothUUID
    private var values: [RemoteValue] = []
    /// The values that filled their places in an answer and may go on, and the one that is being read by itself.
    private var incomplete: [Int] = []
    private var single: ValueRead?
    private var mtu = AttributeProtocol.defaultMTU

    /// A read of all values whose type is `uuid` in `range`, such as ``RemoteService/handles``.
    public init(_ uuid: BluetoothUUID, in range: AttributeHandleRange = .all) {
        self.uuid = uuid
        walk = HandleWalk(range)
    }

    /// Writes a Read By Type Request for what lies behind the last value, then Read Requests for what may be longer.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        mtu = writer.capacity
        if single != nil {
            try single?.writeRequest(into: &writer)
        } else {
            try encode(.readByTypeRequest(walk.checkedRange(), type: uuid), into: &writer)
        }
    }

    /// Takes the answer; the result is all values in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteValue]> {
        if let step = try single?.receive(answer) {
            guard case .done(let value) = step, let index = incomplete.popLast() else { return .next }
            values[index].value = value
            return nextIncomplete()
        }
        switch answer {
        case .readByTypeResponse(let list):
            let mayGoOn = list.valueLength >= ATTValueLimits(mtu: mtu).readByType
            var list = list
            while let entry = list.next() {
                let asked = walk.range
                guard walk.advance(over: entry.handle) else {
                    throw .violation("a value at \(entry.handle) in an answer to a request for \(asked)")
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

    // From its beginning: there is more room in a Read Response, and a value that just fits there is not long, so that
    // a server may refuse to go on behind what this answer had room for (Core Vol 3 Part F §3.4.4.5).
    private mutating func nextIncomplete() -> ProcedureStep<[RemoteValue]> {
        guard let index = incomplete.last else { return .done(values) }
        single = ValueRead(values[index].handle)
        return .next
    }
}

/// Read Multiple Characteristic Values and Read Multiple Variable Length Characteristic Values (Core Vol 3 Part G
/// §4.8.4, §4.8.5): the values of several attributes in as few requests as the ATT_MTU allows.
///
/// A value for which an answer has no room is asked for again, one that does not fit into any answer is read on in
/// parts, and where the server does not know the request, or answers it as it must not, every value is read by itself.
public struct MultipleValueRead: ClientProcedure {
    /// What the read brings.
    public struct Output: Hashable, Sendable {
        /// The whole values, in the order asked for.
        public var values: [[UInt8]]
        /// False when the request is of no use with the server: it does not know it, or an answer cannot be trusted.
        public var isSupported: Bool
    }

    private let handles: [AttributeHandle]
    /// How long the values are, which a Read Multiple Request needs; empty where the answer tells.
    private let lengths: [Int]
    private var asksForSeveral: Bool
    private var isSupported = true
    private var values: [[UInt8]] = []
    /// How many values were asked for.
    private var asked = 0
    /// The one value that is being read by itself.
    private var single: ValueRead?
    private var mtu = AttributeProtocol.defaultMTU

    /// A read of values of any length with Read Multiple Variable Requests (Core Vol 3 Part F §3.4.4.11).
    ///
    /// - Parameter isSupported: false where the server is known not to know the request.
    public init(_ handles: [AttributeHandle], isSupported: Bool = true) {
        self.handles = handles
        lengths = []
        asksForSeveral = isSupported
        self.isSupported = isSupported
    }

    /// A read of values whose lengths are known with Read Multiple Requests (Core Vol 3 Part F §3.4.4.7).
    ///
    /// When an answer has another length than all its values together, the values are read by themselves.
    ///
    /// - Parameter lengths: as many as there are handles.
    public init(_ handles: [AttributeHandle], lengths: [Int], isSupported: Bool = true) {
        self.handles = handles
        self.lengths = lengths
        asksForSeveral = isSupported && lengths.count == handles.count
        self.isSupported = isSupported
    }

    /// Writes a request for as many values as fit, or one for a part of one.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        mtu = writer.capacity
        guard values.count < handles.count else { throw .invalid("no attribute to read") }
        if single == nil {
            let count = asksForSeveral ? batch() : 1
            if count >= 2 {
                asked = count
                var request = ATTReadMultipleRequestBuilder(variable: lengths.isEmpty)
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

    /// How many of the values that are left to ask for at once.
    private func batch() -> Int {
        let left = min(handles.count - values.count, (mtu - 1) / 2)
        guard !lengths.isEmpty else { return left }
        var room = ATTValueLimits(mtu: mtu).readMultiple
        var count = 0
        for length in lengths[values.count..<values.count + left] {
            guard length >= 0, length <= room else { break }
            room -= length
            count += 1
        }
        return count
    }

    /// Takes the answer.
    public mutating func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> ProcedureStep<Output> {
        if let step = try single?.receive(answer) {
            guard case .done(let value) = step else { return .next }
            values.append(value)
            single = nil
            return next()
        }
        switch answer {
        case .readMultipleVariableResponse(let list) where lengths.isEmpty:
            if isTrusted(list) { try take(list) } else { askNoMore() }
        case .readMultipleResponse(let all) where !lengths.isEmpty: take(all)
        case .errorResponse(let error) where error.code == .requestNotSupported: askNoMore()
        default: throw failure(answer)
        }
        return next()
    }

    private mutating func askNoMore() {
        asksForSeveral = false
        isSupported = false
    }

    /// Whether the answer says where its values end: one that is cut is cut by the end of a full PDU (Core Vol 3 Part F
    /// §3.4.4.12). Of a server that cuts elsewhere, or writes beyond the ATT_MTU, no value can be told from the next.
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

    private mutating func take(_ list: ATTLengthValueList) throws(TransactionFailure) {
        var list = list
        var taken = 0
        while let entry = list.next() {
            guard taken < asked else { throw .violation("more values than the \(asked) that were asked for") }
            guard entry.length <= AttributeProtocol.maximumAttributeValueLength else {
                throw .violation("a value of \(entry.length) bytes")
            }
            guard !entry.isTruncated else {
                // What has room in an answer of its own is asked for again, so that it comes in one piece; only what has
                // not is a long value, of which every server gives the rest.
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

    private mutating func take(_ all: RawSpan) {
        let lengths = lengths[values.count..<values.count + asked]
        guard lengths.reduce(0, +) == all.byteCount else {
            asksForSeveral = false
            return
        }
        var rest = all
        for length in lengths {
            values.append([UInt8](rest.extracting(first: length)))
            rest = rest.extracting(droppingFirst: length)
        }
    }
}
