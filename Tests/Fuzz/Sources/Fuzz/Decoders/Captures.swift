@testable import BluetoothCapture
import BluetoothPrimitives

/// The files of captures, and what is in them.
let captureDecoders: [FuzzTarget] = [
    FuzzTarget(name: "capture-file") { input in
        let bytes = Array(input)
        let (whole, fault) = records(of: [bytes])
        let pieces = stride(from: 0, to: bytes.count, by: 7).map { Array(bytes[$0..<min($0 + 7, bytes.count)]) }
        let (others, otherFault) = records(of: pieces)
        require(whole == others && fault == otherFault, "in pieces: \(fault as Any), \(otherFault as Any)")
        decode(whole)
        checkFile(of: whole)
    },
    FuzzTarget(name: "captured-packets") { input in
        var source = ByteSource(input)
        var records: [CaptureRecord] = []
        while !source.isEmpty {
            let kind = CapturedPacketKind(rawValue: UInt16(source.byte() & 0x1F))
            let cut = source.byte()
            var record = CaptureRecord(
                number: records.count + 1, time: 0, adapter: UInt16(cut & 1), kind: .packet(kind),
                payload: source.bytes(atMost: 255))
            if cut >= 0xF0 { record.missingByteCount = Int(cut) }
            records.append(record)
        }
        decode(records)
        checkFile(of: records)
    },
    FuzzTarget(name: "monitor-packet") { input in
        guard let packet = try? CapturedPacket(monitorPacket: input.bytes) else { return }
        var writer = ByteWriter(growingTo: input.count)
        guard (try? packet.encodeMonitorPacket(into: &writer)) != nil else { return fault("it is not encoded") }
        require(writer.bytes == Array(input[..<writer.count]), "\(writer.bytes) is another packet")
    },
]

private func records(of pieces: [[UInt8]]) -> ([CaptureRecord], CaptureError?) {
    var reader = CaptureReader()
    var records: [CaptureRecord] = []
    do throws(CaptureError) {
        for piece in pieces {
            reader.append(piece)
            try reader.read { records.append($0) }
        }
        try reader.finish()
    } catch {
        _ = (error.description, error.remedy)
        return (records, error)
    }
    return (records, nil)
}

private func decode(_ records: [CaptureRecord]) {
    var decoder = CaptureDecoder()
    for record in records { _ = decoder.decode(record) }
}

/// Writes the packets to a file, as it is shared, and reads that.
private func checkFile(of records: [CaptureRecord]) {
    var filter = SecretFilter()
    var writer = ByteWriter(growingTo: .max)
    var written: [CaptureRecord] = []
    try? BTSnoop.encodeHeader(into: &writer)
    for record in records {
        guard case .packet(let kind) = record.kind else { continue }
        let packet = CapturedPacket(adapter: record.adapter, kind: kind, payload: record.payload.span.bytes)
        let visible = filter.visibleByteCount(of: packet)
        guard (try? BTSnoop.encode(packet, time: record.time, visibleByteCount: visible, into: &writer)) != nil else {
            return fault("\(record) is not encoded")
        }
        var expected = record
        (expected.number, expected.missingByteCount, expected.drops) = (written.count + 1, 0, 0)
        let hidden = max(0, record.payload.count - (visible ?? .max))
        expected.payload = record.payload.dropLast(hidden) + Array(repeating: 0, count: hidden)
        written.append(expected)
    }
    let (again, problem) = Fuzz.records(of: [writer.bytes])
    require(again == written && problem == nil, "\(written) became \(again), \(problem as Any)")
}
