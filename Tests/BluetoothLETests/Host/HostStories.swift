import BluetoothPrimitives
import BluetoothHCI
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// The session over a scripted host, without a kernel.
@Suite struct HostStories {
    private static let peer = BluetoothAddress(0x001A_7DDA_7113, kind: .public)
    private static let other = BluetoothAddress(0x001A_7DDA_7114, kind: .public)

    private static func key() -> LongTermKey {
        LongTermKey(
            address: peer, kind: .unauthenticated, isCentral: false, encryptionSize: 16,
            value: SecurityKey([UInt8](1...16)) ?? .zero)
    }

    /// Runs `body` with an adapter of a scripted host, in virtual time.
    private static func run(
        _ store: MemoryBondStore = MemoryBondStore(),
        _ body: @escaping @Sendable (ScriptedHost, Adapter) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        try await radio.run(limit: .seconds(600), stallGrace: .seconds(2)) {
            let host = ScriptedHost(on: radio.loop)
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(store)), on: host)
            try await body(host, adapter)
        }
        radio.close()
    }

    @Test func anAdapterIsMadeReadyAndClosed() async throws {
        try await Self.run { host, adapter in
            #expect(adapter.state == .poweredOn)
            #expect(adapter.information.localName == "scripted")
            await adapter.close()
            let calls = await host.loop.run { host.calls }
            #expect(calls == ["prepare leave", "key events of hci0", "close", "directory closed"])
        }
    }

    @Test func onlyTheSocketsOfAKernelAreRecordedAndExamined() async throws {
        try await Self.run { host, _ in
            #expect(await failure { _ = try await PacketTrace.open("/dev/null", on: host) }?.code == .unsupported)
            #expect(await Diagnosis.run(on: host).findings.map(\.subject) == ["process"])
        }
    }

    @Test func aScanReceivesReportsAndIsResumed() async throws {
        try await Self.run { host, adapter in
            var options = ScanOptions()
            options.whenAdapterUnavailable = .resume
            var devices = try await adapter.scan(options).makeAsyncIterator()
            var event = AdvertisingReportEvent(layout: .extended)
            try event.append(
                AdvertisingReport(
                    address: Self.peer, properties: [.connectable, .legacy], rssi: -60, data: [2, 1, 6].span.bytes))
            let packet = event.packet
            try await host.loop.run { try host.report(packet) }
            #expect(try await devices.next()?.address == Self.peer)
            await host.loop.run { host.setPowered(false) }
            #expect(adapter.state == .poweredOff)
            await host.loop.run { host.setPowered(true) }
            #expect(adapter.state == .poweredOn)
            #expect(await host.loop.run { host.calls }.contains("leave"))
        }
    }

    @Test func aValueIsReadAndTheEndIsReported() async throws {
        try await Self.run { host, adapter in
            await host.loop.run { host.answers = [[0x02, 0x05, 0x02]: [0x03, 23, 0], [0x0A, 3, 0]: [0x0B, 42]] }
            let connection = try await adapter.connect(to: Self.peer)
            let value = RemoteAttribute3()
            #expect(try await connection.read(value) == [42])
            #expect(await failure { _ = try await connection.rssi() }?.code == .unsupported)
            await host.loop.run { host.channels.first?.end() }
            #expect(await connection.disconnected().disconnectReason == .remote)
        }
    }

    @Test func advertisingSetsFollowTheHost() async throws {
        try await Self.run { host, adapter in
            let set = try await adapter.advertise(AdvertisementContent(localName: "one"))
            #expect(set.state == .advertising)
            let reason = BluetoothError(.adapterOff, .init("advertise"), "off")
            await host.loop.run { host.tell(.advertising(1, .state(.waiting(reason)))) }
            #expect(set.state == .waiting(reason))
            var states = set.states().makeAsyncIterator()
            await host.loop.run { host.tell(.advertising(1, .state(.advertising))) }
            while let state = try await states.next(), state != .advertising {}
            try await set.update(AdvertisementContent(localName: "two"))
            // What exceeds the host's limits does not reach it.
            let tooMuch = AdvertisementContent(serviceData: [ServiceData(service: 0xFFF0, data: Array(0..<30))])
            #expect(await failure { _ = try await adapter.advertise(tooMuch) }?.code == .invalidArgument)
            #expect(await failure { try await set.update(tooMuch) }?.code == .invalidArgument)
            #expect(set.payloads.data.localName == "two")
            await set.close()
            #expect(await set.closed().code == .cancelled)
            let calls = await host.loop.run { host.calls.filter { $0.contains("advertise") || $0.contains("stop") } }
            #expect(calls == ["advertise 1", "advertise 1", "stop 1"])
        }
    }

    @Test func aCentralIsServedAndPairsAndItsBondIsStored() async throws {
        try await Self.run { host, adapter in
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            var incoming = try await adapter.incomingConnections().makeAsyncIterator()
            await host.loop.run { host.comeIn(from: Self.peer) }
            let connection = try #require(try await incoming.next())
            // The server responds to Exchange MTU.
            await host.loop.run { host.channels.first?.deliver([0x02, 23, 0]) }
            await host.loop.run {}
            await host.loop.run {}
            #expect(await host.loop.run { host.channels.first?.sent.last?.first } == 0x03)
            await host.loop.run { host.tell(PairingEvent.question(.confirm, Self.peer)) }
            var changes = await adapter.bondChanges().makeAsyncIterator()
            let key = LongTermKey(
                address: Self.peer, kind: .unauthenticated, isCentral: false, encryptionSize: 16,
                encryptedDiversifier: 0, randomNumber: 0, value: .zero)
            await host.loop.run { host.tell(.keys(PeerKeys(identity: Self.peer, longTermKeys: [key]), isStored: true)) }
            guard let bond = try await changes.next()?.stored else {
                throw BluetoothError.noAdapter(.init("keep"))
            }
            #expect(bond.identity == Self.peer)
            #expect(await host.loop.run { host.calls }.contains("confirm: yes"))
            #expect(await host.loop.run { host.wantedKeys.count } == 1)
            await connection.disconnect()
            #expect(await host.loop.run { host.channels.first?.isClosed } == true)
        }
    }

    /// As older kernels, which ask nobody for legacy Just Works.
    @Test func theTwoKeysOfALegacyPairingMakeABondWithoutAQuestion() async throws {
        try await Self.run { host, adapter in
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            var incoming = try await adapter.incomingConnections().makeAsyncIterator()
            await host.loop.run { host.comeIn(from: Self.peer) }
            let connection = try #require(try await incoming.next())
            let encrypted = LinkSecurity(level: .medium, keySize: 16)
            func tell(_ value: UInt8) async throws {
                await host.loop.run { host.channels.last?.protection = encrypted }
                let value = try #require(SecurityKey([UInt8](repeating: value, count: 16)))
                for isCentral in [false, true] {
                    let key = LongTermKey(
                        address: Self.peer, kind: .unauthenticatedLegacy, isCentral: isCentral, encryptionSize: 16,
                        encryptedDiversifier: 1, randomNumber: 1, value: value)
                    await host.loop.run {
                        host.tell(.keys(PeerKeys(identity: Self.peer, longTermKeys: [key]), isStored: true))
                    }
                }
            }
            try await tell(1)
            let bonds = await adapter.bonds()
            #expect(bonds.map(\.longTermKeys.count) == [2])
            #expect(await connection.isConnected)
            await connection.disconnect()
            // On another link they would replace it.
            await host.loop.run { host.comeIn(from: Self.peer) }
            let impostor = try #require(try await incoming.next())
            try await tell(2)
            #expect(await impostor.disconnected().pairingFailure == .keyMissing)
            #expect(await adapter.bonds() == bonds)
        }
    }

    @Test func theKeysOfAnAdapterThatIsPluggedInAgainAreFollowed() async throws {
        try await Self.run { host, adapter in
            await host.loop.run { host.unplug() }
            #expect(adapter.state == .absent)
            #expect(await failure { _ = try await adapter.scan() }?.code == .noAdapter)
            await host.loop.run { host.plug() }
            #expect(adapter.state == .poweredOn)
            #expect(await host.loop.run { host.calls.count { $0 == "key events of hci0" } } == 2)
        }
    }

    /// Each load replaces the keys of other programs.
    @Test func keysAreLoadedWhenTheyAreNeeded() async throws {
        let store = MemoryBondStore(
            [Bond(identity: Self.peer, longTermKeys: [Self.key()])],
            of: BluetoothAddress(0x001A_7DDA_7101, kind: .public))
        try await Self.run(store) { host, adapter in
            let loads = { @Sendable in await host.loop.run { host.calls.filter { $0.contains("load keys") }.count } }
            let serving = { @Sendable in await host.loop.run { host.calls.filter { $0.contains("for centrals") } } }
            _ = try await adapter.scan()
            let advertising = try await adapter.advertise(AdvertisementContent(localName: "plain"))
            try await adapter.setPowered(true)
            await host.loop.run { host.answers = [[0x02, 0x05, 0x02]: [0x03, 23, 0]] }
            let stranger = try await adapter.connect(to: Self.other)
            await stranger.disconnect()
            #expect(await loads() == 0)
            #expect(await serving() == [])
            _ = try? await adapter.connect(to: Self.peer)
            #expect(await loads() > 0)
            let published = try await adapter.publish([LocalService(0xFFF0)])
            #expect(await serving() == ["keys for centrals"])
            await published.close()
            #expect(await serving() == ["keys for centrals", "no keys for centrals"])
            await advertising.close()
            await adapter.close()
        }
    }

    /// The links and questions of this program, while another one pairs with a device.
    @Test(arguments: ["no link", "a plain link", "a question about another device", "a pairing that was agreed to"])
    func aKeyIsOfAPairingOfThisProgram(_ state: String) async throws {
        try await Self.run { host, adapter in
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            var incoming = try await adapter.incomingConnections().makeAsyncIterator()
            let isAgreed = state == "a pairing that was agreed to"
            let peer: BluetoothAddress? =
                switch state {
                case "no link": nil
                case "a question about another device": Self.other
                default: Self.peer
                }
            if let peer {
                await host.loop.run { host.comeIn(from: peer) }
                let connection = try #require(try await incoming.next())
                if !isAgreed { try await adapter.setPairingAgent(nil) }
                if state != "a plain link" {
                    await host.loop.run { host.tell(PairingEvent.question(.confirm, peer)) }
                    var turns = 0
                    while turns < 1000, await !host.loop.run({ host.calls.contains { $0.hasPrefix("confirm: ") } }) {
                        turns += 1
                    }
                    #expect(turns < 1000, "the question was not answered")
                }
                if state != "a plain link" { await connection.disconnect() }
            }
            await host.loop.run {
                host.tell(PairingEvent.keys(PeerKeys(identity: Self.peer, longTermKeys: [Self.key()]), isStored: true))
            }
            #expect(await adapter.bonds().count == (isAgreed ? 1 : 0))
            await adapter.close()
        }
    }

    /// A key that another program's pairing has made, and a device that another program has removed.
    @Test func theStoreHasTheBondsOfThisProgram() async throws {
        let store = MemoryBondStore()
        try await Self.run(store) { host, adapter in
            let made = PairingEvent.keys(PeerKeys(identity: Self.peer, longTermKeys: [Self.key()]), isStored: true)
            await host.loop.run { host.tell(made) }
            #expect(await adapter.bonds().isEmpty)
            try await adapter.setBond(Bond(identity: Self.peer, longTermKeys: [Self.key()]))
            var changes = await adapter.bondChanges().makeAsyncIterator()
            await host.loop.run { host.tell(.keysForgotten(Self.peer)) }
            let named = Bond(identity: Self.peer, longTermKeys: [Self.key()], name: "kept")
            try await adapter.setBond(named)
            #expect(try await changes.next()?.stored == named)
            // Another program with this store.
            store.removeBond(with: Self.peer, of: adapter.information.address)
            await host.loop.run { host.tell(.keysForgotten(Self.peer)) }
            #expect(try await changes.next()?.removed == Self.peer)
            #expect(await adapter.bonds().isEmpty)
            await adapter.close()
        }
    }
}

/// An attribute by its handle.
private struct RemoteAttribute3: RemoteAttribute {
    let attributeHandle: AttributeHandle = 3
}
