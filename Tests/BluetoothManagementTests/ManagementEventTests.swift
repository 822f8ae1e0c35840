import BluetoothPrimitives
import BluetoothManagement
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

private let keyText = "000102030405060708090a0b0c0d0e0f"
private let peer = "C0:98:E5:12:34:56 (LE random)"

let eventVectors: [EventVector] = [
    EventVector(
        "0100 ffff 0600 0100 00 01 1600",
        "Command Complete: Read Management Version Information, success (0x00), version 1.22"),
    EventVector(
        "0100 0000 0700 0500 00 01020000",
        "Command Complete: Set Powered, success (0x00), powered, LE"),
    EventVector("0100 0000 0300 0500 0a", "Command Complete: Set Powered, busy (0x0A), no answer"),
    EventVector(
        "0100 0000 0a00 1900 05 563412e598c0 02",
        "Command Complete: Pair Device, authentication failed (0x05), \(peer)"),
    EventVector("0200 0000 0300 0500 14", "Command Status: Set Powered, permission denied (0x14)"),
    EventVector("0300 0000 0100 42", "Controller Error: 0x42"),
    EventVector("0400 0100 0000", "Index Added"),
    EventVector("0500 0100 0000", "Index Removed"),
    EventVector("0600 0000 0400 81020000", "New Settings: powered, BR/EDR, LE"),
    EventVector(
        "0a00 0000 2500 01 563412e598c0 02 03 01 10 0000 0000000000000000 \(keyText)",
        "New Long Term Key: \(peer), authenticated, central, 16 bytes"),
    EventVector(
        "0a00 0000 2500 00 563412e598c0 02 00 00 07 3412 0807060504030201 \(keyText)",
        "New Long Term Key: \(peer), unauthenticated legacy, peripheral, 7 bytes, not to be stored"),
    EventVector(
        "0b00 0000 1000 563412e598c0 02 08000000 0300 020106",
        "Device Connected: \(peer), initiated connection, 020106"),
    EventVector("0c00 0000 0800 563412e598c0 02 03", "Device Disconnected: \(peer), terminated by remote host"),
    EventVector("0d00 0000 0800 563412e598c0 02 04", "Connect Failed: \(peer), connect failed (0x04)"),
    EventVector(
        "0f00 0000 0c00 563412e598c0 02 00 40e20100", "User Confirmation Request: \(peer), compare numbers"),
    EventVector("0f00 0000 0c00 563412e598c0 02 01 00000000", "User Confirmation Request: \(peer), yes or no"),
    EventVector("1000 0000 0700 563412e598c0 02", "User Passkey Request: \(peer)"),
    EventVector("1100 0000 0800 563412e598c0 02 05", "Authentication Failed: \(peer), authentication failed (0x05)"),
    EventVector(
        "1200 0000 1100 563412e598c0 02 c4 04000000 0300 020106",
        "Device Found: \(peer), -60 dBm, not connectable, 020106"),
    EventVector(
        "1200 0000 0e00 554433221100 00 7f 03000000 0000",
        "Device Found: 00:11:22:33:44:55 (BR/EDR), no RSSI, confirm name, legacy pairing, "),
    EventVector("1300 0000 0200 06 01", "Discovering: LE public, LE random, on"),
    EventVector("1600 0000 0700 563412e598c0 02", "Device Unpaired: \(peer)"),
    EventVector("1700 0000 0c00 563412e598c0 02 40e20100 02", "Passkey Notify: \(peer), 2 digits entered"),
    EventVector(
        "1800 0000 1e00 01 aabbccddee4f 554433221100 01 \(keyText)",
        "New Identity Resolving Key: 00:11:22:33:44:55 (LE public), known as 4F:EE:DD:CC:BB:AA"),
    EventVector(
        "1800 0000 1e00 00 000000000000 554433221100 01 \(keyText)",
        "New Identity Resolving Key: 00:11:22:33:44:55 (LE public), not to be stored"),
    EventVector(
        "1900 0000 1900 01 563412e598c0 02 03 \(keyText)",
        "New Signature Resolving Key: \(peer), authenticated remote"),
    EventVector("1a00 0000 0800 563412e598c0 02 00", "Device Added: \(peer), background scan"),
    EventVector("1b00 0000 0700 563412e598c0 02", "Device Removed: \(peer)"),
    EventVector(
        "1c00 0000 1000 563412e598c0 02 01 0600 0c00 0100 6400",
        "New Connection Parameter: \(peer), interval 6-12 x 1.25 ms, latency 1, supervision timeout 100 x 10 ms"),
    EventVector("2300 0000 0100 01", "Advertising Added: instance 1"),
    EventVector("2400 0000 0100 02", "Advertising Removed: instance 2"),
    EventVector("2600 0000 0400 01020304", "PHY Configuration Changed: 4 bytes"),
    EventVector("fe00 0000 0200 0102", "event 0x00FE: 2 bytes"),
]

private func describe(_ packet: [UInt8]) throws(TruncatedBytes) -> String {
    try ManagementPacket(decoding: packet.span.bytes).eventText()
}

/// Decodes an event of a type and encodes it; nil for another event.
private func encoder<Event: ManagementEvent>(_ type: Event.Type) -> @Sendable ([UInt8]) throws -> [UInt8]? {
    { packet in
        let packet = try ManagementPacket(decoding: packet.span.bytes)
        return try packet.as(type)?.packet(for: packet.index)
    }
}

private let encoders: [@Sendable ([UInt8]) throws -> [UInt8]?] = [
    encoder(ManagementCommandStatus.self), encoder(ManagementControllerError.self),
    encoder(ManagementIndexAdded.self), encoder(ManagementIndexRemoved.self), encoder(ManagementNewSettings.self),
    encoder(ManagementNewLongTermKey.self), encoder(ManagementDeviceDisconnected.self),
    encoder(ManagementConnectFailed.self), encoder(ManagementUserConfirmationRequest.self),
    encoder(ManagementUserPasskeyRequest.self), encoder(ManagementAuthenticationFailed.self),
    encoder(ManagementDiscovering.self), encoder(ManagementDeviceUnpaired.self),
    encoder(ManagementPasskeyNotify.self), encoder(ManagementNewIdentityResolvingKey.self),
    encoder(ManagementNewSignatureResolvingKey.self), encoder(ManagementDeviceAdded.self),
    encoder(ManagementDeviceRemoved.self), encoder(ManagementNewConnectionParameters.self),
    encoder(ManagementAdvertisingAdded.self), encoder(ManagementAdvertisingRemoved.self),
    { packet in
        let packet = try ManagementPacket(decoding: packet.span.bytes)
        if let complete = try packet.commandComplete() { return try complete.packet(for: packet.index) }
        if let connected = try packet.deviceConnected() { return try connected.packet(for: packet.index) }
        if let found = try packet.deviceFound() { return try found.packet(for: packet.index) }
        return nil
    },
]

/// Decodes an event and encodes it; nil for one without a type.
private func reencode(_ packet: [UInt8]) throws -> [UInt8]? {
    for encode in encoders { if let encoded = try encode(packet) { return encoded } }
    return nil
}

@Suite("Events of the kernel's management interface")
struct ManagementEventTests {
    @Test("decode and print themselves", arguments: eventVectors)
    func decoding(_ vector: EventVector) throws {
        #expect(try describe(vector.packet) == vector.description)
    }

    @Test("encode to the bytes they came from", arguments: eventVectors)
    func encoding(_ vector: EventVector) throws {
        let packet = try reencode(vector.packet)
        #expect((packet == nil) == ["PHY", "event"].contains(where: vector.description.hasPrefix))
        if let packet { #expect(packet.hexadecimal == vector.packet.hexadecimal) }
    }

    @Test("every truncation is refused and no changed byte traps", arguments: eventVectors)
    func malformed(_ vector: EventVector) {
        for length in 0..<vector.packet.count {
            #expect(throws: TruncatedBytes.self) { try describe(Array(vector.packet[..<length])) }
        }
        for packet in mutations(of: vector.packet) {
            _ = try? describe(packet)
            _ = try? reencode(packet)
        }
    }

    @Test("an event cut short within a correct packet is refused", arguments: eventVectors)
    func shortParameters(_ vector: EventVector) {
        // Replies are validated when they are decoded; unnamed events have no length of their own.
        if vector.packet[0] == 0x01 || ["PHY", "event"].contains(where: vector.description.hasPrefix) { return }
        guard vector.packet.count > 6 else { return }
        var packet = Array(vector.packet.dropLast())
        packet[4] -= 1
        #expect(throws: TruncatedBytes.self) { try describe(packet) }
    }

    @Test("a new key is told with all that loading it takes")
    func newLongTermKey() throws {
        let packet = hex("0a00 0000 2500 01 563412e598c0 02 01 01 10 3412 0807060504030201 \(keyText)")
        let event = try ManagementPacket(decoding: packet.span.bytes).as(ManagementNewLongTermKey.self)
        #expect(event?.isStored == true)
        let key = try #require(event?.key)
        #expect(key.address == BluetoothAddress(0xC098_E512_3456, kind: .random))
        #expect(key.kind == .authenticatedLegacy)
        #expect(key.isCentral)
        #expect(key.encryptionSize == 16)
        #expect(key.encryptedDiversifier == 0x1234)
        #expect(key.randomNumber == 0x0102_0304_0506_0708)
        #expect(key.value.bytes == hex(keyText))
        // Loading takes the same 36 bytes after the number of keys.
        let load = try ManagementLoadLongTermKeys([key]).packet(for: 0)
        #expect(Array(load[8...]) == Array(packet[7...]))
    }

    @Test("a numeric comparison tells its number")
    func confirmation() throws {
        let packet = hex("0f00 0000 0c00 563412e598c0 02 00 40e20100")
        let event = try ManagementPacket(decoding: packet.span.bytes).as(ManagementUserConfirmationRequest.self)
        #expect(event?.isSimple == false)
        #expect(event?.value == 123_456)
    }

    @Test("no key and no passkey is printed")
    func secrets() {
        for vector in eventVectors {
            for secret in ["00010203", "123456", "40E201", "1E240"] {
                #expect(!vector.description.contains(secret))
            }
        }
    }

    @Test("data longer than a packet is refused")
    func tooLong() throws {
        let data = [UInt8](repeating: 0, count: 70_000)
        let found = ManagementDeviceFound(
            address: ManagementAddress(.zero), rssi: nil, data: data.span.bytes)
        #expect(throws: BufferFull.self) { try found.packet(for: 0) }
    }
}

@Suite("Answers of the kernel's management interface")
struct ManagementReplyTests {
    private let information = ControllerInformation(
        address: BluetoothAddress(0x0011_2233_4455, kind: .public), bluetoothVersion: 9, manufacturer: 0x05F1,
        supportedSettings: [.powered, .lowEnergy, .brEDR], currentSettings: [.lowEnergy], classOfDevice: 0x0C_010C,
        name: "Büro", shortName: "B")
    private let informationBytes =
        "554433221100 09 f105 81020000 00020000 0c010c 42c3bc726f" + String(repeating: "00", count: 244) + "42"
        + String(repeating: "00", count: 10)
    private let device = ManagementAddress(BluetoothAddress(0xC098_E512_3456, kind: .random))

    private func decode<Command: ManagementCommand>(
        _ packet: [UInt8], _ type: Command.Type
    ) throws -> Command.Reply? {
        try ManagementPacket(decoding: packet.span.bytes).commandComplete()?.reply(to: type)
    }

    /// Checks the bytes of a reply, that it is decoded from them and refused when it is cut short, and that no change traps.
    private func check<Command: ManagementCommand>(
        _ type: Command.Type, _ reply: Command.Reply, _ bytes: String
    ) throws {
        let packet = try type.opcode.complete(reply, index: 1)
        #expect(Array(packet.dropFirst(9)).hexadecimal == hex(bytes).hexadecimal, "\(type.opcode)")
        #expect(try decode(packet, type) == reply, "\(type.opcode)")
        if !bytes.isEmpty {
            var short = Array(packet.dropLast())
            let count = short.count - 6
            short[4] = UInt8(truncatingIfNeeded: count)
            short[5] = UInt8(truncatingIfNeeded: count >> 8)
            #expect(throws: TruncatedBytes.self, "\(type.opcode)") { try decode(short, type) }
        }
        for changed in mutations(of: packet) {
            _ = try? decode(changed, type)
            _ = ManagementPacket.description(of: changed.span.bytes, isSent: false)
        }
    }

    @Test("encode and decode by command")
    func replies() throws {
        try check(ManagementReadVersionInformation.self, .init(1, revision: 22), "01 1600")
        try check(
            ManagementReadSupportedCommands.self,
            .init(commands: [.readControllerIndexList, .setPowered], events: [ManagementIndexAdded.code]),
            "0200 0100 0300 0500 0400")
        try check(ManagementReadControllerIndexList.self, .init([1, 0]), "0200 0100 0000")
        try check(ManagementReadControllerIndexList.self, .init(), "0000")
        try check(ManagementReadControllerInformation.self, information, informationBytes)
        try check(ManagementSetPowered.self, [.powered, .lowEnergy], "01020000")
        try check(ManagementSetIOCapability.self, .init(), "")
        try check(ManagementLoadLongTermKeys.self, .init(), "")
        try check(ManagementGetConnections.self, .init([device]), "0100 563412e598c0 02")
        try check(
            ManagementGetConnectionInformation.self,
            ConnectionInformation(address: device, rssi: -60, transmitPower: 0, maximumTransmitPower: nil),
            "563412e598c0 02 c4 00 7f")
        try check(ManagementPairDevice.self, device, "563412e598c0 02")
        try check(ManagementStartDiscovery.self, .lowEnergy, "06")
        try check(
            ManagementReadLocalOutOfBandExtendedData.self, .init(.lowEnergy, [2, 0x1C, 1]), "06 0300 021c01")
        try check(
            ManagementReadAdvertisingFeatures.self,
            AdvertisingFeatures(
                supportedFlags: [.connectable, .generalDiscoverable], maximumAdvertisingDataLength: 31,
                maximumScanResponseLength: 31, maximumInstances: 3, instances: [1, 2]),
            "03000000 1f 1f 03 02 0102")
        try check(ManagementAddAdvertising.self, 1, "01")
        try check(
            ManagementGetPHYConfiguration.self,
            PHYConfiguration(
                supported: ManagementPHYs([.le1M, .le2M, .leCoded]).union(.brEDR),
                configurable: ManagementPHYs(rawValue: 0x79FE), selected: ManagementPHYs([.le1M, .le2M])),
            "ff7f0000 fe790000 001e0000")
        try check(ManagementSetPHYConfiguration.self, .init(), "")
        try check(
            ManagementAddExtendedAdvertisingParameters.self,
            ExtendedAdvertisingInstanceLimits(
                instance: 1, transmitPower: -3, maximumAdvertisingDataLength: 28, maximumScanResponseLength: 31),
            "01 fd 1c 1f")
    }

    @Test("of a failed command name its device if they have it")
    func failures() throws {
        func text(_ packet: [UInt8]) throws -> String {
            try ManagementPacket(decoding: packet.span.bytes).eventText()
        }
        #expect(
            try text(ManagementUnpairDevice.opcode.complete(device, status: .notPaired))
                == "Command Complete: Unpair Device, \(ManagementStatus.notPaired), \(device)")
        #expect(
            try text(ManagementPairDevice.opcode.complete(status: .invalidParameters))
                == "Command Complete: Pair Device, \(ManagementStatus.invalidParameters), no answer")
    }

    @Test("names are cut at a character, never within one")
    func longNames() throws {
        var information = information
        information.name = String(repeating: "ü", count: 200)
        information.shortName = "ABCDEFGHIJKLM"
        let decoded = try decode(
            ManagementOpcode.readControllerInformation.complete(information), ManagementReadControllerInformation.self)
        #expect(decoded?.name == String(repeating: "ü", count: 124))
        #expect(decoded?.shortName == "ABCDEFGHIJ")
    }

    @Test("a name that is not UTF-8 is shown with replacement characters")
    func invalidName() throws {
        var packet = try ManagementOpcode.readControllerInformation.complete(information)
        packet[9 + 20] = 0xFF
        #expect(try decode(packet, ManagementReadControllerInformation.self)?.name.hasPrefix("\u{FFFD}") == true)
    }

    @Test("settings print their names")
    func settings() {
        #expect("\(ManagementSettings([.powered, .lowEnergy, .staticAddress]))" == "powered, LE, static address")
        #expect("\(ManagementSettings(rawValue: 1 << 30))" == "bit 30")
        #expect("\(ManagementSettings())" == "none")
    }
}
