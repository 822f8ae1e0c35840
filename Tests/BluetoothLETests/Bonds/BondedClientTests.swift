import BluetoothGATT
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// The stored state of a bonded client, across links and restarts (Core Vol 3 Part G §2.5.2, §2.5.2.1, §3.3.3.3, §7).
@Suite struct BondedClientTests {
    private static let value: AttributeHandle = PeripheralFixture.value

    @Test("a subscription of a bonded client is restored on the next link", arguments: [false, true])
    func subscriptions(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var visit = try await BondedVisit.begin(fixture)
            var link = try await visit.connect()
            try await visit.subscribe(link)
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await visit.disconnect(link)
            if isRestarted {
                await visit.end()
                visit = try await BondedVisit.begin(fixture)
            }
            link = try await visit.connect()
            // The program is notified as of other subscriptions, and of the client's own to Service Changed.
            let told = Mutex<[PeerSubscription]>([])
            let (theirs, own) = (link.theirs, link.own)
            let following = fixture.base.begin {
                for try await subscription in await theirs.peerSubscriptions() {
                    told.withLock { $0.append(subscription) }
                }
            }
            try await fixture.base.settle {
                told.withLock {
                    $0.contains(PeerSubscription(characteristic: Self.value, configuration: .notification))
                }
            }
            following.cancel()
            #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
            try await theirs.notify([42], of: Self.value)
            try await fixture.base.settle { await own.unwantedValueCount == 1 }
            // A removed subscription is not restored.
            let again = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(again.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([0, 0], to: configuration)
            await visit.disconnect(link)
            link = try await visit.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == [])
            await visit.disconnect(link)
            await visit.end()
        }
    }

    @Test func aServiceWithHandlersIsNotifiedOfRestoredSubscriptions() async throws {
        try await BondFixture.run { fixture in
            let told = Mutex<[PeerSubscription]>([])
            let visit = try await BondedVisit.begin(fixture, services: [])
            try await visit.peripheral.publish([LocalService(PeripheralFixture.service)]) { event, _ in
                if case .subscription(let subscription) = event { told.withLock { $0.append(subscription) } }
            }
            let link = try await visit.connect()
            try await visit.subscribe(link)
            await visit.disconnect(link)
            #expect(told.withLock { $0.count } == 1)
            let again = try await visit.connect()
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            #expect(told.withLock { $0 } == [expected, expected])
            await visit.disconnect(again)
            await visit.end()
        }
    }

    /// A value that requires encryption, for a client that sends no request on that link.
    @Test func protectedValuesAreSentOnceTheLinkIsEncrypted() async throws {
        let service = GATTService(
            0xFFF0,
            characteristics: [
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .notify], permissions: [.read, .readEncrypted], value: .stored([7]))
            ])
        try await BondedVisit.run(services: [service]) { visit in
            let link = try await visit.connect()
            try await visit.subscribe(link)
            await visit.disconnect(link)
            let (open, theirs) = try await visit.connectInTheOpen()
            let told = Mutex<[PeerSubscription]>([])
            let following = visit.base.begin {
                for try await subscription in await theirs.peerSubscriptions()
                where subscription.characteristic == Self.value { told.withLock { $0.append(subscription) } }
            }
            try await visit.base.radio.sleep(for: .seconds(2))
            // Unencrypted, the identity is unconfirmed.
            #expect(told.withLock { $0 } == [])
            #expect(await failure { try await theirs.notify([1], of: Self.value) }?.code == .notSubscribed)
            await open.encryptForAChannel()
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            try await visit.base.settle { told.withLock { $0 } == [expected] }
            try await theirs.notify([42], of: Self.value)
            try await visit.base.settle { await open.unwantedValueCount == 1 }
            following.cancel()
            _ = await following.result
            await open.disconnect()
        }
    }

    /// The same address without keys: the protected value is neither read nor sent, the open one is served.
    @Test func anImpostorIsToldToEncryptAndReceivesWhatItSubscribesToInTheOpen() async throws {
        let secret = LocalCharacteristic(
            "FFF1", properties: [.read, .notify], value: [7], permissions: [.read, .readEncrypted])
        let open = LocalCharacteristic("FFF2", properties: [.read, .notify], value: [8])
        try await BondedVisit.run(services: []) { visit in
            let published = try await visit.peripheral.publish { LocalService("FFF0") { [secret, open] } }
            let link = try await visit.connect()
            _ = try await link.own.subscribe(to: try await link.own.found("FFF1", in: "FFF0"))
            await visit.disconnect(link)
            try await visit.central.removeBond(with: BondFixture.peripheralAddress)
            let impostor = try await visit.central.connect(
                to: BondFixture.peripheralAddress, options: ConnectionOptions(security: SecurityOptions(policy: .never))
            )
            let characteristic = try await impostor.found("FFF1", in: "FFF0")
            let error = await failure { _ = try await impostor.read(characteristic) }
            #expect(error?.cause == .attribute(.insufficientEncryption))
            let secrets = try await impostor.subscribe(to: characteristic)
            var values = try await impostor.subscribe(to: try await impostor.found("FFF2", in: "FFF0"))
                .makeAsyncIterator()
            let refused = try await published[secret].notify([0x66])
            #expect(refused.count == 1)
            for delivery in refused {
                guard case .failure(let error) = delivery.result else {
                    Issue.record("the impostor received the value")
                    continue
                }
                #expect(error.cause == .attribute(.insufficientEncryption))
            }
            try await published[open].notify([9])
            #expect(try await values.next() == [9])
            withExtendedLifetime(secrets) {}
            await impostor.disconnect()
        }
    }

    /// Values sent before encryption could reach another device with the same address, and be lost to the client.
    @Test func aSubscriptionIsRestoredOnlyAfterEncryption() async throws {
        try await BondedVisit.run { visit in
            let (characteristic, open, theirs) = try await visit.subscribeAndReturnInTheOpen()
            try await visit.base.radio.sleep(for: .seconds(2))
            // A request makes no difference.
            #expect(try await open.read(characteristic) == [7])
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            let early = await failure { try await theirs.notify([1], of: Self.value) }
            #expect(early?.code == .notSubscribed)
            await open.encryptForAChannel()
            try await visit.base.settle { await theirs.peerConfiguration(of: Self.value) == .notification }
            try await theirs.notify([2], of: Self.value)
            try await visit.base.settle { await open.unwantedValueCount == 1 }
            await open.disconnect()
        }
    }

    /// A central that begins encryption by itself may end the link if it is asked meanwhile.
    @Test func aCentralIsAskedForEncryptionOnceAValueIsDueAndTheLinkIsSilent() async throws {
        try await BondedVisit.run { visit in
            let (characteristic, open, theirs) = try await visit.subscribeAndReturnInTheOpen()
            try await visit.base.radio.sleep(for: .seconds(5))
            #expect(try await theirs.security().level == .low, "nothing was due")
            #expect(await failure { try await theirs.notify([1], of: Self.value) }?.code == .notSubscribed)
            // Its requests put it off.
            for _ in 0..<4 {
                try await visit.base.radio.sleep(for: .milliseconds(700))
                #expect(try await open.read(characteristic) == [7])
                #expect(try await theirs.security().level == .low)
            }
            try await visit.base.settle { await theirs.peerConfiguration(of: Self.value) == .notification }
            #expect(try await theirs.security().level == .medium)
            #expect(await theirs.bondProtection == .confirmed)
            try await theirs.notify([2], of: Self.value)
            try await visit.base.settle { await open.unwantedValueCount == 1 }
            await open.disconnect()
        }
    }

    @Test func writesBeforeEncryptionOverrideStoredSubscriptions() async throws {
        try await BondedVisit.run { visit in
            let link = try await visit.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([1, 0], to: configuration)
            await visit.disconnect(link)
            let (open, theirs) = try await visit.connectInTheOpen()
            try await open.write([0, 0], to: configuration)
            await open.encryptForAChannel()
            try await visit.base.radio.sleep(for: .seconds(2))
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            await open.disconnect()
        }
    }

    @Test func aClientThatIsNotBondedBeginsWithNothing() async throws {
        try await PeripheralFixture.run { fixture in
            try await fixture.peripheral.publish([PeripheralFixture.service])
            let links = try await fixture.peripheral.incomingConnections()
            let advertising = try await fixture.peripheral.advertise(PeripheralFixture.content)
            for _ in 0..<2 {
                let connection = try await fixture.connect()
                try await fixture.base.settle { links.connections.count == 1 }
                let theirs = try #require(links.connections.first)
                #expect(await theirs.peerConfiguration(of: Self.value) == [])
                _ = try await connection.subscribe(to: try await connection.found(0xFFF1, in: 0xFFF0))
                #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
                await connection.disconnect()
                _ = await theirs.disconnected()
            }
            withExtendedLifetime(advertising) {}
        }
    }

    @Test func aDeviceWithOnlyTheAddressChangesNothing() async throws {
        try await BondedVisit.run { visit in
            var link = try await visit.connect()
            try await visit.subscribe(link)
            await visit.disconnect(link)
            // The same address, without a key.
            let (open, _) = try await visit.connectInTheOpen()
            let characteristic = try await open.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await open.write([0, 0], to: configuration)
            await open.disconnect()
            try await visit.base.settle { visit.links.connections.isEmpty }
            link = try await visit.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await visit.disconnect(link)
        }
    }
}
