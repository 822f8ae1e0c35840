import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

/// A PDU of an exchange: its direction, its bytes and its description.
struct Line: Sendable {
    enum Speaker: Sendable { case client, server }
    let speaker: Speaker
    let bytes: [UInt8]
    let text: String
}

private func client(_ bytes: String, _ text: String) -> Line { Line(speaker: .client, bytes: hex(bytes), text: text) }
private func server(_ bytes: String, _ text: String) -> Line { Line(speaker: .server, bytes: hex(bytes), text: text) }

/// The PDUs of a GATT procedure in the order they are sent (Core Vol 3 Part G §4).
struct Exchange: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let lines: [Line]

    init(_ name: String, _ lines: Line...) {
        testDescription = name
        self.lines = lines
    }
}

private let exchanges = [
    Exchange(
        "Exchange MTU (Part G §4.3.1)",
        client("02 0502", "Exchange MTU Request client receive MTU 517"),
        server("03 F700", "Exchange MTU Response server receive MTU 247")),
    Exchange(
        "Exchange MTU with a server that does not support it (Part G §4.3.1)",
        client("02 0502", "Exchange MTU Request client receive MTU 517"),
        server(
            "01 02 0000 06",
            "Error Response request Exchange MTU Request handle 0x0000 code Request Not Supported (0x06)")),
    Exchange(
        "Discover All Primary Services (Part G §4.4.1)",
        client("10 0100 FFFF 0028", "Read By Group Type Request handles 0x0001-0xFFFF group type 2800"),
        server(
            "11 06 0100 0500 0018 0600 0900 0118 0A00 0F00 0D18",
            "Read By Group Type Response data [0x0001-0x0005: 0018, 0x0006-0x0009: 0118, 0x000A-0x000F: 0D18]"),
        client("10 1000 FFFF 0028", "Read By Group Type Request handles 0x0010-0xFFFF group type 2800"),
        server(
            "11 14 1000 1500 9ECADC240EE5A9E093F3A3B50100406E",
            "Read By Group Type Response data [0x0010-0x0015: 9ECADC240EE5A9E093F3A3B50100406E]"),
        client("10 1600 FFFF 0028", "Read By Group Type Request handles 0x0016-0xFFFF group type 2800"),
        server(
            "01 10 1600 0A",
            "Error Response request Read By Group Type Request handle 0x0016 code Attribute Not Found (0x0A)")),
    Exchange(
        "Discover Primary Service by Service UUID (Part G §4.4.2)",
        client(
            "06 0100 FFFF 0028 0D18", "Find By Type Value Request handles 0x0001-0xFFFF type 2800 value 0D18"),
        server("07 0A00 0F00", "Find By Type Value Response handles [0x000A-0x000F]"),
        client(
            "06 1000 FFFF 0028 0D18", "Find By Type Value Request handles 0x0010-0xFFFF type 2800 value 0D18"),
        server(
            "01 06 1000 0A",
            "Error Response request Find By Type Value Request handle 0x0010 code Attribute Not Found (0x0A)")),
    Exchange(
        "Find Included Services (Part G §4.5.1)",
        client("08 0A00 0F00 0228", "Read By Type Request handles 0x000A-0x000F type 2802"),
        server("09 08 0B00 2000 2500 0F18", "Read By Type Response data [0x000B: 200025000F18]"),
        client("08 0C00 0F00 0228", "Read By Type Request handles 0x000C-0x000F type 2802"),
        server(
            "01 08 0C00 0A",
            "Error Response request Read By Type Request handle 0x000C code Attribute Not Found (0x0A)")),
    Exchange(
        "Discover All Characteristics of a Service (Part G §4.6.1)",
        client("08 0A00 0F00 0328", "Read By Type Request handles 0x000A-0x000F type 2803"),
        server(
            "09 07 0B00 10 0C00 372A 0E00 02 0F00 382A",
            "Read By Type Response data [0x000B: 100C00372A, 0x000E: 020F00382A]"),
        client("08 0F00 0F00 0328", "Read By Type Request handles 0x000F-0x000F type 2803"),
        server(
            "01 08 0F00 0A",
            "Error Response request Read By Type Request handle 0x000F code Attribute Not Found (0x0A)")),
    Exchange(
        "Discover All Characteristic Descriptors (Part G §4.7.1)",
        client("04 0D00 0D00", "Find Information Request handles 0x000D-0x000D"),
        server("05 01 0D00 0229", "Find Information Response information [0x000D: 2902]")),
    Exchange(
        "Read Characteristic Value that requires an encrypted link (Part G §4.8.1)",
        client("0A 0300", "Read Request handle 0x0003"),
        server(
            "01 0A 0300 0F",
            "Error Response request Read Request handle 0x0003 code Insufficient Encryption (0x0F)"),
        client("0A 0300", "Read Request handle 0x0003"),
        server("0B 53776966 74", "Read Response value 5377696674")),
    Exchange(
        "Read Using Characteristic UUID (Part G §4.8.2)",
        client("08 0100 FFFF 002A", "Read By Type Request handles 0x0001-0xFFFF type 2A00"),
        server("09 07 0300 5377696674", "Read By Type Response data [0x0003: 5377696674]")),
    Exchange(
        "Read Long Characteristic Values (Part G §4.8.3)",
        client("0A 0300", "Read Request handle 0x0003"),
        server(
            "0B 000102030405060708090A0B0C0D0E0F101112131415",
            "Read Response value 000102030405060708090A0B0C0D0E0F101112131415"),
        client("0C 0300 1600", "Read Blob Request handle 0x0003 offset 22"),
        server("0D 1617", "Read Blob Response value 1617")),
    Exchange(
        "Read Multiple Characteristic Values (Part G §4.8.4)",
        client("0E 0300 0500", "Read Multiple Request handles [0x0003, 0x0005]"),
        server("0F 0102 03", "Read Multiple Response values 010203")),
    Exchange(
        "Read Multiple Variable Length Characteristic Values (Part G §4.8.5)",
        client("20 0300 0500", "Read Multiple Variable Request handles [0x0003, 0x0005]"),
        server("21 0200 0102 0100 03", "Read Multiple Variable Response values [0102, 03]")),
    Exchange(
        "Write Without Response, plain and signed (Part G §4.9.1, §4.9.2)",
        client("52 1200 2B", "Write Command handle 0x0012 value 2B"),
        client(
            "D2 1200 2B 01000000 F0DEBC9A78563412",
            "Signed Write Command handle 0x0012 value 2B signature counter 1, code 0x123456789ABCDEF0")),
    Exchange(
        "Write Long Characteristic Values (Part G §4.9.4)",
        client("16 0300 0000 0001", "Prepare Write Request handle 0x0003 offset 0 value 0001"),
        server("17 0300 0000 0001", "Prepare Write Response handle 0x0003 offset 0 value 0001"),
        client("16 0300 0200 02", "Prepare Write Request handle 0x0003 offset 2 value 02"),
        server("17 0300 0200 02", "Prepare Write Response handle 0x0003 offset 2 value 02"),
        client("18 01", "Execute Write Request flags write all"),
        server("19", "Execute Write Response")),
    Exchange(
        "Notifications after writing the configuration (Part G §4.10.1)",
        client("12 0D00 0100", "Write Request handle 0x000D value 0100"),
        server("13", "Write Response"),
        server("1B 0C00 0648", "Handle Value Notification handle 0x000C value 0648"),
        server(
            "23 0C00 0200 0648 1200 0100 64",
            "Multiple Handle Value Notification values [0x000C: 0648, 0x0012: 64]")),
    Exchange(
        "Service Changed is indicated (Part G §4.11.1, §7.1)",
        server("1D 0800 0A00FFFF", "Handle Value Indication handle 0x0008 value 0A00FFFF"),
        client("1E", "Handle Value Confirmation")),
    Exchange(
        "A request the server does not support (Core Vol 3 Part F §3.3)",
        client("3E 00", "Unknown Opcode 0x3E parameters 00"),
        server(
            "01 3E 0000 06",
            "Error Response request Unknown Opcode 0x3E handle 0x0000 code Request Not Supported (0x06)")),
]

@Suite("Exchanges of the GATT procedures")
struct ExchangeTests {
    @Test("The opcode determines the direction, and every PDU encodes to its bytes", arguments: exchanges)
    func readAndWritten(_ exchange: Exchange) throws {
        for line in exchange.lines {
            let opcode = ATTOpcode(of: line.bytes.span.bytes)
            switch try #require(opcode).direction {
            case .clientToServer:
                #expect(line.speaker == .client)
                let text = try ATTClientPDU(decoding: line.bytes.span.bytes).description
                #expect(text == line.text)
                #expect(try reencodedByClient(line.bytes) == line.bytes)
            case .serverToClient:
                #expect(line.speaker == .server)
                let text = try ATTServerPDU(decoding: line.bytes.span.bytes).description
                #expect(text == line.text)
                #expect(try reencodedByServer(line.bytes) == line.bytes)
            }
            #expect(line.bytes.count <= AttributeProtocol.defaultMTU)
        }
    }

    @Test("A request is answered with its own response or an Error Response to it", arguments: exchanges)
    func answers(_ exchange: Exchange) throws {
        var pending: ATTOpcode?
        for line in exchange.lines {
            let opcode = ATTOpcode(line.bytes[0])
            switch opcode.type {
            case .request, .indication:
                #expect(pending == nil)
                pending = opcode
            case .response, .confirmation:
                let request = try #require(pending)
                if case .errorResponse(let error) = try ATTServerPDU(decoding: line.bytes.span.bytes) {
                    #expect(error.requestOpcode == request)
                } else {
                    #expect(opcode == request.answer)
                }
                pending = nil
            case .command, .notification:
                break
            }
        }
        #expect(pending == nil)
    }
}
