import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothCapture

/// A record with its own bytes, for comparison.
struct Record: Equatable {
    var adapter: UInt16 = 0
    var kind: CapturedPacketKind
    var time: Int64 = 0
    var drops: UInt32 = 0
    var cut = 0
    var payload: [UInt8]
}

/// The readable records of a file, and the error at its end.
func read(_ file: [UInt8], inPiecesOf size: Int = .max) -> (records: [Record], end: CaptureError?) {
    let (records, _, end) = readCapture(file, inPiecesOf: size)
    return (
        records.compactMap { record in
            guard case .packet(let kind) = record.kind else { return nil }
            return Record(
                adapter: record.adapter, kind: kind, time: record.time, drops: record.drops,
                cut: record.missingByteCount, payload: record.payload)
        }, end
    )
}

/// The flags and the packet indicator of an HCI packet in a file of one adapter: bit 0 is set from controller to host,
/// bit 1 for commands and events.
private let transports: [CapturedPacketKind: (flags: UInt16, packetType: UInt8)] = [
    .command: (2, 1), .event: (3, 4), .aclSent: (0, 2), .aclReceived: (1, 2), .synchronousSent: (0, 3),
    .synchronousReceived: (1, 3), .isochronousSent: (0, 5), .isochronousReceived: (1, 5),
]

/// A file with those of the records that its format has.
func file(_ datalink: BTSnoopDatalink, _ records: [Record]) throws -> [UInt8] {
    var writer = ByteWriter(capacity: 65536)
    try BTSnoop.encodeHeader(into: &writer)
    writer.replace(at: 14, with: UInt8(truncatingIfNeeded: datalink.rawValue >> 8))
    writer.replace(at: 15, with: UInt8(truncatingIfNeeded: datalink.rawValue))
    for record in records {
        var (kind, payload) = (record.kind, record.payload)
        if datalink != .monitor {
            guard let transport = transports[kind], datalink == .h4 || ![3, 5].contains(transport.packetType) else {
                continue
            }
            kind = CapturedPacketKind(rawValue: transport.flags)
            if datalink == .h4 { payload.insert(transport.packetType, at: 0) }
        }
        let start = writer.count
        let packet = CapturedPacket(adapter: record.adapter, kind: kind, payload: payload.span.bytes)
        try BTSnoop.encode(packet, time: record.time, drops: record.drops, into: &writer)
        writer.replace(at: start + 3, with: UInt8(payload.count + record.cut))
    }
    return writer.bytes
}

/// The format of the files that Wireshark and btmon write.
@Suite struct BTSnoopTests {
    private static let newYear2020: Int64 = 1_577_836_800_000_000

    @Test(
        arguments: [
            (
                .monitor, Record(adapter: 1, kind: .command, time: newYear2020, drops: 3, payload: hex("030C00")),
                "6274736E6F6F7000 00000001 000007D1 00000003 00000003 00010002 00000003 00E278BBD129C000 030C00"
            ),
            (
                .monitor, Record(adapter: 0xFFFF, kind: .systemNote, payload: hex("686900")),
                "6274736E6F6F7000 00000001 000007D1 00000003 00000003 FFFF000C 00000000 00DCDDB30F2F8000 686900"
            ),
            (
                .h4, Record(kind: .command, payload: hex("030C00")),
                "6274736E6F6F7000 00000001 000003EA 00000004 00000004 00000002 00000000 00DCDDB30F2F8000 01030C00"
            ),
            (
                .h4, Record(kind: .event, payload: hex("0E00")),
                "6274736E6F6F7000 00000001 000003EA 00000003 00000003 00000003 00000000 00DCDDB30F2F8000 040E00"
            ),
            (
                .h4, Record(kind: .aclReceived, payload: hex("40200000")),
                "6274736E6F6F7000 00000001 000003EA 00000005 00000005 00000001 00000000 00DCDDB30F2F8000 0240200000"
            ),
            (
                .hci, Record(kind: .aclSent, payload: hex("40000000")),
                "6274736E6F6F7000 00000001 000003E9 00000004 00000004 00000000 00000000 00DCDDB30F2F8000 40000000"
            ),
            (
                .hci, Record(kind: .event, payload: hex("0E00")),
                "6274736E6F6F7000 00000001 000003E9 00000002 00000002 00000003 00000000 00DCDDB30F2F8000 0E00"
            ),
            (
                .monitor, Record(kind: .event, time: -1, cut: 2, payload: hex("0E04")),
                "6274736E6F6F7000 00000001 000007D1 00000004 00000002 00000003 00000000 00DCDDB30F2F7FFF 0E04"
            ),
        ] as [(BTSnoopDatalink, Record, String)])
    func aFileHasTheseBytes(datalink: BTSnoopDatalink, record: Record, text: String) throws {
        let bytes = try file(datalink, [record])
        #expect(bytes.hexadecimal == hex(text).hexadecimal)
        let (records, end) = read(bytes)
        #expect(records == [record])
        #expect(end == nil)
    }

    @Test(arguments: [.monitor, .h4, .hci] as [BTSnoopDatalink])
    func recordsAreReadAsWritten(datalink: BTSnoopDatalink) throws {
        let records = (0..<24).map { number in
            Record(
                kind: CapturedPacketKind(rawValue: number), time: Int64(number) * 1_000_003, drops: UInt32(number),
                cut: Int(number) % 4, payload: (0..<number).map { UInt8($0) })
        }
        let expected = records.filter { record in
            switch datalink {
            case .monitor: true
            case .h4: [2, 3, 4, 5, 6, 7, 18, 19].contains(record.kind.rawValue)
            default: [2, 3, 4, 5].contains(record.kind.rawValue)
            }
        }
        let bytes = try file(datalink, records)
        #expect(readCapture(bytes).format == .btsnoop(datalink))
        for size in [1, 7, .max] {
            let (read, end) = read(bytes, inPiecesOf: size)
            #expect(read == expected)
            #expect(end == nil)
        }
    }

    @Test func hiddenBytesBecomeZerosAndTheLengthStays() throws {
        var writer = ByteWriter(capacity: 256)
        try BTSnoop.encodeHeader(into: &writer)
        let packet = CapturedPacket(adapter: 0, kind: .command, payload: hex("1920021122").span.bytes)
        try BTSnoop.encode(packet, time: 0, visibleByteCount: 3, into: &writer)
        #expect(read(writer.bytes).records == [Record(kind: .command, payload: hex("1920020000"))])
    }

    @Test func everyTruncationGivesTheRecordsBeforeIt() throws {
        let records = [
            Record(kind: .command, payload: hex("030C00")), Record(kind: .aclSent, payload: hex("4000010000")),
        ]
        let whole = try file(.monitor, records)
        let boundaries = [16, 16 + 27, whole.count]
        for count in 16..<whole.count {
            let (read, end) = read(Array(whole.prefix(count)))
            #expect(read == Array(records.prefix(boundaries.filter { $0 <= count }.count - 1)))
            #expect((end == nil) == boundaries.contains(count))
        }
    }

    @Test(arguments: [.monitor, .h4, .hci] as [BTSnoopDatalink])
    func noChangedByteStopsTheProgram(datalink: BTSnoopDatalink) throws {
        let whole = try file(
            datalink, [Record(kind: .command, payload: hex("030C00")), Record(kind: .event, payload: hex("0E00"))])
        for changed in mutations(of: whole) {
            let records = read(changed).records
            #expect(records.count <= 2)
        }
    }

    @Test func aRecordThatDoesNotFitLeavesTheBufferAsItWas() throws {
        let packet = CapturedPacket(adapter: 0, kind: .command, payload: hex("030C00").span.bytes)
        for capacity in 0..<27 {
            var writer = ByteWriter(capacity: capacity)
            let isTaken = (try? BTSnoop.encode(packet, time: 0, into: &writer)) != nil
            #expect(!isTaken)
            #expect(writer.bytes.isEmpty)
        }
    }
}

@Suite struct MonitorPacketTests {
    @Test func aMonitorPacketIsReadAndWritten() throws {
        let bytes = hex("0200 0100 0300 030C00")
        let packet = try CapturedPacket(monitorPacket: bytes.span.bytes)
        #expect(packet.kind == .command)
        #expect(packet.adapter == 1)
        #expect([UInt8](packet.payload) == hex("030C00"))
        var writer = ByteWriter(capacity: 64)
        try packet.encodeMonitorPacket(into: &writer)
        #expect(writer.bytes == bytes)
    }

    @Test func noMalformedMonitorPacketStopsTheProgram() {
        var filter = SecretFilter()
        for changed in mutations(of: hex("0500 0100 0D00 4020 0900 0500 0600 0611223344")) {
            guard let packet = try? CapturedPacket(monitorPacket: changed.span.bytes) else { continue }
            #expect((filter.visibleByteCount(of: packet) ?? 0) <= max(9, packet.payload.byteCount))
        }
    }
}
