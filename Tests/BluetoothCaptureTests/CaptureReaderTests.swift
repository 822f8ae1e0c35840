import TestSupport
import Testing

@testable import BluetoothCapture

/// The records that a file gives when it arrives in pieces of `size` bytes, and the error at its end.
func readCapture(_ file: [UInt8], inPiecesOf size: Int = .max) -> (
    records: [CaptureRecord], format: CaptureFormat?, end: CaptureError?
) {
    var reader = CaptureReader()
    var records: [CaptureRecord] = []
    var rest = file[...]
    do throws(CaptureError) {
        while !rest.isEmpty {
            reader.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            try reader.read { records.append($0) }
        }
        try reader.finish()
    } catch {
        let count = records.count
        reader.append(file)
        let isOver = (try? reader.read { records.append($0) }) != nil
        #expect(isOver && records.count == count, "nothing follows an error")
        return (records, reader.format, error)
    }
    return (records, reader.format, nil)
}

/// Files of btsnoop and PacketLogger, read as they arrive.
@Suite struct CaptureReaderTests {
    private static let bigEndian = hex(
        "0000000C 5E0BE100 0000000A 00 030C00" + "0000000D 5E0BE101 000F423F 01 0E020100"
            + "0000000B 5E0BE102 00000000 FC 6869"
    )
    private static let littleEndian = hex(
        "0C000000 00E10B5E 0A000000 00 030C00" + "0D000000 01E10B5E 3F420F00 01 0E020100"
            + "0B000000 02E10B5E 00000000 FC 6869"
    )

    @Test(arguments: [bigEndian, littleEndian]) func bothByteOrdersOfPacketLoggerAreRead(_ file: [UInt8]) {
        for size in [1, 5, .max] {
            let (records, format, end) = readCapture(file, inPiecesOf: size)
            #expect(end == nil)
            #expect(format == .packetLogger(isBigEndian: file == Self.bigEndian))
            #expect(
                records == [
                    CaptureRecord(
                        number: 1, time: 1_577_836_800_000_010, adapter: 0, kind: .packet(.command),
                        payload: hex("030C00")),
                    CaptureRecord(
                        number: 2, time: 1_577_836_801_999_999, adapter: 0, kind: .packet(.event),
                        payload: hex("0E020100")),
                    CaptureRecord(
                        number: 3, time: 1_577_836_802_000_000, adapter: 0,
                        kind: .log(PacketLoggerType(rawValue: 0xFC)),
                        payload: hex("6869")),
                ])
        }
    }

    @Test(
        arguments: [
            (0x00, .packet(.command)), (0x01, .packet(.event)), (0x02, .packet(.aclSent)),
            (0x03, .packet(.aclReceived)), (0x08, .packet(.synchronousSent)), (0x09, .packet(.synchronousReceived)),
            (0x0A, .other(PacketLoggerType(rawValue: 0x0A))), (0xF7, .log(PacketLoggerType(rawValue: 0xF7))),
            (0xFE, .log(PacketLoggerType(rawValue: 0xFE))), (0x40, .other(PacketLoggerType(rawValue: 0x40))),
        ] as [(UInt8, CaptureRecord.Kind)])
    func theTypeOfAPacketLoggerRecordIsItsKind(type: UInt8, kind: CaptureRecord.Kind) {
        // An unknown type is read, but does not identify the format.
        let file = hex("0000000A 00000000 00000000 00 01") + hex("0000000A 00000000 00000000") + [type, 7]
        #expect(readCapture(file).records.last?.kind == kind)
    }

    @Test func aPacketWithoutAKnownIndicatorIsARecord() throws {
        let bytes = try file(.h4, []) + hex("00000001 00000001 00000000 00000000 00DCDDB30F2F8001 09")
        #expect(
            readCapture(bytes).records
                == [CaptureRecord(number: 1, time: 1, adapter: 0, kind: .unknown, payload: [9])])
    }

    @Test(
        arguments: [
            ("", .empty), ("62", .truncated(record: 0, offset: 0, needed: 16, available: 1)),
            ("6274736E6F6F70", .truncated(record: 0, offset: 0, needed: 16, available: 7)),
            ("6274736E6F6F7000 00000001 0000", .truncated(record: 0, offset: 0, needed: 16, available: 14)),
            ("6274736E6F6F7001 00000001 000007D1", .unknownFormat(hex("6274736E6F6F7001"))),
            ("6274736E6F6F7000 00000002 000007D1", .unsupportedVersion(2)),
            ("6274736E6F6F7000 00000001 000003EB", .unsupportedDatalink(BTSnoopDatalink(rawValue: 1003))),
            ("0A0D0D0A 1C000000 4D3C2B1A 01000000", .unknownFormat(hex("0A0D0D0A 1C000000"))),
            ("68656C6C6F", .unknownFormat(hex("68656C6C6F"))),
            (
                "6274736E6F6F7000 00000001 000007D1 00000001 7FFFFFFF",
                .invalidLength(record: 1, offset: 16, 0x7FFF_FFFF + 24)
            ),
            (
                "0000000A 00000000 00000000 00 01 00000003",
                .invalidLength(record: 2, offset: 14, 3)
            ),
            (
                "0000000A 00000000 00000000 00 01 0000000A 0000",
                .truncated(record: 2, offset: 14, needed: 14, available: 6)
            ),
        ] as [(String, CaptureError)])
    func otherBytesAreRefused(text: String, error: CaptureError) {
        #expect(readCapture(hex(text)).end == error)
        #expect(readCapture(hex(text), inPiecesOf: 1).end == error)
    }

    @Test(arguments: [bigEndian, littleEndian]) func everyTruncationGivesTheRecordsBeforeIt(_ file: [UInt8]) {
        let boundaries = [16, 33, 48]
        for count in 1..<file.count {
            let (records, _, end) = readCapture(Array(file.prefix(count)))
            #expect(records.count == boundaries.filter { $0 <= count }.count)
            #expect((end == nil) == boundaries.contains(count))
        }
    }

    @Test(arguments: [bigEndian, littleEndian]) func noChangedByteStopsTheProgram(_ file: [UInt8]) {
        for changed in mutations(of: file) {
            var decoder = CaptureDecoder()
            for record in readCapture(changed).records { _ = decoder.decode(record) }
        }
    }
}
