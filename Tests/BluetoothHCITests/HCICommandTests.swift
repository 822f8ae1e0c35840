import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

/// A command with its packet.
struct CommandVector: CustomTestStringConvertible, Sendable {
    var opcode: HCIOpcode
    var packet: [UInt8]
    var testDescription: String
    /// Encodes the command.
    var encode: @Sendable () throws -> [UInt8]
    /// Decodes a packet as the command's type; returns whether it is the command, and what it encodes to.
    var decode: @Sendable ([UInt8]) throws -> (isSame: Bool, packet: [UInt8]?)

    init<Command: HCICommand>(_ command: Command, _ packet: String) {
        opcode = Command.opcode
        self.packet = hex(packet)
        testDescription = "\(command)"
        encode = { try command.packet() }
        decode = { bytes in
            let decoded = try HCICommandPacket(decoding: bytes.span.bytes).as(Command.self)
            return (decoded == command, try? decoded?.packet())
        }
    }

    init(_ command: AnyHCICommand, _ packet: String) {
        opcode = command.opcode
        self.packet = hex(packet)
        testDescription = "\(command)"
        encode = { try command.packet() }
        decode = { bytes in
            let decoded = try AnyHCICommand(decoding: bytes.span.bytes)
            return (decoded == command, try decoded.packet())
        }
    }
}

private let someAddress = BluetoothAddress(0xC098_E512_3456, kind: .random)
private let publicAddress = BluetoothAddress(0x0011_2233_4455, kind: .public)
private let parameters = LEConnectionParameters(
    intervalMinimum: 0x0018, intervalMaximum: 0x0028, latency: 0, supervisionTimeout: 0x002A)
private let scan = LEScanTiming(type: .active, interval: 0x0060, window: 0x0030)
private let initiating = LEInitiatingParameters(
    scanInterval: 0x0060, scanWindow: 0x0060, parameters: parameters,
    eventLength: LEConnectionEventLength(minimum: 1, maximum: 2))
private let initiatingBytes = "6000 6000 1800 2800 0000 2a00 0100 0200"

let commandVectors: [CommandVector] = [
    CommandVector(HCIDisconnect(0x0040, reason: .remoteUserTerminatedConnection), "01 0604 03 4000 13"),
    CommandVector(
        HCISetEventMask([.disconnectionComplete, .encryptionChange, .hardwareError, .leMeta]),
        "01 010c 08 9080000000000020"),
    CommandVector(HCISetEventMask(.default), "01 010c 08 ffffffffff1f0000"),
    CommandVector(HCIReset(), "01 030c 00"),
    CommandVector(HCIReadTransmitPowerLevel(0x0040, maximum: false), "01 2d0c 03 4000 00"),
    CommandVector(HCIReadTransmitPowerLevel(0x0040, maximum: true), "01 2d0c 03 4000 01"),
    CommandVector(HCIReadLocalVersionInformation(), "01 0110 00"),
    CommandVector(HCIReadLocalSupportedCommands(), "01 0210 00"),
    CommandVector(HCIReadLocalSupportedFeatures(), "01 0310 00"),
    CommandVector(HCIReadBDADDR(), "01 0910 00"),
    CommandVector(HCIReadRSSI(0x0E01), "01 0514 02 010e"),
    CommandVector(
        LESetEventMask([LEEventMask(LEConnectionComplete.code), LEEventMask(HCIEventCode(subevent: 0x0D))]),
        "01 0120 08 0110000000000000"),
    CommandVector(LEReadLocalSupportedFeatures(), "01 0320 00"),
    CommandVector(LESetRandomAddress(someAddress), "01 0520 06 563412e598c0"),
    CommandVector(
        LESetAdvertisingParameters(
            intervalMinimum: 0x00A0, intervalMaximum: 0x00B0, type: .connectableDirectedLowDutyCycle,
            ownAddressType: .random, peer: LEPeerAddress(someAddress), filterPolicy: []),
        "01 0620 0f a000 b000 04 01 01 563412e598c0 07 00"),
    CommandVector(
        LESetAdvertisingData(hex("020106")),
        "01 0820 20 03 020106 00000000000000000000000000000000000000000000000000000000"),
    CommandVector(
        LESetScanResponseData(hex("050974657374")),
        "01 0920 20 06 050974657374 00000000000000000000000000000000000000000000000000"),
    CommandVector(LESetAdvertisingEnable(true), "01 0a20 01 01"),
    CommandVector(
        LESetScanParameters(timing: scan, ownAddressType: .random, filterPolicy: .acceptList),
        "01 0b20 07 01 6000 3000 01 01"),
    CommandVector(LESetScanEnable(true, duplicates: .enabled), "01 0c20 02 01 01"),
    CommandVector(LESetScanEnable(false, duplicates: .disabled), "01 0c20 02 00 00"),
    CommandVector(
        LECreateConnection(
            scanInterval: 0x60, scanWindow: 0x60, peer: LEPeerAddress(publicAddress, isResolvedIdentity: true),
            ownAddressType: .resolvablePrivateOrRandom, parameters: parameters),
        "01 0d20 19 6000 6000 00 02 554433221100 03 1800 2800 0000 2a00 0000 0000"),
    CommandVector(LECreateConnectionCancel(), "01 0e20 00"),
    CommandVector(LEClearFilterAcceptList(), "01 1020 00"),
    CommandVector(LEAddDeviceToFilterAcceptList(.device(someAddress)), "01 1120 07 01 563412e598c0"),
    CommandVector(LEAddDeviceToFilterAcceptList(.anonymousAdvertisers), "01 1120 07 ff 000000000000"),
    CommandVector(LERemoveDeviceFromFilterAcceptList(.device(publicAddress)), "01 1220 07 00 554433221100"),
    CommandVector(
        LEConnectionUpdate(0x0040, parameters, eventLength: LEConnectionEventLength(minimum: 3, maximum: 4)),
        "01 1320 0e 4000 1800 2800 0000 2a00 0300 0400"),
    CommandVector(LEReadRemoteFeatures(0x0040), "01 1620 02 4000"),
    CommandVector(LESetDataLength(0x0040, octets: 251, time: 2120), "01 2220 06 4000 fb00 4808"),
    CommandVector(LEReadPHY(0x0040), "01 3020 02 4000"),
    CommandVector(
        LESetPHY(0x0040, LEPHYPreference(transmit: .le2M, receive: [.le1M, .le2M], codedOptions: 0)),
        "01 3220 07 4000 00 02 03 0000"),
    CommandVector(
        LESetPHY(0x0040, LEPHYPreference(transmit: nil, receive: .leCoded, codedOptions: 2)),
        "01 3220 07 4000 01 00 04 0200"),
    CommandVector(
        LESetAdvertisingSetRandomAddress(advertisingHandle: 2, someAddress), "01 3520 07 02 563412e598c0"),
    CommandVector(
        LESetExtendedAdvertisingParameters(
            advertisingHandle: 1, properties: .legacyConnectable, intervalMinimum: 0x0000A0,
            intervalMaximum: 0x0100B0, advertisingSetID: 5),
        "01 3620 19 01 1300 a00000 b00001 07 00 00 000000000000 00 7f 01 00 01 05 00"),
    CommandVector(
        LESetExtendedAdvertisingParameters(
            advertisingHandle: 0xEF, properties: [.connectable, .includeTransmitPower], channels: .channel39,
            ownAddressType: .random, filterPolicy: .connectionsFromAcceptListOnly, transmitPower: -8,
            primaryPHY: .leCoded, secondaryMaximumSkip: 1, secondaryPHY: .le2M, notifiesScanRequests: true),
        "01 3620 19 ef 4100 000800 000800 04 01 00 000000000000 02 f8 03 01 02 00 01"),
    CommandVector(
        LESetExtendedAdvertisingData(LEExtendedAdvertisingData(advertisingHandle: 1, data: hex("020106"))),
        "01 3720 07 01 03 01 03 020106"),
    CommandVector(
        LESetExtendedScanResponseData(
            LEExtendedAdvertisingData(
                advertisingHandle: 1, operation: .firstFragment, mayBeFragmented: true, data: hex("0309"))),
        "01 3820 06 01 01 00 02 0309"),
    CommandVector(
        LESetExtendedAdvertisingEnable(
            true,
            sets: [
                LEAdvertisingSetEnable(advertisingHandle: 1),
                LEAdvertisingSetEnable(advertisingHandle: 2, duration: 100, maximumEvents: 3),
            ]),
        "01 3920 0a 01 02 01 0000 00 02 6400 03"),
    CommandVector(LESetExtendedAdvertisingEnable(false, sets: []), "01 3920 02 00 00"),
    CommandVector(LEReadMaximumAdvertisingDataLength(), "01 3a20 00"),
    CommandVector(LEReadNumberOfSupportedAdvertisingSets(), "01 3b20 00"),
    CommandVector(LERemoveAdvertisingSet(3), "01 3c20 01 03"),
    CommandVector(LEClearAdvertisingSets(), "01 3d20 00"),
    CommandVector(
        LESetExtendedScanParameters(le1M: scan), "01 4120 08 00 00 01 01 6000 3000"),
    CommandVector(
        LESetExtendedScanParameters(
            ownAddressType: .random, filterPolicy: .allAndUnresolvedDirected, le1M: scan,
            leCoded: LEScanTiming(type: .passive, interval: 0x0120, window: 0x0090)),
        "01 4120 0d 01 02 05 01 6000 3000 00 2001 9000"),
    CommandVector(
        LESetExtendedScanEnable(isEnabled: true, duplicates: .enabled),
        "01 4220 06 01 01 0000 0000"),
    CommandVector(
        LESetExtendedScanEnable(isEnabled: true, duplicates: .resetEachPeriod, duration: 100, period: 2),
        "01 4220 06 01 02 6400 0200"),
    CommandVector(
        LEExtendedCreateConnection(peer: LEPeerAddress(someAddress), le1M: initiating),
        "01 4320 1a 00 00 01 563412e598c0 01 \(initiatingBytes)"),
    CommandVector(
        LEExtendedCreateConnection(
            usesAcceptList: true, ownAddressType: .random, peer: LEPeerAddress(.zero), le1M: initiating,
            le2M: initiating, leCoded: initiating),
        "01 4320 3a 01 01 00 000000000000 07 \(initiatingBytes) \(initiatingBytes) \(initiatingBytes)"),
    CommandVector(AnyHCICommand(HCIOpcode(group: 0x3F, command: 0x0011), parameters: [1, 2, 3]), "01 11fc 03 010203"),
]

@Suite("HCI commands (Core Vol 4 Part E §7)")
struct HCICommandTests {
    @Test("encode to the bytes of the specification", arguments: commandVectors)
    func encoding(_ vector: CommandVector) throws {
        #expect(try vector.encode().hexadecimal == vector.packet.hexadecimal)
    }

    @Test("decode from the bytes of the specification", arguments: commandVectors)
    func decoding(_ vector: CommandVector) throws {
        let (isSame, packet) = try vector.decode(vector.packet)
        #expect(isSame)
        #expect(packet?.hexadecimal == vector.packet.hexadecimal)
        #expect(HCIPacketType.description(of: vector.packet.span.bytes) == vector.testDescription)
        #expect("\(try AnyHCICommand(decoding: vector.packet.span.bytes))" == vector.testDescription)
    }

    @Test("every truncation is refused and no changed byte traps", arguments: commandVectors)
    func malformed(_ vector: CommandVector) throws {
        for length in 0..<vector.packet.count {
            #expect(throws: HCIDecodingError.self) { _ = try vector.decode(Array(vector.packet[..<length])) }
        }
        for packet in mutations(of: vector.packet) {
            _ = try? vector.decode(packet)
            _ = HCIPacketType.description(of: packet.span.bytes)
        }
    }

    @Test("a command truncated within a valid packet is refused")
    func shortParameters() {
        for vector in commandVectors where vector.packet.count > 4 {
            guard vector.opcode.group != 0x3F else { continue }
            // The padding of legacy advertising data is optional.
            if [LESetAdvertisingData.opcode, LESetScanResponseData.opcode].contains(vector.opcode) { continue }
            var packet = Array(vector.packet.dropLast())
            packet[3] -= 1
            #expect(throws: TruncatedBytes.self, "\(vector)") { _ = try vector.decode(packet) }
            #expect(throws: HCIDecodingError.self) { try HCIPacketType.text(of: packet.span.bytes, isEvent: false) }
        }
    }

    @Test("other packets are refused by their type")
    func otherPackets() {
        let packet = hex("04 030c 00")
        #expect(throws: HCIDecodingError.unexpectedPacketType(.event)) {
            try AnyHCICommand(decoding: packet.span.bytes)
        }
    }

    @Test("a command is no other command")
    func otherCommands() throws {
        let packet = hex("01 0514 02 010e")
        #expect(try HCICommandPacket(decoding: packet.span.bytes).as(HCIReadRSSI.self) == HCIReadRSSI(0x0E01))
        #expect(try HCICommandPacket(decoding: packet.span.bytes).as(HCIReset.self) == nil)
    }

    @Test("a command that does not fit is refused")
    func tooLong() throws {
        let set = LEAdvertisingSetEnable(advertisingHandle: 0)
        let zeros = [UInt8](repeating: 0, count: 256)
        #expect(throws: BufferFull.self) { try LESetAdvertisingData(Array(zeros.prefix(32))).packet() }
        #expect(throws: BufferFull.self) {
            let data = LEExtendedAdvertisingData(advertisingHandle: 0, data: Array(zeros.prefix(252)))
            return try LESetExtendedAdvertisingData(data).packet()
        }
        // The maximum of the data, not of a packet.
        var writer = ByteWriter(capacity: 300)
        let data = LEExtendedAdvertisingData(advertisingHandle: 0, data: Array(zeros.prefix(252)))
        #expect(throws: BufferFull.self) { try data.write(to: &writer) }
        #expect(throws: BufferFull.self) {
            try LESetExtendedAdvertisingEnable(true, sets: Array(repeating: set, count: 64)).packet()
        }
        #expect(throws: BufferFull.self) { try AnyHCICommand(.none, parameters: zeros).packet() }
    }

    @Test("commands of maximum length fit")
    func longest() throws {
        let data = LEExtendedAdvertisingData(advertisingHandle: 0, data: [UInt8](repeating: 7, count: 251))
        let command = LESetExtendedAdvertisingData(data)
        let packet = try command.packet()
        #expect(packet.count == HCICommandPacket.maximumByteCount)
        #expect(try AnyHCICommand(decoding: packet.span.bytes).as(LESetExtendedAdvertisingData.self) == command)
    }

    @Test("reserved values are preserved in encoding")
    func meaninglessValues() throws {
        // Enable = 2, and a PHY without scanning.
        let enable = try AnyHCICommand(decoding: hex("01 0a20 01 02").span.bytes)
        #expect(try enable.as(LESetAdvertisingEnable.self)?.packet() != enable.packet())
        let scan = try AnyHCICommand(decoding: hex("01 4120 08 00 00 03 01 6000 3000").span.bytes)
        #expect(try scan.as(LESetExtendedScanParameters.self)?.packet() != scan.packet())
    }

    @Test("descriptions have the name and parameters")
    func description() {
        #expect("\(HCIReset())" == "Reset")
        #expect("\(LESetRandomAddress(someAddress))" == "LE Set Random Address: C0:98:E5:12:34:56")
        #expect(
            "\(HCIDisconnect(0x40, reason: .remoteUserTerminatedConnection))"
                == "Disconnect: handle 0x0040, remote user terminated the connection (0x13)")
        #expect(
            "\(LESetExtendedScanParameters(le1M: scan))"
                == "LE Set Extended Scan Parameters: LE 1M active, 48 of 96 x 0.625 ms, own address public, all advertisers"
        )
        #expect("\(AnyHCICommand(HCIOpcode(rawValue: 0xFC11), parameters: [1, 2]))" == "command 0xFC11: 0102")
        for vector in commandVectors { #expect(!vector.testDescription.isEmpty) }
    }

    @Test("opcodes consist of group and command (§5.4.1)")
    func opcodes() {
        #expect(HCIOpcode(group: 8, command: 0x0042) == LESetExtendedScanEnable.opcode)
        #expect(LESetExtendedScanEnable.opcode.group == 8)
        #expect(LESetExtendedScanEnable.opcode.command == 0x42)
    }
}
