import BluetoothATT
import BluetoothPrimitives
import CBenchmarkSupport

/// Several PDUs of one kind with different bytes, which the compiler cannot predict.
private struct Samples: Sendable {
    static let count = 16
    let name: String
    let isSentByClient: Bool
    let bytes: [UInt8]
    let length: Int

    /// PDUs of `head`, bytes that differ between the PDUs, and `tail`.
    init(_ name: String, _ head: [UInt8], varying: Int, _ tail: [UInt8] = []) {
        self.name = name
        isSentByClient = ATTOpcode(head[0]).isSentByClient
        var all: [UInt8] = []
        for number in 0..<Self.count {
            all += head
            for index in 0..<varying { all.append(UInt8(truncatingIfNeeded: 1 + number + index)) }
            all += tail
        }
        bytes = all
        length = all.count / Self.count
    }

    /// The most frequent PDUs of a connection.
    static let common = [
        Samples("Read Request", [0x0A], varying: 2),
        Samples("Read Response, 20 bytes", [0x0B], varying: 20),
        Samples("Read Blob Request", [0x0C], varying: 4),
        Samples("Write Request, 20 bytes", [0x12], varying: 22),
        Samples("Write Response", [0x13], varying: 0),
        Samples("Write Command, 20 bytes", [0x52], varying: 22),
        Samples("Write Command, 244 bytes", [0x52], varying: 246),
        Samples("Notification, 20 bytes", [0x1B], varying: 22),
        Samples("Notification, 244 bytes", [0x1B], varying: 246),
        Samples("Indication, 20 bytes", [0x1D], varying: 22),
        Samples("Confirmation", [0x1E], varying: 0),
        Samples("Error Response", [0x01, 0x0A], varying: 3),
        Samples("Exchange MTU Request", [0x02], varying: 2),
        Samples("Exchange MTU Response", [0x03], varying: 2),
        Samples("Read By Group Type Request", [0x10], varying: 4, [0x00, 0x28]),
        Samples("Read By Type Request", [0x08], varying: 4, [0x03, 0x28]),
        Samples("Find Information Request", [0x04], varying: 4),
        Samples("Read By Group Type Response, 12 services", [0x11, 20], varying: 12 * 20),
        Samples("Read By Type Response, 11 characteristics", [0x09, 21], varying: 11 * 21),
        Samples("Find Information Response, 4 descriptors", [0x05, 1], varying: 4 * 4),
        Samples("Prepare Write Request, 242 bytes", [0x16], varying: 246),
    ]

    /// Calls `body` with each in turn, and consumes a number made of its results.
    @inline(__always)
    func cycle(_ count: Int, _ body: (RawSpan) throws -> Int) rethrows {
        var sum = 0
        let all = bytes.span.bytes
        for index in 0..<count {
            let start = index % Self.count * length
            sum &+= try body(all.extracting(start..<start + length))
        }
        consume(sum)
    }
}

func decodingBenchmarks(_ harness: Harness) throws -> Report.Section {
    let measurements = try Samples.common.map { samples in
        if samples.isSentByClient {
            return try harness.measure(samples.name, goal: 1.5, allocationGoal: 0, floor: .allocation) { count in
                try samples.cycle(count) { fields(of: try ATTClientPDU(decoding: $0)) }
            }
        } else {
            return try harness.measure(samples.name, goal: 1.5, allocationGoal: 0, floor: .allocation) { count in
                try samples.cycle(count) { fields(of: try ATTServerPDU(decoding: $0)) }
            }
        }
    }
    return Report.Section(title: "Attribute Protocol: decode a PDU", measurements: measurements + [try walk(harness)])
}

/// Decoding of lists includes each entry.
private func walk(_ harness: Harness) throws -> Measurement {
    guard let samples = Samples.common.first(where: { $0.name.contains("11 characteristics") }) else {
        throw CallFailed(call: "no samples", number: 0)
    }
    return try harness.measure("… and each of the 11 entries", goal: 3, allocationGoal: 0, floor: .allocation) {
        count in
        try samples.cycle(count) { bytes in
            guard case .readByTypeResponse(var list) = try ATTServerPDU(decoding: bytes) else { return 0 }
            var sum = 0
            while let entry = list.next() { sum &+= Int(entry.handle.rawValue) &+ entry.value.byteCount }
            return sum
        }
    }
}

func encodingBenchmarks(_ harness: Harness) throws -> Report.Section {
    var writer = ByteWriter(capacity: 517)
    let measurements = try Samples.common.map { samples in
        if samples.isSentByClient {
            let pdu = try ATTClientPDU(decoding: samples.bytes.span.bytes.extracting(0..<samples.length))
            return try harness.measure(samples.name, goal: encodingGoal, allocationGoal: 0, floor: .allocation) {
                count in
                for _ in 0..<count {
                    writer.removeAll()
                    try pdu.encode(into: &writer)
                }
                consume(writer.count)
            }
        } else {
            let pdu = try ATTServerPDU(decoding: samples.bytes.span.bytes.extracting(0..<samples.length))
            return try harness.measure(samples.name, goal: encodingGoal, allocationGoal: 0, floor: .allocation) {
                count in
                for _ in 0..<count {
                    writer.removeAll()
                    try pdu.encode(into: &writer)
                }
                consume(writer.count)
            }
        }
    }
    return Report.Section(
        title: "Attribute Protocol: encode a PDU into a buffer that is used again", measurements: measurements)
}

/// A number computed from every field of a PDU.
@inline(__always)
private func fields(of pdu: borrowing ATTClientPDU) -> Int {
    switch pdu {
    case .exchangeMTURequest(let mtu): Int(mtu)
    case .findInformationRequest(let range): Int(range.start.rawValue) &+ Int(range.end.rawValue)
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
        Int(range.start.rawValue) &+ Int(truncatingIfNeeded: type.high)
    case .readRequest(let handle): Int(handle.rawValue)
    case .readBlobRequest(let handle, let offset): Int(handle.rawValue) &+ Int(offset)
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
        Int(handle.rawValue) &+ value.byteCount
    case .prepareWriteRequest(let handle, let offset, let value):
        Int(handle.rawValue) &+ Int(offset) &+ value.byteCount
    case .handleValueConfirmation: 1
    default: 0
    }
}

@inline(__always)
private func fields(of pdu: borrowing ATTServerPDU) -> Int {
    switch pdu {
    case .errorResponse(let error): Int(error.handle.rawValue) &+ Int(error.code.rawValue)
    case .exchangeMTUResponse(let mtu): Int(mtu)
    case .findInformationResponse(let list): list.count
    case .readByTypeResponse(let list): list.count
    case .readByGroupTypeResponse(let list): list.count
    case .readResponse(let value), .readBlobResponse(let value): value.byteCount
    case .handleValueNotification(let handle, let value), .handleValueIndication(let handle, let value):
        Int(handle.rawValue) &+ value.byteCount
    case .writeResponse: 1
    default: 0
    }
}

/// Twice what is measured on an idle machine: beside other programs the copies alone take four times as long.
private let encodingGoal = 1.6
