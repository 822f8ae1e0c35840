import BluetoothLE
import CoreBluetooth
import CoreBluetoothTestSupport
import BluetoothLinux
import Testing

extension Peers {
    /// Programs written to Core Bluetooth, with Bumble's devices and centrals.
    @Suite struct Ported {
        private static func own(_ number: String) -> String { "CA0100\(number)-1234-5678-9ABC-DEF012345678" }

        @Test func aCentralUsesEverything() async throws {
            try await Fixture.run { fixture in
                try await fixture.runPorted {
                    let program = PortedCentral(seeking: "gatt")
                    try await fixture.wait(for: "ready -50", in: program.journal)
                    #expect(program.journal.entries == ["state 5", "found", "connected", "ready -50"])
                    // Other tests write this value, too.
                    program.write(Array("read me".utf8), Self.own("01"))
                    program.read(Self.own("01"))
                    program.write([1, 2, 3], Self.own("01"))
                    program.read(Self.own("01"))
                    program.write([UInt8](repeating: 5, count: 400), Self.own("01"))
                    program.read(Self.own("01"))
                    program.read(Self.own("0A"))
                    program.perform { _, peripheral in
                        if let subject = program.characteristic(Self.own("01")) {
                            peripheral.discoverDescriptors(for: subject)
                        }
                    }
                    try await fixture.wait(for: "descriptor read and write", in: program.journal)
                    let long = [UInt8](repeating: 5, count: 400).hexadecimal
                    #expect(
                        program.journal.entries.dropFirst(4) == [
                            "wrote", "value \(Array("read me".utf8).hexadecimal.lowercased())", "wrote", "value 010203",
                            "wrote",
                            "value \(long)", "value  CBATTError 128", "descriptor read and write",
                        ])
                    for uuid in [Self.own("05"), Self.own("06")] {
                        program.setNotify(true, uuid)
                        let before = program.journal.entries.count
                        try await fixture.wait(
                            for: "notifying true", in: program.journal, count: uuid == Self.own("05") ? 1 : 2)
                        try await fixture.ask("\(uuid == Self.own("05") ? "notify" : "indicate") gatt 0a0b \(uuid)")
                        try await fixture.wait(
                            for: "value 0a0b", in: program.journal, count: uuid == Self.own("05") ? 1 : 2)
                        #expect(program.journal.entries.count == before + 2)
                    }
                    program.setNotify(false, Self.own("05"))
                    try await fixture.wait(for: "notifying false", in: program.journal)
                    try await fixture.ask("drop gatt 0x13")
                    try await fixture.wait(for: "disconnected CBError 7", in: program.journal)
                    program.perform { manager, peripheral in manager.connect(peripheral) }
                    try await fixture.wait(for: "ready -50", in: program.journal, count: 2)
                    program.perform { manager, peripheral in manager.cancelPeripheralConnection(peripheral) }
                    try await fixture.wait(for: "disconnected", in: program.journal)
                    program.end()
                }
            }
        }

        /// The documented loop that calls itself for each chunk; the size can be chosen by hand.
        @Test func everyByteOfManyChunksComesBack() async throws {
            let size = getenv("BLUETOOTH_PEERS_BYTES").flatMap { Int(String(cString: $0)) } ?? 1 << 17
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            try await Fixture.run { fixture in
                try await fixture.runPorted {
                    let queue = DispatchQueue(label: "program")
                    let sender = ChunkSender(bytes, chunkLength: nil, named: "LINBLE-ECHO", queue: queue)
                    let start = ContinuousClock.now
                    let found = await sender.journal.wait(on: try LinuxKernel.shared.loop, limit: .seconds(240)) {
                        $0.contains("all received")
                    }
                    #expect(found != nil, "\(sender.received.count) of \(bytes.count) bytes")
                    let received = queue.sync { sender.received }
                    #expect(received == bytes)
                    #expect(sender.greatestDepth <= 65)
                    print("\(size) bytes there and back in \(ContinuousClock.now - start), \(sender.pauses) pauses")
                    queue.sync { sender.end() }
                }
            }
        }

        @Test func aPeripheralServesACentral() async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                try await fixture.runPorted {
                    let program = PortedPeripheral()
                    try await fixture.wait(for: "advertising true", in: program.journal)
                    let address = fixture.adapter.information.address
                    try await fixture.ask(
                        "call central connect \(address.digits) \(address.kind == .public ? "public" : "random")")
                    let found = try await fixture.ask("call central find")
                    #expect(found.contains("FFF1") && found.contains("FFF2"), "\(found)")
                    let fixed = try await fixture.ask("call central read FFF3")
                    #expect(fixed == Array("fixed".utf8).hexadecimal.lowercased())
                    #expect(try await fixture.ask("call central read FFF1") == "010203")
                    try await fixture.ask("call central write FFF1 0a0b0c0d")
                    #expect(try await fixture.ask("call central read FFF1") == "0a0b0c0d")
                    await #expect(throws: FixtureError.self) { _ = try await fixture.ask("call central write FFF1 ee") }
                    let long = [UInt8](repeating: 6, count: 512).hexadecimal
                    try await fixture.ask("call central long FFF1 \(long)")
                    #expect(try await fixture.ask("call central read FFF1") == long)
                    try await fixture.ask("call central subscribe FFF2")
                    try await fixture.wait(for: "subscribed true 512", in: program.journal)
                    let count = 500
                    program.send(count)
                    var values: [Substring] = []
                    let deadline = ContinuousClock.now + .seconds(60)
                    while values.count < count, ContinuousClock.now < deadline {
                        values += try await fixture.ask("call central got").split(separator: ",")
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    #expect(
                        values
                            == (0..<count).map {
                                [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)].hexadecimal
                                    .lowercased()[...]
                            })
                    // More than there was room for, and the program was notified when there was.
                    #expect(program.refusals > 0)
                    #expect(program.journal.entries.contains("ready"))
                    try await fixture.ask("call central unsubscribe FFF2")
                    try await fixture.wait(for: "unsubscribed true", in: program.journal)
                    let told = program.journal.entries.filter { $0 != "ready" }
                    #expect(
                        told == [
                            "state 5", "advertising true", "read 0", "wrote 4 in 1", "read 0", "wrote 1 in 1",
                            "wrote 512 in 1", "read 0", "subscribed true 512", "unsubscribed true",
                        ], "\(told)")
                    try await fixture.ask("call central close")
                    program.end()
                }
            }
        }
    }

    /// Programs written to Core Bluetooth that pair without code of their own for it.
    @Suite struct PairingPorted {
        @Test func whatIsProtectedIsPairedForAndARestartNeedsNoPairing() async throws {
            try await Fixture.run { fixture in
                let bonds = MemoryBondStore()
                for round in 0..<2 {
                    try await fixture.runPorted(bonds: bonds) {
                        let program = PortedCentral(seeking: "ported")
                        try await fixture.wait(for: "ready -50", in: program.journal)
                        program.setNotify(true, Echo.tx.description)
                        try await fixture.wait(for: "notifying true", in: program.journal)
                        program.write([1, 2, UInt8(round)], Echo.rx.description)
                        try await fixture.wait(for: "value 01020\(round)", in: program.journal)
                        #expect(
                            Set(program.journal.entries.dropFirst(4)) == [
                                "notifying true", "wrote", "value 01020\(round)",
                            ])
                        program.end()
                    }
                    // From now on it rejects every pairing.
                    try await fixture.wait(for: "no link") { try await fixture.links(of: "ported") == 0 }
                    try await fixture.ask("pairing ported no")
                }
            }
        }

        @Test func thePasskeyOfADeviceIsEntered() async throws {
            try await Fixture.run { fixture in
                try await fixture.runPorted(agent: FixedPasskeyAgent(try #require(Passkey(42042)))) {
                    let program = PortedCentral(seeking: "ported-shown")
                    try await fixture.wait(for: "ready -50", in: program.journal)
                    program.write([1], Echo.rx.description)
                    try await fixture.wait(for: "wrote", in: program.journal)
                    program.end()
                }
            }
        }

        @Test func aCentralPairsForWhatAProgramOffers() async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                try await fixture.runPorted(agent: JustWorksPairingAgent()) {
                    let program = PortedPeripheral(isProtected: true)
                    try await fixture.wait(for: "advertising true", in: program.journal)
                    try await fixture.beConnected(by: "ported-caller")
                    try await fixture.ask("call ported-caller find")
                    await #expect(throws: FixtureError.self) {
                        _ = try await fixture.ask("call ported-caller read FFF1")
                    }
                    await #expect(throws: FixtureError.self) {
                        _ = try await fixture.ask("call ported-caller write FFF1 01")
                    }
                    #expect(program.journal.entries == ["state 5", "advertising true"])
                    try await fixture.ask("call ported-caller pair")
                    #expect(try await fixture.ask("call ported-caller read FFF1") == "010203")
                    try await fixture.ask("call ported-caller write FFF1 01")
                    #expect(program.journal.entries == ["state 5", "advertising true", "read 0", "wrote 1 in 1"])
                    try await fixture.ask("call ported-caller close")
                    program.end()
                }
            }
        }

        @Test func withoutAnAgentStrangersAreRefused() async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                try await fixture.runPorted {
                    let program = PortedPeripheral(isProtected: true)
                    try await fixture.wait(for: "advertising true", in: program.journal)
                    try await fixture.beConnected(by: "ported-unwelcome")
                    await #expect(throws: FixtureError.self) { _ = try await fixture.ask("call ported-unwelcome pair") }
                    #expect(program.journal.entries == ["state 5", "advertising true"])
                    program.end()
                }
            }
        }
    }
}
