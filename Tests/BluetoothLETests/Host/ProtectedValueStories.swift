import BluetoothGATT
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Protected values over links of every security, to bonded devices and to impostors that have only the address of one
/// (Core Vol 3 Part C §10.3, §10.5).
@Suite struct ProtectedValueStories {
    private static let peer = BluetoothAddress(0x001A_7DDA_7113, kind: .public)
    private static let plain = LinkSecurity(level: .low, keySize: 0)
    private static let encrypted = LinkSecurity(level: .medium, keySize: 16)
    private static let authenticated = LinkSecurity(level: .fips, keySize: 16)

    private static func key(_ kind: LongTermKey.Kind) -> LongTermKey {
        LongTermKey(
            address: peer, kind: kind, isCentral: false, encryptionSize: 16, encryptedDiversifier: 0, randomNumber: 0,
            value: .zero)
    }

    /// A server with a value for each requirement, and the requests that its program receives.
    private final class Served: Sendable {
        let radio: SimulatedRadio
        let host: ScriptedHost
        let adapter: Adapter
        let published: PublishedServices
        /// The reads and writes of handlers, and the questions of authorisation, with the client's security.
        let asked: Asked

        final class Asked: Sendable {
            private let entries = Mutex<[String]>([])
            var all: [String] { entries.withLock { $0 } }
            func note(_ what: String, _ security: LinkSecurity, _ isBonded: Bool) {
                entries.withLock { $0.append("\(what), \(security.level), \(isBonded ? "bonded" : "not bonded")") }
            }
        }

        let open: LocalCharacteristic
        let encrypted: LocalCharacteristic
        let bonded: LocalCharacteristic
        let authorized: LocalCharacteristic

        init(_ radio: SimulatedRadio, _ host: ScriptedHost, _ adapter: Adapter) async throws {
            (self.radio, self.host, self.adapter) = (radio, host, adapter)
            let asked = Asked()
            func characteristic(_ uuid: BluetoothUUID, _ required: AttributePermissions) -> LocalCharacteristic {
                LocalCharacteristic(
                    uuid, properties: [.read, .write, .writeWithoutResponse, .notify],
                    permissions: required.union([.read, .write])
                )
                .onRead { request in
                    asked.note("read \(request.uuid)", request.security, request.isBonded)
                    return [7]
                }
                .onWrite { request in
                    asked.note("write \(request.uuid)", request.security, request.isBonded)
                    // A slow program: what follows waits.
                    if request.value == [0x51] { try await radio.sleep(for: .seconds(1)) }
                }
            }
            open = characteristic("FFF1", [])
            encrypted = characteristic("FFF2", [.readEncrypted, .writeEncrypted])
            bonded = characteristic("FFF3", [.readBonded, .writeBonded])
            authorized = characteristic(
                "FFF4", [.readAuthorized, .writeAuthorized, .readAuthenticated, .writeAuthenticated])
            let authorizing: Authorizer = { request in
                asked.note("authorise \(request.access) \(request.uuid)", request.security, request.isBonded)
                return .once
            }
            published = try await adapter.publish(
                [LocalService("FFF0", characteristics: [open, encrypted, bonded, authorized])],
                authorizing: authorizing)
            self.asked = asked
        }

        /// The octets of the handle of a value, or of the one after it, which is its configuration.
        func handle(_ characteristic: LocalCharacteristic, plus distance: UInt16 = 0) -> [UInt8] {
            let handle = (published[characteristic].handle?.rawValue ?? 0) + distance
            return [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
        }

        /// Stores the bond with the peer.
        func bond(_ kind: LongTermKey.Kind, client: GATTClientRecord? = nil) async throws {
            try await adapter.setBond(
                Bond(identity: peer, longTermKeys: [key(kind)], time: 1, wasUsedAgain: true, client: client))
        }

        /// A link over which the peer is the client: as the central of it, or as the peripheral.
        func link(as role: ConnectionRole, _ security: LinkSecurity) async throws -> Connection {
            let connection: Connection
            if role == .peripheral {
                var incoming = try await adapter.incomingConnections().makeAsyncIterator()
                await host.loop.run { host.comeIn(from: peer) }
                connection = try #require(try await incoming.next())
            } else {
                // The scripted host encrypts no link.
                connection = try await adapter.connect(to: peer, options: .unencrypted)
            }
            await secure(security)
            return connection
        }

        func secure(_ security: LinkSecurity) async {
            await host.loop.run { host.channels.last?.protection = security }
        }

        /// Sends a PDU of the client.
        func deliver(_ pdu: [UInt8]) async { await host.loop.run { host.channels.last?.deliver(pdu) } }

        /// The sent responses and notifications.
        var sent: [[UInt8]] {
            get async {
                let packets = await host.loop.run { host.channels.last?.sent ?? [] }
                return packets.filter { $0.first.map { $0 & 1 } == 1 }
            }
        }

        /// The response to a request; nil if there is none within 5 s.
        func response(to pdu: [UInt8]) async throws -> [UInt8]? {
            let count = await sent.count
            await deliver(pdu)
            return try await response(after: count)
        }

        func response(after count: Int) async throws -> [UInt8]? {
            for _ in 0..<500 {
                let sent = await sent
                if sent.count > count { return sent[count] }
                try await radio.sleep(for: .milliseconds(10))
            }
            return nil
        }

        /// The error code of a read; 0 when it succeeds.
        func read(_ characteristic: LocalCharacteristic) async throws -> UInt8? {
            let response = try await response(to: [0x0A] + handle(characteristic))
            return response?.first == 0x0B ? 0 : response?.last
        }

        /// The error code of a write; 0 when it succeeds.
        func write(_ characteristic: LocalCharacteristic) async throws -> UInt8? {
            let response = try await response(to: [0x12] + handle(characteristic) + [1])
            return response?.first == 0x13 ? 0 : response?.last
        }
    }

    private static func run(_ body: @escaping @Sendable (Served) async throws -> Void) async throws {
        let radio = SimulatedRadio()
        try await radio.run(limit: .seconds(600), stallGrace: .seconds(2)) {
            let host = ScriptedHost(on: radio.loop)
            await radio.loop.run { host.answers = [[0x02, 0x05, 0x02]: [0x03, 23, 0]] }
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(MemoryBondStore())), on: host)
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            try await body(try await Served(radio, host, adapter))
            await adapter.close()
        }
        radio.close()
    }

    /// A link, and the error codes of its client for the values that require encryption, a bond and authorisation.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bond: LongTermKey.Kind?
        var security: LinkSecurity
        var codes: [UInt8]
    }

    static let cases = [
        Case(testDescription: "a stranger", security: plain, codes: [0x05, 0x05, 0x05]),
        Case(testDescription: "a stranger, encrypted", security: encrypted, codes: [0, 0x05, 0x05]),
        Case(testDescription: "a stranger, authenticated", security: authenticated, codes: [0, 0x08, 0]),
        Case(testDescription: "bonded", bond: .unauthenticated, security: plain, codes: [0x0F, 0x05, 0x05]),
        Case(testDescription: "bonded, encrypted", bond: .unauthenticated, security: encrypted, codes: [0, 5, 5]),
        Case(testDescription: "authenticated bond", bond: .authenticated, security: plain, codes: [0x0F, 0x0F, 0x0F]),
        Case(
            testDescription: "authenticated bond, encrypted with less", bond: .authenticated, security: encrypted,
            codes: [0, 0x05, 0x05]),
        Case(
            testDescription: "authenticated bond, authenticated", bond: .authenticated, security: authenticated,
            codes: [0, 0, 0]),
    ]

    @Test("each link learns what it lacks, in both roles", arguments: cases, [ConnectionRole.peripheral, .central])
    func codes(_ link: Case, _ role: ConnectionRole) async throws {
        try await Self.run { served in
            if let kind = link.bond { try await served.bond(kind) }
            let connection = try await served.link(as: role, link.security)
            for (value, code) in zip([served.encrypted, served.bonded, served.authorized], link.codes) {
                #expect(try await served.read(value) == code, "read \(value.uuid)")
                #expect(try await served.write(value) == code, "write \(value.uuid)")
                // In parts: refused at the first one.
                let part = try await served.response(to: [0x16] + served.handle(value) + [0, 0, 1])
                #expect(code == 0 ? part?.first == 0x17 : part?.last == code, "prepare \(value.uuid)")
                #expect(try await served.response(to: [0x18, 0]) == [0x19])
            }
            // What the program sees is what the link has; without it, the program sees nothing.
            // As the central, a host may report the level that was asked for.
            let isBondsOwn = link.security == Self.authenticated || link.bond == .unauthenticated || role == .central
            let isBonded = link.bond != nil && link.security.isEncrypted && isBondsOwn ? "bonded" : "not bonded"
            #expect(served.asked.all.allSatisfy { $0.hasSuffix(", \(link.security.level), \(isBonded)") })
            #expect(served.asked.all.contains { $0.hasPrefix("authorise") } == (link.codes[2] == 0))
            #expect(served.asked.all.contains { $0.contains("FFF3") } == (link.codes[1] == 0))
            await connection.disconnect()
        }
    }

    @Test func anImpostorWithTheAddressIsServedInTheOpenAlone() async throws {
        try await Self.run { served in
            try await served.bond(.authenticated)
            let connection = try await served.link(as: .peripheral, Self.plain)
            for value in [served.open, served.bonded] {
                #expect(try await served.response(to: [0x12] + served.handle(value, plus: 1) + [1, 0]) == [0x13])
            }
            // A subscription alone gets nothing out of a protected value.
            let refused = try await served.published[served.bonded].notify([0x66])
            #expect(refused.map { code(of: $0.result) } == [.insufficientEncryption])
            let sent = try await served.published[served.open].notify([1])
            #expect(sent.map { code(of: $0.result) } == [nil])
            #expect(await served.sent.last == [0x1B] + served.handle(served.open) + [1])
            #expect(try await served.read(served.open) == 0)
            // Commands are dropped.
            await served.deliver([0x52] + served.handle(served.bonded) + [9])
            await served.deliver([0x52] + served.handle(served.authorized) + [9])
            #expect(try await served.write(served.open) == 0)
            #expect(
                served.asked.all == ["read FFF1, low, not bonded", "write FFF1, low, not bonded"])
            await connection.disconnect()
        }
    }

    @Test func aRestoredSubscriptionWaitsForTheBondsKey() async throws {
        try await Self.run { served in
            let handle = try #require(served.published[served.bonded].handle)
            let subscription = GATTClientRecord.Subscription(
                characteristic: handle, type: "FFF3", configuration: .notification)
            try await served.bond(.authenticated, client: GATTClientRecord(subscriptions: [subscription]))
            let connection = try await served.link(as: .peripheral, Self.plain)
            for security in [Self.plain, Self.encrypted, Self.authenticated] {
                await served.secure(security)
                #expect(try await served.read(served.open) == 0)
                #expect(connection.peerSubscriptionsNow.isEmpty == (security != Self.authenticated))
                let result = try await served.published[served.bonded].notify([3]).first?.result
                #expect((result.map { code(of: $0) == nil } ?? false) == (security == Self.authenticated))
            }
            #expect(await served.sent.filter { $0.first == 0x1B } == [[0x1B] + served.handle(served.bonded) + [3]])
            await connection.disconnect()
        }
    }

    /// The controller reports encryption before the host; a kernel knows the key's size earlier than the level.
    @Test(arguments: [0, 16])
    func aRestoredSubscriptionIsKnownBeforeTheHostKnowsTheLevel(_ keySize: Int) async throws {
        try await Self.run { served in
            let handle = try #require(served.published[served.encrypted].handle)
            let subscription = GATTClientRecord.Subscription(
                characteristic: handle, type: "FFF2", configuration: .notification)
            try await served.bond(.unauthenticated, client: GATTClientRecord(subscriptions: [subscription]))
            let early = LinkSecurity(level: .low, keySize: keySize)
            let connection = try await served.link(as: .peripheral, early)
            #expect(connection.peerSubscriptionsNow.isEmpty)
            await served.host.loop.run {
                guard let channel = served.host.channels.last else { return }
                served.host.tell(.security(.encrypted(nil)), of: channel)
            }
            #expect(connection.peerSubscriptionsNow.count == 1)
            await connection.disconnect()
        }
    }

    /// Clients repeat a refused request once the link is encrypted; the keys are distributed after that.
    @Test func aRequestWaitsForTheKeysOfItsPairing() async throws {
        try await Self.run { served in
            let connection = try await served.link(as: .peripheral, Self.plain)
            #expect(try await served.read(served.bonded) == 0x05)
            await served.secure(Self.authenticated)
            let count = await served.sent.count
            await served.deliver([0x0A] + served.handle(served.bonded))
            try await served.radio.sleep(for: .milliseconds(300))
            #expect(await served.sent.count == count)
            await served.host.loop.run {
                let key = Self.key(.authenticated)
                served.host.tell(.keys(PeerKeys(identity: Self.peer, longTermKeys: [key]), isStored: true))
            }
            #expect(try await served.response(after: count) == [0x0B, 7])
            #expect(served.asked.all == ["read FFF3, secure-connections, bonded"])
            await connection.disconnect()
        }
    }

    @Test func aDeviceThatDoesNotBondIsRefusedAsUnauthorized() async throws {
        try await Self.run { served in
            let connection = try await served.link(as: .peripheral, Self.authenticated)
            // No key comes.
            var start = served.radio.now
            #expect(try await served.read(served.bonded) == 0x08)
            #expect(start.duration(to: served.radio.now) < .seconds(3))
            await served.host.loop.run {
                served.host.tell(
                    .keys(PeerKeys(identity: Self.peer, longTermKeys: [Self.key(.authenticated)]), isStored: false))
            }
            start = served.radio.now
            #expect(try await served.write(served.bonded) == 0x08)
            #expect(start.duration(to: served.radio.now) < .seconds(1))
            await served.deliver([0x52] + served.handle(served.bonded) + [9])
            #expect(try await served.read(served.open) == 0)
            #expect(served.asked.all == ["read FFF1, secure-connections, not bonded"])
            await connection.disconnect()
        }
    }

    /// Legacy pairing without bonding leaves no key; that of Secure Connections one that is not stored.
    @Test("a device with the address that pairs without bonding is not the bonded one", arguments: [false, true])
    func pairingAnew(_ hasKey: Bool) async throws {
        try await Self.run { served in
            try await served.bond(.authenticated)
            let connection = try await served.link(as: .peripheral, Self.plain)
            await served.host.loop.run { served.host.tell(PairingEvent.question(.confirm, Self.peer)) }
            try await served.radio.sleep(for: .milliseconds(100))
            await served.secure(Self.authenticated)
            if hasKey {
                await served.host.loop.run {
                    served.host.tell(
                        .keys(PeerKeys(identity: Self.peer, longTermKeys: [Self.key(.authenticated)]), isStored: false))
                }
                // It has replaced the key of the bond in the host.
                #expect(await connection.disconnected().pairingFailure == .keyMissing)
                #expect(served.asked.all.isEmpty)
                return
            }
            #expect(try await served.read(served.open) == 0)
            #expect(try await served.read(served.bonded) == 0x08)
            #expect(served.asked.all == ["read FFF1, secure-connections, not bonded"])
            await connection.disconnect()
        }
    }

    @Test func aKeyOfAnotherProgramsPairingIsNoneOfTheBond() async throws {
        try await Self.run { served in
            try await served.bond(.authenticated)
            await served.host.loop.run {
                var key = Self.key(.authenticated)
                key.value = SecurityKey([UInt8](repeating: 0xEE, count: 16)) ?? key.value
                served.host.tell(.keys(PeerKeys(identity: Self.peer, longTermKeys: [key]), isStored: true))
            }
            let stranger = try await served.link(as: .peripheral, Self.authenticated)
            #expect(try await served.read(served.bonded) == 0x08)
            #expect(await stranger.bondProtection == .unconfirmed)
            await stranger.disconnect()
            // With the end of a link, the bonds are read again.
            await served.host.loop.run { served.host.tell(PairingEvent.linkEnded) }
            try await served.radio.sleep(for: .milliseconds(100))
            let connection = try await served.link(as: .peripheral, Self.authenticated)
            #expect(try await served.read(served.bonded) == 0)
            await connection.disconnect()
        }
    }

    /// A device that claims another's identity: the link of that one made no key.
    @Test func aClaimIsNoMatterOfTheGenuineLink() async throws {
        try await Self.run { served in
            try await served.bond(.authenticated)
            let connection = try await served.link(as: .peripheral, Self.authenticated)
            #expect(await connection.bondProtection == .confirmed)
            await served.host.loop.run {
                served.host.tell(.keys(PeerKeys(identity: Self.peer), isStored: true))
            }
            #expect(await connection.bondProtection == .confirmed)
            #expect(try await served.read(served.bonded) == 0)
            await connection.disconnect()
        }
    }

    @Test func aCommandThatArrivedInTheOpenStaysSo() async throws {
        try await Self.run { served in
            try await served.bond(.authenticated)
            let connection = try await served.link(as: .peripheral, Self.plain)
            // The first keeps the program busy; the second is injected before the genuine device encrypts.
            await served.deliver([0x52] + served.handle(served.open) + [0x51])
            await served.deliver([0x52] + served.handle(served.open) + [9])
            try await served.radio.sleep(for: .milliseconds(200))
            await served.secure(Self.authenticated)
            #expect(try await served.read(served.bonded) == 0)
            #expect(
                served.asked.all == [
                    "write FFF1, low, not bonded", "write FFF1, low, not bonded",
                    "read FFF3, secure-connections, bonded",
                ])
            await connection.disconnect()
        }
    }
}

/// The error code for which a value was not sent; nil when it was.
private func code(of result: Result<Void, BluetoothError>) -> ATTErrorCode? {
    guard case .failure(let error) = result, let code = error.cause?.attributeErrorCode else { return nil }
    return code
}
