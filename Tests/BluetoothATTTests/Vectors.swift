import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

/// The bytes and the description of a PDU.
struct Vector: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let text: String
    var testDescription: String { text }

    init(_ bytes: String, _ text: String) {
        self.bytes = hex(bytes)
        self.text = text
    }
}

/// Every PDU a client sends, in the order of Core Vol 3 Part F §3.4.
let clientVectors = [
    // §3.4.2.1
    Vector("02 0002", "Exchange MTU Request client receive MTU 512"),
    // §3.4.3.1
    Vector("04 0100 FFFF", "Find Information Request handles 0x0001-0xFFFF"),
    Vector("04 0800 0300", "Find Information Request handles 0x0008-0x0003"),
    // §3.4.3.3
    Vector("06 0100 FFFF 0028 0D18", "Find By Type Value Request handles 0x0001-0xFFFF type 2800 value 0D18"),
    Vector("06 0100 FFFF 0028", "Find By Type Value Request handles 0x0001-0xFFFF type 2800 value -"),
    // §3.4.4.1
    Vector("08 0100 0500 0328", "Read By Type Request handles 0x0001-0x0005 type 2803"),
    Vector(
        "08 0100 FFFF 9ECADC240EE5A9E093F3A3B50100406E",
        "Read By Type Request handles 0x0001-0xFFFF type 6E400001-B5A3-F393-E0A9-E50E24DCCA9E"),
    // §3.4.4.3
    Vector("0A 0300", "Read Request handle 0x0003"),
    // §3.4.4.5
    Vector("0C 0300 1600", "Read Blob Request handle 0x0003 offset 22"),
    // §3.4.4.7
    Vector("0E 0300 0700", "Read Multiple Request handles [0x0003, 0x0007]"),
    Vector("0E 0300 0700 0300", "Read Multiple Request handles [0x0003, 0x0007, 0x0003]"),
    // §3.4.4.9
    Vector("10 0100 FFFF 0028", "Read By Group Type Request handles 0x0001-0xFFFF group type 2800"),
    Vector(
        "10 0100 FFFF 9ECADC240EE5A9E093F3A3B50100406E",
        "Read By Group Type Request handles 0x0001-0xFFFF group type 6E400001-B5A3-F393-E0A9-E50E24DCCA9E"),
    // §3.4.4.11
    Vector("20 0300 0700", "Read Multiple Variable Request handles [0x0003, 0x0007]"),
    // §3.4.5.1
    Vector("12 0400 0100", "Write Request handle 0x0004 value 0100"),
    Vector("12 0400", "Write Request handle 0x0004 value -"),
    // §3.4.5.3
    Vector("52 0400 AABBCC", "Write Command handle 0x0004 value AABBCC"),
    Vector("52 0400", "Write Command handle 0x0004 value -"),
    // §3.4.5.4
    Vector(
        "D2 0400 AABB 07000000 EFCDAB8967452301",
        "Signed Write Command handle 0x0004 value AABB signature counter 7, code 0x0123456789ABCDEF"),
    Vector(
        "D2 0400 FFFFFFFF 0000000000000000",
        "Signed Write Command handle 0x0004 value - signature counter 4294967295, code 0x0000000000000000"),
    // §3.4.6.1
    Vector("16 0300 0200 0102", "Prepare Write Request handle 0x0003 offset 2 value 0102"),
    Vector("16 0300 0000", "Prepare Write Request handle 0x0003 offset 0 value -"),
    // §3.4.6.3
    Vector("18 00", "Execute Write Request flags cancel all"),
    Vector("18 01", "Execute Write Request flags write all"),
    Vector("18 02", "Execute Write Request flags unknown flags 0x02"),
    // §3.4.7.3
    Vector("1E", "Handle Value Confirmation"),
    // §3.3.1: not assigned, without and with the command flag
    Vector("3F 0102", "Unknown Opcode 0x3F parameters 0102"),
    Vector("7F", "Unknown Opcode 0x7F parameters -"),
    Vector("92 0400", "Unknown Opcode 0x92 parameters 0400"),
]

/// Every PDU a server sends, in the order of Core Vol 3 Part F §3.4.
let serverVectors = [
    // §3.4.1.1
    Vector("01 0A 0300 02", "Error Response request Read Request handle 0x0003 code Read Not Permitted (0x02)"),
    Vector(
        "01 3F 0000 06", "Error Response request Unknown Opcode 0x3F handle 0x0000 code Request Not Supported (0x06)"),
    Vector("01 12 0300 80", "Error Response request Write Request handle 0x0003 code Application Error (0x80)"),
    // §3.4.2.2
    Vector("03 1700", "Exchange MTU Response server receive MTU 23"),
    // §3.4.3.2
    Vector("05 01 0100 0028 0200 0328", "Find Information Response information [0x0001: 2800, 0x0002: 2803]"),
    Vector(
        "05 02 0300 9ECADC240EE5A9E093F3A3B50100406E",
        "Find Information Response information [0x0003: 6E400001-B5A3-F393-E0A9-E50E24DCCA9E]"),
    Vector(
        "05 02 0300 FB349B5F80000080001000000D180000", "Find Information Response information [0x0003: 180D]"),
    // §3.4.3.4
    Vector(
        "07 0100 0700 1000 FFFF", "Find By Type Value Response handles [0x0001-0x0007, 0x0010-0xFFFF]"),
    // §3.4.4.2
    Vector(
        "09 07 0200 020300002A 0400 020500012A",
        "Read By Type Response data [0x0002: 020300002A, 0x0004: 020500012A]"),
    Vector("09 02 0200 0300", "Read By Type Response data [0x0002: -, 0x0003: -]"),
    // §3.4.4.4
    Vector("0B 426C7565", "Read Response value 426C7565"),
    Vector("0B", "Read Response value -"),
    // §3.4.4.6
    Vector("0D 746F6F7468", "Read Blob Response value 746F6F7468"),
    Vector("0D", "Read Blob Response value -"),
    // §3.4.4.8
    Vector("0F 010203", "Read Multiple Response values 010203"),
    Vector("0F", "Read Multiple Response values -"),
    // §3.4.4.10
    Vector(
        "11 06 0100 0500 0018 0600 FFFF 0D18",
        "Read By Group Type Response data [0x0001-0x0005: 0018, 0x0006-0xFFFF: 0D18]"),
    Vector("11 04 0100 0500", "Read By Group Type Response data [0x0001-0x0005: -]"),
    // §3.4.4.12, the last value whole, cut, and with a cut length
    Vector("21 0100 AA 0200 BBCC", "Read Multiple Variable Response values [AA, BBCC]"),
    Vector("21 0100 AA 0500 BBCC", "Read Multiple Variable Response values [AA, BBCC… (5 bytes)]"),
    Vector("21 0100 AA 05", "Read Multiple Variable Response values [AA]"),
    Vector("21 0000 0000", "Read Multiple Variable Response values [-, -]"),
    // §3.4.5.2
    Vector("13", "Write Response"),
    // §3.4.6.2
    Vector("17 0300 0200 0102", "Prepare Write Response handle 0x0003 offset 2 value 0102"),
    // §3.4.6.4
    Vector("19", "Execute Write Response"),
    // §3.4.7.1
    Vector("1B 0300 0648", "Handle Value Notification handle 0x0003 value 0648"),
    Vector("1B 0300", "Handle Value Notification handle 0x0003 value -"),
    // §3.4.7.2
    Vector("1D 0300 0100FFFF", "Handle Value Indication handle 0x0003 value 0100FFFF"),
    // §3.4.7.4
    Vector(
        "23 0300 0200 0648 0700 0000", "Multiple Handle Value Notification values [0x0003: 0648, 0x0007: -]"),
    // §3.3.1: not assigned
    Vector("25 0102", "Unknown Opcode 0x25 parameters 0102"),
]

let allVectors = clientVectors + serverVectors

/// Decodes a PDU and encodes it again into a writer of exactly its size.
func reencodedByClient(_ bytes: [UInt8]) throws -> [UInt8] {
    let pdu = try ATTClientPDU(decoding: bytes.span.bytes)
    var writer = ByteWriter(capacity: bytes.count)
    try pdu.encode(into: &writer)
    return writer.bytes
}

/// Decodes a PDU and encodes it again into a writer of exactly its size.
func reencodedByServer(_ bytes: [UInt8]) throws -> [UInt8] {
    let pdu = try ATTServerPDU(decoding: bytes.span.bytes)
    var writer = ByteWriter(capacity: bytes.count)
    try pdu.encode(into: &writer)
    return writer.bytes
}
