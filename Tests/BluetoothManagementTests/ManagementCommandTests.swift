import BluetoothPrimitives
import BluetoothManagement
import TestSupport
import Testing

/// A command with its packet.
struct CommandVector: CustomTestStringConvertible, Sendable {
    var command: AnyManagementCommand
    var index: UInt16
    var packet: [UInt8]

    init(_ command: some ManagementCommand, for index: UInt16 = 0, _ packet: String) {
        self.command = AnyManagementCommand(command)
        self.index = index
        self.packet = hex(packet)
    }

    var testDescription: String { "\(command)" }
}

private func decode(_ packet: [UInt8]) throws(TruncatedBytes) -> (command: (any ManagementCommand)?, index: UInt16) {
    let packet = try ManagementPacket(decoding: packet.span.bytes)
    return (try packet.command(), packet.index)
}

private let randomAddress = BluetoothAddress(0xC098_E512_3456, kind: .random)
private let publicAddress = BluetoothAddress(0x0011_2233_4455, kind: .public)
private let random = ManagementAddress(randomAddress)
private let `public` = ManagementAddress(publicAddress)
private let keyText = "000102030405060708090a0b0c0d0e0f"
private let key = SecurityKey(hex(keyText)) ?? .zero
private let zeroText = "00000000000000000000000000000000"

let commandVectors: [CommandVector] = [
    CommandVector(ManagementReadVersionInformation(), for: 0xFFFF, "0100 ffff 0000"),
    CommandVector(ManagementReadSupportedCommands(), for: 0xFFFF, "0200 ffff 0000"),
    CommandVector(ManagementReadControllerIndexList(), for: 0xFFFF, "0300 ffff 0000"),
    CommandVector(ManagementReadControllerInformation(), for: 2, "0400 0200 0000"),
    CommandVector(ManagementSetPowered(true), "0500 0000 0100 01"),
    CommandVector(ManagementSetPowered(false), "0500 0000 0100 00"),
    CommandVector(ManagementSetConnectable(true), "0700 0000 0100 01"),
    CommandVector(ManagementSetBondable(true), "0900 0000 0100 01"),
    CommandVector(ManagementSetSecureSimplePairing(true), "0b00 0000 0100 01"),
    CommandVector(ManagementSetLowEnergy(true), "0d00 0000 0100 01"),
    CommandVector(ManagementSetBREDR(false), "2a00 0000 0100 00"),
    CommandVector(ManagementSetSecureConnections(.only), "2d00 0000 0100 02"),
    CommandVector(ManagementSetStaticAddress(randomAddress), "2b00 0000 0600 563412e598c0"),
    CommandVector(ManagementSetPrivacy(.on, key), "2f00 0000 1100 01 \(keyText)"),
    CommandVector(ManagementSetIOCapability(.keyboardDisplay), "1800 0000 0100 04"),
    CommandVector(ManagementSetAppearance(0x0340), "4300 0000 0200 4003"),
    CommandVector(ManagementDisconnect(random), "1400 0000 0700 563412e598c0 02"),
    CommandVector(ManagementGetConnections(), "1500 0000 0000"),
    CommandVector(ManagementGetConnectionInformation(`public`), "3100 0000 0700 554433221100 01"),
    CommandVector(ManagementAddDevice(random, .autoConnect), "3300 0000 0800 563412e598c0 02 02"),
    CommandVector(ManagementRemoveDevice(random), "3400 0000 0700 563412e598c0 02"),
    CommandVector(ManagementRemoveDevice(.any), "3400 0000 0700 000000000000 00"),
    CommandVector(
        ManagementLoadConnectionParameters([
            DeviceConnectionParameters(
                address: randomAddress,
                .init(intervalMinimum: 6, intervalMaximum: 12, latency: 1, supervisionTimeout: 100))
        ]), "3500 0000 1100 0100 563412e598c0 02 0600 0c00 0100 6400"),
    CommandVector(ManagementReadDefaultSystemConfiguration(), "4b00 0000 0000"),
    CommandVector(
        ManagementSetDefaultSystemConfiguration(
            .init([
                SystemParameter(.connectionIntervalMinimum, 6), SystemParameter(.init(rawValue: 0x1F), bytes: [1]),
            ])), "4c00 0000 0900 1700 02 0600 1f00 01 01"),
    CommandVector(ManagementGetPHYConfiguration(), "4400 0000 0000"),
    CommandVector(
        ManagementSetPHYConfiguration([.br1MOneSlot, .le1MTransmit, .le1MReceive, .leCodedTransmit, .leCodedReceive]),
        "4500 0000 0400 01660000"),
    CommandVector(ManagementPairDevice(random, .noInputNoOutput), "1900 0000 0800 563412e598c0 02 03"),
    CommandVector(ManagementCancelPairDevice(random), "1a00 0000 0700 563412e598c0 02"),
    CommandVector(ManagementUnpairDevice(random, disconnect: true), "1b00 0000 0800 563412e598c0 02 01"),
    CommandVector(ManagementUserConfirmationReply(random), "1c00 0000 0700 563412e598c0 02"),
    CommandVector(ManagementUserConfirmationNegativeReply(random), "1d00 0000 0700 563412e598c0 02"),
    CommandVector(ManagementUserPasskeyReply(random, passkey: 123_456), "1e00 0000 0b00 563412e598c0 02 40e20100"),
    CommandVector(ManagementUserPasskeyNegativeReply(random), "1f00 0000 0700 563412e598c0 02"),
    CommandVector(ManagementLoadLongTermKeys([]), "1300 0000 0200 0000"),
    CommandVector(
        ManagementLoadLongTermKeys([
            LongTermKey(
                address: randomAddress, kind: .authenticatedLegacy, isCentral: true, encryptionSize: 16,
                encryptedDiversifier: 0x1234, randomNumber: 0x0102_0304_0506_0708, value: key),
            LongTermKey(address: publicAddress, kind: .unauthenticated, isCentral: false, value: key),
        ]),
        "1300 0000 4a00 0200 563412e598c0 02 01 01 10 3412 0807060504030201 \(keyText) "
            + "554433221100 01 02 00 10 0000 0000000000000000 \(keyText)"),
    CommandVector(ManagementLoadIdentityResolvingKeys([]), "3000 0000 0200 0000"),
    CommandVector(
        ManagementLoadIdentityResolvingKeys([IdentityResolvingKey(address: publicAddress, value: key)]),
        "3000 0000 1900 0100 554433221100 01 \(keyText)"),
    CommandVector(ManagementReadLocalOutOfBandExtendedData(.lowEnergy), "3b00 0000 0100 06"),
    CommandVector(
        ManagementAddRemoteOutOfBandData(random, confirmation: key, random: .zero),
        "2100 0000 4700 563412e598c0 02 \(zeroText) \(zeroText) \(keyText) \(zeroText)"),
    CommandVector(ManagementRemoveRemoteOutOfBandData(random), "2200 0000 0700 563412e598c0 02"),
    CommandVector(ManagementStartDiscovery(.lowEnergy), "2300 0000 0100 06"),
    CommandVector(ManagementStopDiscovery(.lowEnergy), "2400 0000 0100 06"),
    CommandVector(
        ManagementStartServiceDiscovery(.lowEnergy, rssiThreshold: -80, services: [0x180D]),
        "3a00 0000 1400 06 b0 0100 fb349b5f8000 0080 0010 0000 0d18 0000"),
    CommandVector(
        ManagementStartServiceDiscovery(.lowEnergy, rssiThreshold: nil, services: []), "3a00 0000 0400 06 7f 0000"),
    CommandVector(ManagementSetAdvertising(.connectable), "2900 0000 0100 02"),
    CommandVector(ManagementReadAdvertisingFeatures(), "3d00 0000 0000"),
    CommandVector(
        ManagementAddAdvertising(
            instance: 1, flags: [.connectable, .generalDiscoverable], duration: 2, timeout: 3,
            advertisingData: hex("050974657374"), scanResponse: hex("020a00")),
        "3e00 0000 1400 01 03000000 0200 0300 06 03 050974657374 020a00"),
    CommandVector(ManagementRemoveAdvertising(0), "3f00 0000 0100 00"),
    CommandVector(
        ManagementAddExtendedAdvertisingParameters(
            instance: 1, flags: [.connectable, .scanResponse],
            intervals: .init(minimum: 0x20, maximum: 0x30)),
        "5400 0000 1200 01 01400100 0000 0000 20000000 30000000 00"),
    CommandVector(
        ManagementAddExtendedAdvertisingParameters(
            instance: 2, flags: [], duration: 1, timeout: 2, transmitPower: -20),
        "5400 0000 1200 02 00b00000 0100 0200 00000000 00000000 ec"),
    CommandVector(
        ManagementAddExtendedAdvertisingData(instance: 1, advertisingData: hex("0102"), scanResponse: hex("03")),
        "5500 0000 0600 01 02 01 0102 03"),
]

@Suite("Commands of the kernel's management interface")
struct ManagementCommandTests {
    @Test("encode to the kernel's bytes", arguments: commandVectors)
    func encoding(_ vector: CommandVector) throws {
        #expect(try vector.command.base.packet(for: vector.index).hexadecimal == vector.packet.hexadecimal)
    }

    @Test("decode from the kernel's bytes", arguments: commandVectors)
    func decoding(_ vector: CommandVector) throws {
        let (command, index) = try decode(vector.packet)
        let decoded = try #require(command)
        #expect(AnyManagementCommand(decoded) == vector.command)
        #expect(index == vector.index)
    }

    @Test("without a type are named by their opcode")
    func unknown() throws {
        let packet = hex("fe00 0700 0200 0102")
        #expect(try decode(packet).command == nil)
        #expect(
            ManagementPacket.description(of: packet.span.bytes, isSent: true) == "hci7 command 0x00FE: 2 bytes")
    }

    @Test("values for P-192 are ignored, and are not those of the kernel's bytes")
    func olderValues() throws {
        let device = "563412e598c0 02"
        let (both, older) = ("2100 0000 4700 \(device) \(keyText) \(keyText)", "2100 0000 2700 \(device) \(keyText)")
        for packet in [hex("\(both) \(keyText) \(zeroText)"), hex("\(older) \(keyText)")] {
            #expect(try #require(decode(packet).command).packet(for: 0) != packet)
        }
    }

    @Test("every truncation is refused and no changed byte traps", arguments: commandVectors)
    func malformed(_ vector: CommandVector) {
        for length in 0..<vector.packet.count {
            #expect(throws: TruncatedBytes.self) { try decode(Array(vector.packet[..<length])) }
        }
        for packet in mutations(of: vector.packet) {
            guard case (let command?, let index)? = try? decode(packet) else { continue }
            _ = command.description
            _ = try? command.packet(for: index)
        }
    }

    @Test("a command cut short within a correct packet is refused", arguments: commandVectors)
    func shortParameters(_ vector: CommandVector) {
        guard vector.packet.count > 6 else { return }
        var packet = Array(vector.packet.dropLast())
        packet[4] -= 1
        #expect(throws: TruncatedBytes.self) { try decode(packet) }
    }

    @Test("what does not fit is refused and leaves the writer as it was")
    func tooLong() throws {
        let keys = [LongTermKey](
            repeating: LongTermKey(address: publicAddress, kind: .authenticated, isCentral: false, value: .zero),
            count: 1821)
        let commands: [any ManagementCommand] = [
            ManagementLoadLongTermKeys(keys),
            ManagementLoadIdentityResolvingKeys(
                [IdentityResolvingKey](
                    repeating: IdentityResolvingKey(address: publicAddress, value: .zero), count: 70_000)),
            ManagementAddAdvertising(instance: 1, flags: [], advertisingData: [UInt8](repeating: 0, count: 256)),
            ManagementAddExtendedAdvertisingData(instance: 1, scanResponse: [UInt8](repeating: 0, count: 256)),
        ]
        for command in commands {
            #expect(throws: BufferFull.self) { try command.packet(for: 0) }
            var writer = ByteWriter(capacity: 1 << 20)
            try writer.write(0xAA as UInt8)
            #expect(throws: BufferFull.self) { try command.encode(for: 0, into: &writer) }
            #expect(writer.bytes == [0xAA])
        }
        // The most keys that a packet holds.
        let most = ManagementLoadLongTermKeys(Array(keys.dropLast()))
        #expect(try most.packet(for: 0).count == 6 + 2 + 36 * 1820)
    }

    @Test("keys and passkeys are not printed")
    func secrets() {
        let secrets = ["00010203", "123456", "1E240", "40E201"]
        for vector in commandVectors {
            for secret in secrets { #expect(!vector.command.description.contains(secret)) }
        }
        #expect("\(key)" == "secret key")
        #expect(String(reflecting: key) == "secret key")
        var text = ""
        dump(key, to: &text)
        #expect(!text.contains("506097522914230528"))
    }

    @Test("print themselves with name and parameters")
    func description() {
        #expect("\(ManagementSetPowered(true))" == "Set Powered: on")
        #expect(
            "\(ManagementAddDevice(random, .autoConnect))"
                == "Add Device: C0:98:E5:12:34:56 (LE random), auto-connect")
        #expect("\(ManagementStartDiscovery(.lowEnergy))" == "Start Discovery: LE public, LE random")
        #expect("\(ManagementOpcode(rawValue: 0x1234))" == "command 0x1234")
        for value in UInt16.min...0x100 {
            #expect(!ManagementOpcode(rawValue: value).description.isEmpty)
            #expect(!ManagementEventCode(rawValue: value).description.isEmpty)
            #expect(!ManagementStatus(rawValue: UInt8(truncatingIfNeeded: value)).description.isEmpty)
        }
    }

    @Test("keys have sixteen bytes and give them back", .seeded)
    func keys() {
        #expect(key.bytes == hex(keyText))
        #expect(SecurityKey([UInt8](repeating: 0, count: 15)) == nil)
        #expect(SecurityKey([UInt8](repeating: 0, count: 17)) == nil)
        var generator = SeededGenerator()
        #expect(SecurityKey.random(using: &generator) != .zero)
    }

    @Test("addresses tell BR/EDR, LE public and LE random apart")
    func addresses() {
        let brEDR = ManagementAddress.brEDR(randomAddress)
        #expect(!brEDR.isLowEnergy)
        #expect(brEDR.address.kind == .public)
        #expect("\(brEDR)" == "C0:98:E5:12:34:56 (BR/EDR)")
        #expect("\(`public`)" == "00:11:22:33:44:55 (LE public)")
        #expect("\(random)" == "C0:98:E5:12:34:56 (LE random)")
    }
}
