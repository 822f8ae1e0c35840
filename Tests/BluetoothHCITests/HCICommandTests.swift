import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

/// A command with its packet.
struct CommandVector: CustomTestStringConvertible, Sendable {
    var command: HCICommand
    var packet: [UInt8]

    init(_ command: HCICommand, _ packet: String) {
        self.command = command
        self.packet = hex(packet)
    }

    var testDescription: String { "\(command)" }
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

private func decode(_ packet: [UInt8]) throws(HCIDecodingError) -> HCICommand {
    try HCICommand(decoding: packet.span.bytes)
}

let commandVectors: [CommandVector] = [
    CommandVector(.disconnect(0x0040, reason: .remoteUserTerminatedConnection), "01 0604 03 4000 13"),
    CommandVector(
        .setEventMask([.disconnectionComplete, .encryptionChange, .hardwareError, .leMeta]),
        "01 010c 08 9080000000000020"),
    CommandVector(.setEventMask(.default), "01 010c 08 ffffffffff1f0000"),
    CommandVector(.reset, "01 030c 00"),
    CommandVector(.readTransmitPowerLevel(0x0040, maximum: false), "01 2d0c 03 4000 00"),
    CommandVector(.readTransmitPowerLevel(0x0040, maximum: true), "01 2d0c 03 4000 01"),
    CommandVector(.readLocalVersionInformation, "01 0110 00"),
    CommandVector(.readLocalSupportedCommands, "01 0210 00"),
    CommandVector(.readLocalSupportedFeatures, "01 0310 00"),
    CommandVector(.readBDADDR, "01 0910 00"),
    CommandVector(.readRSSI(0x0E01), "01 0514 02 010e"),
    CommandVector(
        .leSetEventMask([LEEventMask(.connectionComplete), LEEventMask(.extendedAdvertisingReport)]),
        "01 0120 08 0110000000000000"),
    CommandVector(.leReadLocalSupportedFeatures, "01 0320 00"),
    CommandVector(.leSetRandomAddress(someAddress), "01 0520 06 563412e598c0"),
    CommandVector(
        .leSetAdvertisingParameters(
            LEAdvertisingParameters(
                intervalMinimum: 0x00A0, intervalMaximum: 0x00B0, type: .connectableDirectedLowDutyCycle,
                ownAddressType: .random, peer: LEPeerAddress(someAddress), filterPolicy: [])),
        "01 0620 0f a000 b000 04 01 01 563412e598c0 07 00"),
    CommandVector(
        .leSetAdvertisingData(hex("020106")),
        "01 0820 20 03 020106 00000000000000000000000000000000000000000000000000000000"),
    CommandVector(
        .leSetScanResponseData(hex("050974657374")),
        "01 0920 20 06 050974657374 00000000000000000000000000000000000000000000000000"),
    CommandVector(.leSetAdvertisingEnable(true), "01 0a20 01 01"),
    CommandVector(
        .leSetScanParameters(LEScanParameters(timing: scan, ownAddressType: .random, filterPolicy: .acceptList)),
        "01 0b20 07 01 6000 3000 01 01"),
    CommandVector(.leSetScanEnable(true, duplicates: .enabled), "01 0c20 02 01 01"),
    CommandVector(.leSetScanEnable(false, duplicates: .disabled), "01 0c20 02 00 00"),
    CommandVector(
        .leCreateConnection(
            LECreateConnectionParameters(
                scanInterval: 0x60, scanWindow: 0x60, peer: LEPeerAddress(publicAddress, isResolvedIdentity: true),
                ownAddressType: .resolvablePrivateOrRandom, parameters: parameters)),
        "01 0d20 19 6000 6000 00 02 554433221100 03 1800 2800 0000 2a00 0000 0000"),
    CommandVector(.leCreateConnectionCancel, "01 0e20 00"),
    CommandVector(.leClearFilterAcceptList, "01 1020 00"),
    CommandVector(.leAddDeviceToFilterAcceptList(.device(someAddress)), "01 1120 07 01 563412e598c0"),
    CommandVector(.leAddDeviceToFilterAcceptList(.anonymousAdvertisers), "01 1120 07 ff 000000000000"),
    CommandVector(.leRemoveDeviceFromFilterAcceptList(.device(publicAddress)), "01 1220 07 00 554433221100"),
    CommandVector(
        .leConnectionUpdate(0x0040, parameters, LEConnectionEventLength(minimum: 3, maximum: 4)),
        "01 1320 0e 4000 1800 2800 0000 2a00 0300 0400"),
    CommandVector(.leReadRemoteFeatures(0x0040), "01 1620 02 4000"),
    CommandVector(.leSetDataLength(0x0040, octets: 251, time: 2120), "01 2220 06 4000 fb00 4808"),
    CommandVector(.leReadPHY(0x0040), "01 3020 02 4000"),
    CommandVector(
        .leSetPHY(0x0040, LEPHYPreference(transmit: .le2M, receive: [.le1M, .le2M], codedOptions: 0)),
        "01 3220 07 4000 00 02 03 0000"),
    CommandVector(
        .leSetPHY(0x0040, LEPHYPreference(transmit: nil, receive: .leCoded, codedOptions: 2)),
        "01 3220 07 4000 01 00 04 0200"),
    CommandVector(
        .leSetAdvertisingSetRandomAddress(advertisingHandle: 2, someAddress), "01 3520 07 02 563412e598c0"),
    CommandVector(
        .leSetExtendedAdvertisingParameters(
            LEExtendedAdvertisingParameters(
                advertisingHandle: 1, properties: .legacyConnectable, intervalMinimum: 0x0000A0,
                intervalMaximum: 0x0100B0, advertisingSetID: 5)),
        "01 3620 19 01 1300 a00000 b00001 07 00 00 000000000000 00 7f 01 00 01 05 00"),
    CommandVector(
        .leSetExtendedAdvertisingParameters(
            LEExtendedAdvertisingParameters(
                advertisingHandle: 0xEF, properties: [.connectable, .includeTransmitPower], channels: .channel39,
                ownAddressType: .random, filterPolicy: .connectionsFromAcceptListOnly, transmitPower: -8,
                primaryPHY: .leCoded, secondaryMaximumSkip: 1, secondaryPHY: .le2M, notifiesScanRequests: true)),
        "01 3620 19 ef 4100 000800 000800 04 01 00 000000000000 02 f8 03 01 02 00 01"),
    CommandVector(
        .leSetExtendedAdvertisingData(LEExtendedAdvertisingData(advertisingHandle: 1, data: hex("020106"))),
        "01 3720 07 01 03 01 03 020106"),
    CommandVector(
        .leSetExtendedScanResponseData(
            LEExtendedAdvertisingData(
                advertisingHandle: 1, operation: .firstFragment, mayBeFragmented: true, data: hex("0309"))),
        "01 3820 06 01 01 00 02 0309"),
    CommandVector(
        .leSetExtendedAdvertisingEnable(
            true,
            sets: [
                LEAdvertisingSetEnable(advertisingHandle: 1),
                LEAdvertisingSetEnable(advertisingHandle: 2, duration: 100, maximumEvents: 3),
            ]),
        "01 3920 0a 01 02 01 0000 00 02 6400 03"),
    CommandVector(.leSetExtendedAdvertisingEnable(false, sets: []), "01 3920 02 00 00"),
    CommandVector(.leReadMaximumAdvertisingDataLength, "01 3a20 00"),
    CommandVector(.leReadNumberOfSupportedAdvertisingSets, "01 3b20 00"),
    CommandVector(.leRemoveAdvertisingSet(advertisingHandle: 3), "01 3c20 01 03"),
    CommandVector(.leClearAdvertisingSets, "01 3d20 00"),
    CommandVector(
        .leSetExtendedScanParameters(LEExtendedScanParameters(le1M: scan)), "01 4120 08 00 00 01 01 6000 3000"),
    CommandVector(
        .leSetExtendedScanParameters(
            LEExtendedScanParameters(
                ownAddressType: .random, filterPolicy: .allAndUnresolvedDirected, le1M: scan,
                leCoded: LEScanTiming(type: .passive, interval: 0x0120, window: 0x0090))),
        "01 4120 0d 01 02 05 01 6000 3000 00 2001 9000"),
    CommandVector(
        .leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: true, duplicates: .enabled)),
        "01 4220 06 01 01 0000 0000"),
    CommandVector(
        .leSetExtendedScanEnable(
            LEExtendedScanEnable(isEnabled: true, duplicates: .resetEachPeriod, duration: 100, period: 2)),
        "01 4220 06 01 02 6400 0200"),
    CommandVector(
        .leExtendedCreateConnection(
            LEExtendedCreateConnectionParameters(peer: LEPeerAddress(someAddress), le1M: initiating)),
        "01 4320 1a 00 00 01 563412e598c0 01 \(initiatingBytes)"),
    CommandVector(
        .leExtendedCreateConnection(
            LEExtendedCreateConnectionParameters(
                usesAcceptList: true, ownAddressType: .random, peer: LEPeerAddress(.zero), le1M: initiating,
                le2M: initiating, leCoded: initiating)),
        "01 4320 3a 01 01 00 000000000000 07 \(initiatingBytes) \(initiatingBytes) \(initiatingBytes)"),
    CommandVector(.unknown(HCIOpcode(group: 0x3F, command: 0x0011), parameters: [1, 2, 3]), "01 11fc 03 010203"),
]

@Suite("HCI commands (Core Vol 4 Part E §7)")
struct HCICommandTests {
    @Test("encode to the bytes of the specification", arguments: commandVectors)
    func encoding(_ vector: CommandVector) throws {
        #expect(try vector.command.packet().hexadecimal == vector.packet.hexadecimal)
    }

    @Test("decode from the bytes of the specification", arguments: commandVectors)
    func decoding(_ vector: CommandVector) throws {
        #expect(try decode(vector.packet) == vector.command)
    }

    @Test("every truncation is refused and no changed byte traps", arguments: commandVectors)
    func malformed(_ vector: CommandVector) throws {
        for length in 0..<vector.packet.count {
            #expect(throws: HCIDecodingError.self) {
                try decode(Array(vector.packet[..<length]))
            }
        }
        for packet in mutations(of: vector.packet) {
            guard let command = try? decode(packet) else { continue }
            _ = command.description
            _ = try? command.packet()
        }
    }

    @Test("a command truncated within a valid packet is refused")
    func shortParameters() {
        for vector in commandVectors where vector.packet.count > 4 {
            guard vector.command.opcode.group != 0x3F else { continue }
            // The padding of legacy advertising data is optional.
            if [.leSetAdvertisingData, .leSetScanResponseData].contains(vector.command.opcode) { continue }
            var packet = Array(vector.packet.dropLast())
            packet[3] -= 1
            #expect(throws: HCIDecodingError.self, "\(vector.command)") {
                try decode(packet)
            }
        }
    }

    @Test("other packets are refused by their type")
    func otherPackets() {
        let packet = hex("04 030c 00")
        #expect(throws: HCIDecodingError.unexpectedPacketType(.event)) {
            try decode(packet)
        }
    }

    @Test("a command that does not fit is refused and leaves the writer unchanged")
    func tooLong() throws {
        let commands: [HCICommand] = [
            .leSetAdvertisingData([UInt8](repeating: 0, count: 32)),
            .leSetExtendedAdvertisingData(
                LEExtendedAdvertisingData(advertisingHandle: 0, data: [UInt8](repeating: 0, count: 252))),
            .leSetExtendedAdvertisingEnable(
                true, sets: [LEAdvertisingSetEnable](repeating: LEAdvertisingSetEnable(advertisingHandle: 0), count: 64)
            ),
            .unknown(.none, parameters: [UInt8](repeating: 0, count: 256)),
        ]
        for command in commands {
            var writer = ByteWriter(capacity: 1024)
            try writer.write(0xAA as UInt8)
            #expect(throws: BufferFull.self) { try command.encode(into: &writer) }
            #expect(writer.bytes == [0xAA])
        }
        var small = ByteWriter(capacity: 8)
        #expect(throws: BufferFull.self) { try HCICommand.leSetRandomAddress(someAddress).encode(into: &small) }
        #expect(small.bytes.isEmpty)
    }

    @Test("commands of maximum length fit")
    func longest() throws {
        let data = LEExtendedAdvertisingData(advertisingHandle: 0, data: [UInt8](repeating: 7, count: 251))
        let packet = try HCICommand.leSetExtendedAdvertisingData(data).packet()
        #expect(packet.count == HCICommandPacket.maximumByteCount)
        #expect(try decode(packet) == .leSetExtendedAdvertisingData(data))
    }

    @Test("reserved values are preserved in encoding")
    func meaninglessValues() throws {
        // Enable = 2, and a PHY without scanning.
        for packet in [hex("01 0a20 01 02"), hex("01 4120 08 00 00 03 01 6000 3000")] {
            #expect(try decode(packet).packet() != packet)
        }
    }

    @Test("descriptions have the name and parameters")
    func description() {
        #expect("\(HCICommand.reset)" == "Reset")
        #expect(
            "\(HCICommand.disconnect(0x40, reason: .remoteUserTerminatedConnection))"
                == "Disconnect: handle 0x0040, remote user terminated the connection (0x13)")
        #expect(
            "\(HCICommand.leSetExtendedScanParameters(LEExtendedScanParameters(le1M: scan)))"
                == "LE Set Extended Scan Parameters: LE 1M active, 48 of 96 x 0.625 ms, own address public, all advertisers"
        )
        #expect("\(HCICommand.unknown(HCIOpcode(rawValue: 0xFC11), parameters: [1, 2]))" == "command 0xFC11: 0102")
        for vector in commandVectors { #expect(!"\(vector.command)".isEmpty) }
    }

    @Test("opcodes consist of group and command (§5.4.1)")
    func opcodes() {
        #expect(HCIOpcode(group: 8, command: 0x0042) == .leSetExtendedScanEnable)
        #expect(HCIOpcode.leSetExtendedScanEnable.group == 8)
        #expect(HCIOpcode.leSetExtendedScanEnable.command == 0x42)
    }
}
