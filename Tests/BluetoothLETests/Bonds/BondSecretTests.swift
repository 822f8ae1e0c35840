import BluetoothSystem
import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Keys are in their files and in the kernel, and in no output.
@Suite struct BondSecretTests {
    /// The textual forms of sixteen bytes, and of parts of them that occur nowhere else.
    private static func texts(of key: SecurityKey) -> [String] {
        [key.bytes, key.bytes.reversed()].flatMap { bytes in
            let part = Array(bytes.prefix(6))
            return [
                part.hexadecimal, part.map { [$0].hexadecimal }.joined(separator: " "),
                part.map { [$0].hexadecimal }.joined(separator: ":"),
                part.map(String.init).joined(separator: ", "),
                "\(bytes.reduce(0 as UInt128) { $0 << 8 | UInt128($1) })",
            ]
        }
    }

    private static func isSecretKept(_ text: String, _ keys: [SecurityKey]) -> Bool {
        let text = text.uppercased()
        return keys.allSatisfy { key in texts(of: key).allSatisfy { !text.contains($0) } }
    }

    /// Whether a text contains a key.
    static func shows(_ text: String, _ key: SecurityKey) -> Bool { !isSecretKept(text, [key]) }

    private static let bond = BondSamples.bond(first: 1)
    private static var keys: [SecurityKey] { (1...3).map(BondSamples.key) }

    @Test func theTestFindsAKeyThatIsPrinted() {
        for key in Self.keys {
            #expect(!Self.isSecretKept("x \(key.bytes) y", Self.keys))
            #expect(!Self.isSecretKept(key.bytes.hexadecimal, Self.keys))
            #expect(!Self.isSecretKept((key.bytes.reversed() as [UInt8]).hexadecimal, Self.keys))
        }
    }

    @Test func noDescriptionHasKeys() {
        let bond = Self.bond
        var dumped = ""
        dump(bond, to: &dumped)
        dump([bond.identity: bond], to: &dumped)
        dump(bond.longTermKeys, to: &dumped)
        dump(BondChange(.stored(bond)), to: &dumped)
        let own = LocalIdentity(
            staticAddress: BluetoothAddress(0xC0DE_0000_0001, kind: .random), identityResolvingKey: BondSamples.key(1))
        dump(own, to: &dumped)
        for text in [
            "\(own)", String(reflecting: own), "\(ManagementSetPrivacy(.on, own.identityResolvingKey))",
            "\(bond)", String(reflecting: bond), "\([bond])", "\(Optional(bond) as Any)", "\(bond.longTermKeys)",
            "\(BondChange(.stored(bond)))", dumped,
            "\(BondStatus.failed(BluetoothError(.failed, .init("x", peer: bond.identity), "y")))",
        ] {
            #expect(Self.isSecretKept(text, Self.keys), "\(text)")
        }
    }

    @Test func noLogErrorOrTraceHasKeys() async throws {
        try await BondSamples.withDirectory { directory in
            let trace = "\(directory).btsnoop"
            let log = LogRecorder()
            let made = Mutex<[SecurityKey]>([])
            let errors = Mutex<[String]>([])
            let files = try FileBondStore(directory: directory, log: log.log)
            try await files.save(Self.bond, of: BondFixture.centralAddress)
            let failing = try FileBondStore(directory: "/proc/nowhere", log: log.log)
            let error = await failure { try await failing.save(Self.bond, of: .zero) }
            // In virtual time no task waits for a disk.
            let store = MemoryBondStore(
                try await files.bonds(of: BondFixture.centralAddress), of: BondFixture.centralAddress)
            // The clock runs on to the next private address while the trace is written.
            try await BondFixture.run(centralStore: store, limit: .seconds(3000)) { fixture in
                let recording = try await PacketTrace.open(trace, on: fixture.central.kernel, log: log.log)
                let central = try await Adapter.open(
                    power: .powerOn,
                    configuration: .init(bonds: .store(store), privacy: .on, log: log.log, trace: recording),
                    on: fixture.central.kernel)
                try await central.sendToManagement(ManagementSetBondable(true), to: 0)
                let peripheral = try await fixture.peripheral.open(log: log)
                let served = try await peripheral.serve(fixture.base)
                try await fixture.connect(central).disconnect()
                try await fixture.base.settle { await central.bonds().count == 2 }
                var security = SimulatedSecurity(
                    ioCapability: .displayOnly, passkey: 194_357,
                    identity: BluetoothAddress(0xC0DE_0000_0001, kind: .random))
                security.signs = true
                let device = SimulatedPeripheral(
                    on: fixture.base.radio, gatt: try SimulatedGATTServer([CachingTests.battery]))
                device.setSecurity(security)
                try await central.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(194_357))))
                let entered = try await central.connect(to: device.address)
                try await entered.pair(to: .high)
                try await fixture.base.settle { await central.bonds().count == 3 }
                let bonds = await central.bonds()
                #expect(bonds.contains { $0.identityResolvingKey != nil })
                let own = try #require(
                    store.localIdentity(ofAdapterAt: BondFixture.centralAddress.digits, orStore: nil))
                let new =
                    bonds.flatMap { $0.longTermKeys.map(\.value) }
                    + bonds.compactMap(\.identityResolvingKey) + [own.identityResolvingKey]
                await entered.disconnect()
                made.withLock { $0 = new }
                let invalid = await failure {
                    var bond = Self.bond
                    bond.identity = BluetoothAddress(0x4000_0000_0001, kind: .random)
                    try await central.setBond(bond)
                }
                errors.withLock { $0 = [error, invalid].map { "\($0 as Any) \(String(reflecting: $0))" } }
                try await central.removeBond(with: Self.bond.identity)
                await central.close()
                await peripheral.close()
                await recording.close()
                withExtendedLifetime(served) {}
            }
            let keys = Self.keys + made.withLock { $0 }
            #expect(keys.count > Self.keys.count)
            // The keys were transferred: their commands and events are recorded, without their values.
            #expect(log.lines.contains { $0.contains("Load Long Term Keys") })
            #expect(log.lines.contains { $0.contains("New Long Term Key") })
            #expect(log.lines.contains { $0.contains("User Passkey Reply") })
            for line in log.lines + errors.withLock({ $0 }) {
                #expect(Self.isSecretKept(line, keys), "\(line)")
                #expect(!line.contains("194357") && !line.uppercased().contains("35F70200"), "\(line)")
            }
            let recorded = try #require(try SystemFiles.read(trace, limit: 1 << 24))
            try SystemFiles.remove(trace)
            #expect(recorded.count > 1000)
            // The passkey, least significant byte first.
            #expect(!recorded.indices.dropLast(3).contains { recorded[$0..<$0 + 4] == [0x35, 0xF7, 0x02, 0x00] })
            for key in keys {
                for bytes in [key.bytes, key.bytes.reversed()] {
                    #expect(!recorded.contains(bytes), "a key is in the trace")
                }
            }
        }
    }
}

extension [UInt8] {
    /// Whether the first eight of these bytes occur in sequence.
    fileprivate func contains(_ bytes: [UInt8]) -> Bool {
        let part = bytes.prefix(8)
        return indices.dropLast(7).contains { self[$0..<$0 + 8] == part }
    }
}
