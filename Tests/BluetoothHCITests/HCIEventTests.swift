import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

/// An event's packet with its description.
struct EventVector: CustomTestStringConvertible, Sendable {
    var packet: [UInt8]
    var description: String

    init(_ packet: String, _ description: String) {
        self.packet = hex(packet)
        self.description = description
    }

    var testDescription: String { description }
}

private func describe(_ packet: [UInt8]) throws(HCIDecodingError) -> String {
    try HCIEvent(decoding: packet.span.bytes).description
}

let eventVectors: [EventVector] = [
    EventVector(
        "04 05 04 00 4000 13", "Disconnection Complete: handle 0x0040, remote user terminated the connection (0x13)"),
    EventVector("04 08 04 00 4000 01", "Encryption Change: handle 0x0040, encrypted"),
    EventVector(
        "04 0e 04 01 030c 00", "Command Complete: Reset, success (0x00), 00"),
    EventVector("04 0e 03 01 0000", "Command Complete: No Operation, no answer, "),
    EventVector("04 0f 04 0c 01 0b20", "Command Status: LE Set Scan Parameters, command disallowed (0x0C)"),
    EventVector("04 10 01 42", "Hardware Error: 0x42"),
    EventVector("04 13 09 02 4000 0300 4100 0100", "Number Of Completed Packets: handle 0x0040 3, handle 0x0041 1"),
    EventVector("04 fd 06 0100 0100 0200", "Stack Internal: hci2 registered"),
    EventVector("04 fd 02 0200", "Stack Internal: 0200"),
    EventVector("04 30 03 00 4000", "Encryption Key Refresh Complete: 004000"),
    EventVector(
        "04 3e 13 01 00 4000 00 01 563412e598c0 1800 0000 2a00 00",
        "LE Connection Complete: handle 0x0040, central, peer C0:98:E5:12:34:56 (random), "
            + "interval 24 x 1.25 ms, latency 0, supervision timeout 42 x 10 ms"),
    EventVector(
        "04 3e 13 01 3e 0000 00 00 000000000000 0000 0000 0000 00",
        "LE Connection Complete: connection failed to be established (0x3E)"),
    EventVector(
        "04 3e 1f 0a 00 4000 01 03 563412e598c0 000000000000 aabbccddee4f 1800 0000 2a00 01",
        "LE Enhanced Connection Complete: handle 0x0040, peripheral, peer C0:98:E5:12:34:56 (random identity), "
            + "interval 24 x 1.25 ms, latency 0, supervision timeout 42 x 10 ms"),
    EventVector(
        "04 3e 0f 02 01 00 01 563412e598c0 03 020106 c4",
        "LE Advertising Report: C0:98:E5:12:34:56 (random), connectable, scannable, legacy, RSSI -60 dBm, 020106"),
    EventVector(
        "04 3e 12 0b 01 01 00 554433221100 fe 563412e5984f c4",
        "LE Directed Advertising Report: 00:11:22:33:44:55 (public), connectable, directed, legacy, "
            + "RSSI -60 dBm, to 4F:98:E5:12:34:56 (random), "
    ),
    EventVector(
        "04 3e 1d 0d 01 1300 01 563412e598c0 01 00 ff 7f c4 0000 00 000000000000 03 020106",
        "LE Extended Advertising Report: C0:98:E5:12:34:56 (random), connectable, scannable, legacy, RSSI -60 dBm, 020106"
    ),
    EventVector(
        "04 3e 0a 03 00 4000 0600 0000 0a00",
        "LE Connection Update Complete: handle 0x0040, success (0x00), interval 6 x 1.25 ms, latency 0, "
            + "supervision timeout 10 x 10 ms"),
    EventVector(
        "04 3e 0c 04 00 4000 2101000000000000",
        "LE Read Remote Features Complete: handle 0x0040, success (0x00), "
            + "encryption, data packet length extension, LE 2M"),
    EventVector(
        "04 3e 0b 06 4000 1800 2800 0000 2a00",
        "LE Remote Connection Parameter Request: handle 0x0040, interval 24-40 x 1.25 ms, latency 0, "
            + "supervision timeout 42 x 10 ms"),
    EventVector(
        "04 3e 0b 07 4000 fb00 4808 1b00 4801",
        "LE Data Length Change: handle 0x0040, transmit 251 bytes 2120 µs, receive 27 bytes 328 µs"),
    EventVector(
        "04 3e 06 0c 00 4000 02 01",
        "LE PHY Update Complete: handle 0x0040, success (0x00), transmit LE 2M, receive LE 1M"),
    EventVector("04 3e 01 11", "LE Scan Timeout"),
    EventVector("04 3e 06 12 00 01 4000 00", "LE Advertising Set Terminated: set 1, connected as 0x0040"),
    EventVector("04 3e 06 12 3c 01 0000 05", "LE Advertising Set Terminated: set 1, advertising timeout (0x3C)"),
    EventVector("04 3e 04 14 4000 01", "LE Channel Selection Algorithm: 400001"),
    EventVector("04 c7 02 0102", "event 0xC7: 0102"),
]

@Suite("HCI events (Core Vol 4 Part E §7.7)")
struct HCIEventTests {
    @Test("decode and describe themselves", arguments: eventVectors)
    func decoding(_ vector: EventVector) throws {
        #expect(try describe(vector.packet) == vector.description)
    }

    @Test("encode to the bytes they were decoded from", arguments: eventVectors)
    func encoding(_ vector: EventVector) throws {
        let event = try HCIEvent(decoding: vector.packet.span.bytes)
        let packet = try event.packet()
        #expect(packet.hexadecimal == vector.packet.hexadecimal)
    }

    @Test("every truncation is refused and no changed byte traps", arguments: eventVectors)
    func malformed(_ vector: EventVector) {
        for length in 0..<vector.packet.count {
            #expect(throws: HCIDecodingError.self) {
                try describe(Array(vector.packet[..<length]))
            }
        }
        for packet in mutations(of: vector.packet) {
            guard let event = try? HCIEvent(decoding: packet.span.bytes) else { continue }
            _ = event.description
            _ = try? event.packet()
            if case .commandComplete(let complete) = event { _ = try? HCIReturnParameters(decoding: complete) }
            if case .leMeta(.advertisingReports(let reports)) = event {
                var reports = reports
                while let report = try? reports.next() { _ = report.description }
                #expect(reports.remainingCount == 0)
            }
        }
    }

    @Test("parameters appended by later versions are ignored")
    func appendedParameters() throws {
        let packet = hex("04 05 06 00 4000 13 aabb")
        guard case .disconnectionComplete(let event) = try HCIEvent(decoding: packet.span.bytes) else {
            Issue.record("not a Disconnection Complete")
            return
        }
        #expect(event == HCIDisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection))
    }

    @Test("other packets are refused by their type")
    func otherPackets() {
        let packet = hex("02 05 04 00 4000 13")
        #expect(throws: HCIDecodingError.unexpectedPacketType(.acl)) {
            try describe(packet)
        }
    }

    @Test("enhanced connections have the private addresses in use (§7.7.65.10)")
    func enhancedConnection() throws {
        let packet = hex("04 3e 1f 0a 00 4000 01 03 563412e598c0 000000000000 aabbccddee4f 1800 0000 2a00 01")
        guard case .leMeta(.enhancedConnectionComplete(let event)) = try HCIEvent(decoding: packet.span.bytes) else {
            Issue.record("not an Enhanced Connection Complete")
            return
        }
        #expect(event.role == .peripheral)
        #expect(event.peer.isResolvedIdentity)
        #expect(event.localResolvablePrivateAddress == nil)
        #expect(event.peerResolvablePrivateAddress == BluetoothAddress("4F:EE:DD:CC:BB:AA", kind: .random))
    }

    @Test("completed packets have a count for every connection")
    func completedPackets() throws {
        let packet = try HCICompletedPackets.packet([(0x40, 3), (0x41, 1)])
        #expect(packet.hexadecimal == hex("04 13 09 02 4000 0300 4100 0100").hexadecimal)
        #expect(throws: BufferFull.self) {
            try HCICompletedPackets.packet([(handle: ConnectionHandle, count: UInt16)](repeating: (0, 0), count: 64))
        }
    }

    @Test("status codes have a name and a value, unnamed ones too")
    func statuses() {
        #expect("\(HCIStatus.connectionTimeout)" == "connection timeout (0x08)")
        #expect("\(HCIStatus(rawValue: 0xEE))" == "unknown status (0xEE)")
        for value in UInt8.min...UInt8.max { #expect(!HCIStatus(rawValue: value).description.isEmpty) }
    }
}

@Suite("Return parameters of HCI commands (Core Vol 4 Part E §7)")
struct HCIReturnParametersTests {
    static let support = HCICommandSupport([.leSetExtendedScanParameters, .leSetExtendedScanEnable])
    static let supportBytes =
        String(repeating: "00", count: 37) + "60" + String(repeating: "00", count: 26)
    static let vectors: [(HCIOpcode, HCIReturnParameters, String)] = [
        (.reset, .status(.success), "04 0e 04 01 030c 00"),
        (.leSetScanEnable, .status(.commandDisallowed), "04 0e 04 01 0c20 0c"),
        (
            .readLocalVersionInformation,
            .versionInformation(
                HCIVersionInformation(
                    hciVersion: 9, hciSubversion: 0x0102, linkLayerVersion: 9, companyIdentifier: 0x05F1,
                    linkLayerSubversion: 0x0304)), "04 0e 0c 01 0110 00 09 0201 09 f105 0403"
        ),
        (.readLocalSupportedCommands, .supportedCommands(support), "04 0e 44 01 0210 00 \(supportBytes)"),
        (
            .readLocalSupportedFeatures, .supportedFeatures([.brEDRNotSupported, .leSupported]),
            "04 0e 0c 01 0310 00 0000000060000000"
        ),
        (
            .readBDADDR, .address(BluetoothAddress(0x0011_2233_4455, kind: .public)),
            "04 0e 0a 01 0910 00 554433221100"
        ),
        (.readRSSI, .rssi(0x40, -60), "04 0e 07 01 0514 00 4000 c4"),
        (.readRSSI, .rssi(0x40, nil), "04 0e 07 01 0514 00 4000 7f"),
        (.readTransmitPowerLevel, .transmitPower(0x40, -4), "04 0e 07 01 2d0c 00 4000 fc"),
        (.readRSSI, .status(.unknownConnectionIdentifier), "04 0e 04 01 0514 02"),
        (
            .leReadLocalSupportedFeatures, .leFeatures([.encryption, .extendedAdvertising]),
            "04 0e 0c 01 0320 00 0110000000000000"
        ),
        (.leSetDataLength, .dataLengthSet(0x40), "04 0e 06 01 2220 00 4000"),
        (
            .leReadPHY, .phys(LEPHYUpdate(handle: 0x40, transmit: .le2M, receive: .le1M)),
            "04 0e 08 01 3020 00 4000 02 01"
        ),
        (.leSetExtendedAdvertisingParameters, .selectedTransmitPower(-3), "04 0e 05 01 3620 00 fd"),
        (.leReadMaximumAdvertisingDataLength, .maximumAdvertisingDataLength(1650), "04 0e 06 01 3a20 00 7206"),
        (.leReadNumberOfSupportedAdvertisingSets, .numberOfSupportedAdvertisingSets(16), "04 0e 05 01 3b20 00 10"),
    ]

    @Test("encode and decode by command")
    func roundTrips() throws {
        for (opcode, answer, bytes) in Self.vectors {
            #expect(try answer.commandComplete(opcode).hexadecimal == hex(bytes).hexadecimal)
            let packet = hex(bytes)
            guard case .commandComplete(let event) = try HCIEvent(decoding: packet.span.bytes) else {
                Issue.record("not a Command Complete")
                continue
            }
            #expect(event.opcode == opcode)
            let decoded = try HCIReturnParameters(decoding: event)
            #expect(decoded == answer)
        }
    }

    @Test("truncated return parameters are refused and none trap")
    func malformed() throws {
        for (_, answer, bytes) in Self.vectors {
            var short = Array(hex(bytes).dropLast())
            short[2] -= 1
            let event = try HCIEvent(decoding: short.span.bytes)
            guard case .commandComplete(let complete) = event else { continue }
            if case .status = answer, short.count > 6 { continue }
            #expect(throws: HCIDecodingError.self) { _ = try HCIReturnParameters(decoding: complete) }
        }
        for (_, _, bytes) in Self.vectors {
            for packet in mutations(of: hex(bytes)) {
                guard case .commandComplete(let complete)? = try? HCIEvent(decoding: packet.span.bytes) else {
                    continue
                }
                _ = try? HCIReturnParameters(decoding: complete)
            }
        }
    }

    @Test("the kernel's choice of commands follows from three separate bits")
    func families() {
        #expect(HCICommandSupport().scanFamily == .legacy)
        #expect(HCICommandSupport([.leSetExtendedScanParameters]).scanFamily == .legacy)
        #expect(Self.support.scanFamily == .extended)
        #expect(Self.support.connectFamily == .legacy)
        #expect(HCICommandSupport([.leExtendedCreateConnection]).connectFamily == .extended)
        #expect(LEFeatures.extendedAdvertising.advertisingFamily == .extended)
        #expect(LEFeatures.le2M.advertisingFamily == .legacy)
    }

    @Test("bits outside the mask are ignored")
    func outside() {
        var support = HCICommandSupport()
        for bit in [
            HCICommandSupport.Bit(octet: 64, bit: 0), HCICommandSupport.Bit(octet: -1, bit: 0),
            HCICommandSupport.Bit(octet: 0, bit: 8), HCICommandSupport.Bit(octet: 0, bit: -1),
        ] {
            support.insert(bit)
            #expect(!support.contains(bit))
        }
        #expect(support == HCICommandSupport())
    }
}
