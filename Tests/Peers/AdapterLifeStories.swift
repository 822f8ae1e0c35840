import BluetoothLE
import Glibc
import TestSupport
import Testing

extension Peers {
    /// An adapter that is powered off, blocked and unplugged while it is in use, and comes back.
    @Suite struct AdapterLife {
        /// Checks that every pending operation ends with `code` when the adapter leaves.
        private static func expectEverythingEnds(
            _ code: BluetoothError.Code, _ fixture: Fixture, _ happen: () async throws -> Void
        ) async throws {
            let connection = try await fixture.connect(to: "LINBLE-ECHO")
            let values = try await connection.subscribe(to: try await connection.find(Echo.tx))
            let ending = try await fixture.adapter.scan()
            let tasks = [
                Task { for try await _ in values {} },
                Task { while true { _ = try await connection.discoverServices() } },
                Task { for try await _ in ending {} }, Task { throw await connection.disconnected() },
                Task { _ = try await fixture.adapter.connect(to: BluetoothAddress(0xC000_0000_0001, kind: .random)) },
            ]
            try await Task.sleep(for: .seconds(1))
            try await happen()
            for (number, task) in tasks.enumerated() {
                let error = await failure { try await task.value }
                #expect(error?.code == code, "\(number): \(String(describing: error))")
            }
            try await fixture.wait(for: "the state") { !fixture.adapter.state.isReady }
            let refused = await failure { _ = try await fixture.adapter.scan() }
            #expect(refused?.code == code)
        }

        /// Checks that the adapter works: it receives advertisements and connects.
        private static func expectAllIsWell(_ fixture: Fixture) async throws {
            try await fixture.adapter.ready(timeout: .seconds(20))
            let address = try fixture["LINBLE-ECHO"]
            _ = try await fixture.adapter.firstAdvertisement(timeout: .seconds(20)) { $0.address == address }
            let connection = try await fixture.connect(to: "LINBLE-ECHO")
            _ = try await connection.discover()
            await connection.disconnect()
        }

        /// A scan with the resume policy.
        private static func resumingScan(_ fixture: Fixture) async throws -> BoundedStream<Advertisement> {
            var options = ScanOptions()
            options.duplicates = .all
            options.whenAdapterUnavailable = .resume
            return try await fixture.adapter.scan(options)
        }

        @Test func powerOffAndOn() async throws {
            try await Fixture.run { fixture in
                let other = try await Adapter.open()
                let scan = try await Self.resumingScan(fixture)
                try await Self.expectEverythingEnds(.adapterOff, fixture) { try await other.setPowered(false) }
                #expect(fixture.adapter.state == .poweredOff)
                try await other.setPowered(true)
                let back = fixture.adapter.loop.now
                for try await advertisement in scan where advertisement.time > back { break }
                try await Self.expectAllIsWell(fixture)
                await other.close()
            }
        }

        @Test func aRadioSwitch() async throws {
            try await Fixture.run { fixture in
                let scan = try await Self.resumingScan(fixture)
                try await Self.expectEverythingEnds(.adapterBlocked, fixture) { try Self.setBlocked(true) }
                #expect(fixture.adapter.state == .blocked(isHard: false))
                let error = await failure { try await fixture.adapter.ready(timeout: .seconds(1)) }
                #expect(error?.code == .adapterBlocked)
                // The kernel does not power it on again, but the adapter was opened with a policy that does.
                try Self.setBlocked(false)
                try await Self.expectAllIsWell(fixture)
                let now = fixture.adapter.loop.now
                for try await advertisement in scan where advertisement.time > now { break }
            }
        }

        @Test func unpluggedAndPluggedInAgainWithAnotherIndex() async throws {
            try await Fixture.run { fixture in
                let (address, index) = (fixture.adapter.information.address, fixture.adapter.information.index)
                let scan = try await Self.resumingScan(fixture)
                var changes = try await Adapter.changes().makeAsyncIterator()
                #expect(try await changes.next()?.adapter.index == index)
                try await Self.expectEverythingEnds(.noAdapter, fixture) { try await fixture.ask("unplug \(index)") }
                #expect(fixture.adapter.state == .absent)
                // Another adapter gets its index.
                let taken = try await fixture.ask("plug")
                try await fixture.ask("plug \(address.digits)")
                try await Self.expectAllIsWell(fixture)
                #expect(fixture.adapter.information.address == address)
                #expect(fixture.adapter.information.name != taken)
                let now = fixture.adapter.loop.now
                for try await advertisement in scan where advertisement.time > now { break }
                var told: [String] = []
                while told.last != "removed", let change = try await changes.next() {
                    if change.isRemoval { told.append("removed") }
                }
                try await fixture.ask("unplug \(taken.dropFirst(3))")
            }
        }

        /// Sets every Bluetooth radio switch of the machine, as `rfkill block bluetooth` does.
        private static func setBlocked(_ isBlocked: Bool) throws {
            let descriptor = open("/dev/rfkill", O_WRONLY)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            // An event of linux/rfkill.h: no switch in particular, Bluetooth, change all.
            let event: [UInt8] = [0, 0, 0, 0, 2, 3, isBlocked ? 1 : 0, 0]
            try #require(write(descriptor, event, event.count) == event.count)
        }
    }
}
