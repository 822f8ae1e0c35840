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
    try HCIPacketType.text(of: packet.span.bytes, isEvent: true)
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

/// Decodes an event of a type and encodes it; nil for another event.
private func encoder<Event: HCIEvent>(_ type: Event.Type) -> @Sendable ([UInt8]) throws -> [UInt8]? {
    { packet in try HCIEventPacket(decoding: packet.span.bytes).as(type)?.packet() }
}

private let encoders: [@Sendable ([UInt8]) throws -> [UInt8]?] = [
    encoder(HCIDisconnectionComplete.self), encoder(HCIEncryptionChange.self), encoder(HCICommandStatus.self),
    encoder(HCIHardwareError.self), encoder(LEConnectionComplete.self), encoder(LEConnectionUpdateComplete.self),
    encoder(LERemoteFeatures.self), encoder(LERemoteConnectionParameterRequest.self),
    encoder(LEDataLengthChange.self), encoder(LEEnhancedConnectionComplete.self), encoder(LEPHYUpdate.self),
    encoder(LEScanTimeout.self), encoder(LEAdvertisingSetTerminated.self),
    { packet in try HCIEventPacket(decoding: packet.span.bytes).commandComplete()?.packet() },
]

/// Decodes an event and encodes it; nil for one that is only borrowed or has no type.
private func encoded(_ packet: [UInt8]) throws -> [UInt8]? {
    for encode in encoders { if let encoded = try encode(packet) { return encoded } }
    return nil
}

@Suite("HCI events (Core Vol 4 Part E §7.7)")
struct HCIEventTests {
    @Test("decode and describe themselves", arguments: eventVectors)
    func decoding(_ vector: EventVector) throws {
        #expect(try describe(vector.packet) == vector.description)
    }

    @Test("encode to the bytes they were decoded from", arguments: eventVectors)
    func encoding(_ vector: EventVector) throws {
        guard let packet = try encoded(vector.packet) else { return }
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
            _ = HCIPacketType.description(of: packet.span.bytes)
            _ = try? encoded(packet)
            guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { continue }
            if var reports = try? event.advertisingReports() {
                while let report = try? reports.next() { _ = report.description }
                #expect(reports.remainingCount == 0)
            }
        }
    }

    @Test("parameters appended by later versions are ignored")
    func appendedParameters() throws {
        let packet = hex("04 05 06 00 4000 13 aabb")
        let event = try HCIEventPacket(decoding: packet.span.bytes).as(HCIDisconnectionComplete.self)
        #expect(event == HCIDisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection))
    }

    @Test("an event is no other event")
    func otherEvents() throws {
        let device = try HCIEventPacket(decoding: hex("04 fd 06 0100 0100 0200").span.bytes).deviceEvent()
        #expect(device == HCIDeviceEvent(.registered, deviceIndex: 2))
        let packet = hex("04 fe 06 0100 0100 0200")
        let event = try HCIEventPacket(decoding: packet.span.bytes)
        let (deviceEvent, complete) = (try event.deviceEvent(), try event.commandComplete()?.opcode)
        let isCompletedPackets = try event.completedPackets() != nil
        #expect(deviceEvent == nil && complete == nil && !isCompletedPackets)
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
        let event = try #require(try HCIEventPacket(decoding: packet.span.bytes).connectionComplete())
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

/// Return parameters with their event.
struct ReturnVector: CustomTestStringConvertible, Sendable {
    var packet: [UInt8]
    var testDescription: String
    var encode: @Sendable () throws -> [UInt8]
    /// Decodes an event; returns whether it has the return parameters.
    var decode: @Sendable ([UInt8]) throws -> Bool

    init<Command: HCICommand>(_ command: Command.Type, _ answer: Command.Return, _ packet: String) {
        self.packet = hex(packet)
        testDescription = "\(Command.opcode)"
        encode = { try Command.complete(answer) }
        decode = { bytes in
            guard let complete = try HCIEventPacket(decoding: bytes.span.bytes).commandComplete(),
                complete.opcode == Command.opcode
            else { return false }
            return try complete.answer(to: command) == answer
        }
    }
}

@Suite("Return parameters of HCI commands (Core Vol 4 Part E §7)")
struct HCIReturnParametersTests {
    static let support = HCICommandSupport([.leSetExtendedScanParameters, .leSetExtendedScanEnable])
    static let supportBytes =
        String(repeating: "00", count: 37) + "60" + String(repeating: "00", count: 26)
    static let vectors: [ReturnVector] = [
        ReturnVector(HCIReset.self, HCINoParameters(), "04 0e 04 01 030c 00"),
        ReturnVector(
            HCIReadLocalVersionInformation.self,
            HCIVersionInformation(
                hciVersion: 9, hciSubversion: 0x0102, linkLayerVersion: 9, companyIdentifier: 0x05F1,
                linkLayerSubversion: 0x0304), "04 0e 0c 01 0110 00 09 0201 09 f105 0403"),
        ReturnVector(HCIReadLocalSupportedCommands.self, support, "04 0e 44 01 0210 00 \(supportBytes)"),
        ReturnVector(
            HCIReadLocalSupportedFeatures.self, [.brEDRNotSupported, .leSupported],
            "04 0e 0c 01 0310 00 0000000060000000"),
        ReturnVector(
            HCIReadBDADDR.self, BluetoothAddress(0x0011_2233_4455, kind: .public), "04 0e 0a 01 0910 00 554433221100"),
        ReturnVector(HCIReadRSSI.self, HCILinkPower(handle: 0x40, power: -60), "04 0e 07 01 0514 00 4000 c4"),
        ReturnVector(HCIReadRSSI.self, HCILinkPower(handle: 0x40, power: nil), "04 0e 07 01 0514 00 4000 7f"),
        ReturnVector(
            HCIReadTransmitPowerLevel.self, HCILinkPower(handle: 0x40, power: -4), "04 0e 07 01 2d0c 00 4000 fc"),
        ReturnVector(
            LEReadLocalSupportedFeatures.self, [.encryption, .extendedAdvertising],
            "04 0e 0c 01 0320 00 0110000000000000"),
        ReturnVector(LESetDataLength.self, 0x40, "04 0e 06 01 2220 00 4000"),
        ReturnVector(
            LEReadPHY.self, LELinkPHYs(handle: 0x40, transmit: .le2M, receive: .le1M),
            "04 0e 08 01 3020 00 4000 02 01"),
        ReturnVector(LESetExtendedAdvertisingParameters.self, -3, "04 0e 05 01 3620 00 fd"),
        ReturnVector(LEReadMaximumAdvertisingDataLength.self, 1650, "04 0e 06 01 3a20 00 7206"),
        ReturnVector(LEReadNumberOfSupportedAdvertisingSets.self, 16, "04 0e 05 01 3b20 00 10"),
        ReturnVector(
            LEReadBufferSize.self, LEReadBufferSize.Return(packetLength: 251, count: 8),
            "04 0e 07 01 0220 00 fb00 08"),
        ReturnVector(LEReadSupportedStates.self, 0x3FF_FFFF_FFFF, "04 0e 0c 01 1c20 00 ffffffffff030000"),
        ReturnVector(LEReadFilterAcceptListSize.self, 16, "04 0e 05 01 0f20 00 10"),
        ReturnVector(
            LEReadMaximumDataLength.self,
            LEDataLength(transmitOctets: 251, transmitTime: 2120, receiveOctets: 251, receiveTime: 2120),
            "04 0e 0c 01 2f20 00 fb00 4808 fb00 4808"),
        ReturnVector(
            LEReadTransmitPower.self, LEReadTransmitPower.Return(minimum: -20, maximum: 4),
            "04 0e 06 01 4b20 00 ec 04"),
    ]

    @Test("encode and decode by command", arguments: vectors)
    func roundTrips(_ vector: ReturnVector) throws {
        #expect(try vector.encode().hexadecimal == vector.packet.hexadecimal)
        #expect(try vector.decode(vector.packet))
    }

    @Test("a failed command returns its status only")
    func failures() throws {
        let bytes = hex("04 0e 04 01 0514 02")
        #expect(try HCIReadRSSI.opcode.complete(.unknownConnectionIdentifier).hexadecimal == bytes.hexadecimal)
        let complete = try HCIEventPacket(decoding: bytes.span.bytes).commandComplete()
        let status = complete?.status
        #expect(status == .unknownConnectionIdentifier)
    }

    @Test("truncated return parameters are refused and none trap", arguments: vectors)
    func malformed(_ vector: ReturnVector) throws {
        if vector.packet.count > 7 {
            var short = Array(vector.packet.dropLast())
            short[2] -= 1
            #expect(throws: TruncatedBytes.self) { try vector.decode(short) }
        }
        for packet in mutations(of: vector.packet) { _ = try? vector.decode(packet) }
    }

    @Test("an answer about another link is another program's")
    func otherLinks() {
        #expect(HCIReadRSSI(1).mayBeAnswered(by: HCILinkPower(handle: 1, power: nil)))
        #expect(!HCIReadRSSI(1).mayBeAnswered(by: HCILinkPower(handle: 2, power: nil)))
        #expect(!LEReadPHY(1).mayBeAnswered(by: LELinkPHYs(handle: 2, transmit: .le1M, receive: .le1M)))
        #expect(
            !HCIReadTransmitPowerLevel(1, maximum: false).mayBeAnswered(by: HCILinkPower(handle: 2, power: nil)))
        #expect(!LESetDataLength(1, octets: 27, time: 328).mayBeAnswered(by: 2))
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
