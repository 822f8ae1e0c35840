import BluetoothGATT
import Testing

@testable import BluetoothLE

/// Changes of the attributes that a bonded client knows (Core Vol 3 Part G §2.5.2, §7).
@Suite struct BondedChangeTests {
    private static let value: AttributeHandle = PeripheralFixture.value

    @Test("a bonded client is notified once of a change during its absence", arguments: [false, true])
    func changes(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var visit = try await BondedVisit.begin(fixture)
            var link = try await visit.connect()
            let before = try await link.own.discover()
            #expect(before.service(0x180F) == nil)
            // The client has subscribed to Service Changed in the background.
            let theirs = link.theirs
            try await fixture.base.settle { await theirs.isTellingOfChanges }
            await visit.disconnect(link)
            if isRestarted {
                await visit.end()
                visit = try await BondedVisit.begin(
                    fixture, services: [PeripheralFixture.service, CachingTests.battery])
            } else {
                try await visit.peripheral.publish([CachingTests.battery])
            }
            link = try await visit.connect()
            let own = link.own
            let changes = await own.serviceChanges()
            try await fixture.base.radio.sleep(for: .seconds(2))
            let after = try await own.discover()
            #expect(after.service(0x180F) != nil)
            let now = link.theirs
            try await fixture.base.settle { await now.isPeerAware }
            await visit.disconnect(link)
            // The client is change-aware now, also after a restart of both with the same services.
            await visit.end()
            visit = try await BondedVisit.begin(fixture, services: [PeripheralFixture.service, CachingTests.battery])
            link = try await visit.connect()
            #expect(await link.theirs.isPeerAware)
            let unwanted = await link.own.unwantedValueCount
            try await fixture.base.radio.sleep(for: .seconds(2))
            #expect(await link.own.unwantedValueCount == unwanted)
            await visit.disconnect(link)
            await visit.end()
            withExtendedLifetime(changes) {}
        }
    }

    /// The ways to use a characteristic by its name.
    enum NamedUse: CaseIterable, Sendable { case read, write, subscribe }

    /// The bond vouches for the cache until Service Changed arrives, which is later than the first call of a program.
    @Test(
        "a call by UUID uses the attributes of new firmware at once", arguments: NamedUse.allCases, [false, true])
    func newFirmware(_ use: NamedUse, isMoved: Bool) async throws {
        try await BondedVisit.run { visit in
            var link = try await visit.connect()
            let now = try await link.own.discover()
            let (cache, key) = try await visit.cacheOfChanges(link)
            await visit.disconnect(link)
            // The firmware before had the service elsewhere, or not at all.
            var before = now.services
            let index = try #require(before.firstIndex { $0.uuid == 0xFFF0 })
            if isMoved {
                before[index].characteristics[0].valueHandle = before[index].characteristics[1].valueHandle
            } else {
                before.remove(at: index)
            }
            await cache.setDatabase(CachedDatabase(services: before, hash: nil, isFollowed: true), for: key)
            link = try await visit.connect()
            switch use {
            case .read: #expect(try await link.own.read(0xFFF1, in: 0xFFF0) == [7])
            case .write:
                try await link.own.write([4], to: 0xFFF1, in: 0xFFF0)
                #expect(try await link.own.read(Self.value) == [4])
            case .subscribe:
                var values = try await link.own.subscribe(to: 0xFFF1, in: 0xFFF0, kind: .notification)
                    .makeAsyncIterator()
                try await link.theirs.notify([6], of: Self.value)
                #expect(try await values.next() == [6])
            }
            // What there was is forgotten.
            #expect(try await link.own.discover() == now)
            await visit.disconnect(link)
        }
    }

    @Test func aSilentClientIsNotifiedOnceTheLinkIsEncrypted() async throws {
        try await BondedVisit.run { visit in
            let link = try await visit.connect()
            _ = try await link.own.discover()
            let first = link.theirs
            try await visit.base.settle { await first.isTellingOfChanges }
            await visit.disconnect(link)
            try await visit.peripheral.publish([CachingTests.battery])
            let (open, theirs) = try await visit.connectInTheOpen()
            try await visit.base.radio.sleep(for: .seconds(2))
            // A device with only the address receives nothing.
            #expect(await open.unwantedValueCount == 0)
            #expect(await open.encryptForAChannel() != nil)
            try await visit.base.settle { await theirs.isPeerAware }
            #expect(await open.unwantedValueCount == 1)
            await open.disconnect()
        }
    }

    @Test func aBondedDeviceThatIndicatesChangesIsNotQueried() async throws {
        try await BondedVisit.run { visit in
            var link = try await visit.connect()
            let services = try await link.own.discover()
            try await visit.cacheOfChanges(link)
            await visit.disconnect(link)
            link = try await visit.connect()
            try await visit.base.radio.sleep(for: .seconds(1))
            let sent = visit.sentCount
            let again = try await link.own.discover()
            #expect(again == services)
            try await visit.base.radio.sleep(for: .seconds(1))
            #expect(visit.sentCount == sent)
            await visit.disconnect(link)
            // Without the keys its identity is unconfirmed, and its hash is read.
            let (open, _) = try await visit.connectInTheOpen()
            _ = try await open.discover()
            #expect(visit.sentCount > sent)
            await open.disconnect()
        }
    }
}
