import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// Connects of a group whose controllers have no room for another link.
@Suite struct GroupRoomTests {
    /// Connects to one device by each adapter, which are full then.
    private static func fill(_ fixture: GroupFixture) async throws -> [Connection] {
        var held: [Connection] = []
        for number in fixture.adapters.indices {
            let peripheral = try fixture.makePeripheral()
            try await fixture.learn(peripheral)
            let connection = try await fixture.group.connect(to: peripheral.address)
            #expect(fixture.adapters(linkedTo: connection.peer) == [UInt16(number)])
            #expect(await connection.adapterName == "hci\(number)")
            held.append(connection)
        }
        return held
    }

    @Test func aFullGroupRefusesAtOnceOrAtTheTimeLimit() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let held = try await Self.fill(fixture)
            let other = try fixture.makePeripheral()
            try await fixture.learn(other)
            for limit in [Duration.zero, .seconds(20)] {
                let start = fixture.radio.now
                let error = await failure {
                    let options = ConnectionOptions(slotTimeout: limit)
                    _ = try await fixture.group.connect(to: other.address, options: options)
                }
                #expect(error?.code == .linkLimitReached)
                let time = start.duration(to: fixture.radio.now)
                let least = limit
                #expect(time >= least && time < least + .seconds(10), "\(time)")
                #expect(other.links.isEmpty)
                for adapter in fixture.adapters { #expect(await adapter.session.slotWaiterCount == 0) }
            }
            for connection in held { await connection.disconnect() }
        }
    }

    @Test(arguments: [[0, 1, 0], [1, 1, 0], [1, 0, 1]])
    func waitersAreAdmittedInTheirOrder(_ freed: [Int]) async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            var held = try await Self.fill(fixture)
            var waiters: [Task<Connection, any Error>] = []
            for count in 1...freed.count {
                let peripheral = try fixture.makePeripheral()
                try await fixture.learn(peripheral)
                waiters.append(
                    fixture.base.begin {
                        try await fixture.group.connect(
                            to: peripheral.address, options: ConnectionOptions(slotTimeout: .seconds(1000)))
                    })
                try await fixture.base.settle {
                    let (one, two) = await (
                        fixture.adapters[0].session.slotWaiterCount, fixture.adapters[1].session.slotWaiterCount
                    )
                    return one == count && two == count
                }
            }
            for (waiter, adapter) in zip(waiters, freed) {
                await held[adapter].disconnect()
                let connection = try await waiter.value
                #expect(await connection.adapterName == "hci\(adapter)")
                held[adapter] = connection
            }
            for connection in held { await connection.disconnect() }
        }
    }

    /// The other adapter does not reach the device; the one that was full gets room in time.
    @Test(arguments: [Duration.zero, .seconds(100)])
    func anAdapterThatGetsRoomTakesPartAgain(_ slotTimeout: Duration) async throws {
        try await GroupFixture.run(links: [1, nil]) { fixture in
            let (one, two) = (try fixture.makePeripheral(), try fixture.makePeripheral())
            let held = try await fixture.adapters[0].connect(to: one.address)
            fixture.radio.setInRange(false, fixture.address(1), two.address)
            let connect = fixture.base.begin {
                let options = ConnectionOptions(timeout: .seconds(8), slotTimeout: slotTimeout)
                return try await fixture.group.connect(to: two.address, options: options)
            }
            try await fixture.radio.sleep(for: .seconds(4))
            await held.disconnect()
            let connection = try await connect.value
            #expect(await connection.adapterName == "hci0")
            await connection.disconnect()
        }
    }

    /// An adapter joins that turns out to have no room, while another connect waits behind on the first.
    @Test func anAdapterThatJoinsDoesNotCostTheTurn() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let held = try await Self.fill(fixture)
            let group = try await AdapterGroup([fixture.adapters[0]])
            let peripherals = try (0...1).map { _ in try fixture.makePeripheral() }
            let options = ConnectionOptions(slotTimeout: .seconds(1000))
            let first = fixture.base.begin { try await group.connect(to: peripherals[0].address, options: options) }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            let second = fixture.base.begin {
                try await fixture.adapters[0].connect(to: peripherals[1].address, options: options)
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 2 }
            try await group.add(fixture.adapters[1])
            try await fixture.base.settle { await fixture.adapters[1].session.slotWaiterCount == 1 }
            #expect(await fixture.adapters[0].session.slotWaiterCount == 2)
            await held[0].disconnect()
            let connection = try await first.value
            #expect(await connection.adapterName == "hci0")
            #expect(peripherals[1].links.isEmpty)
            // The second, which no controller has refused yet, tries, and returns to its place.
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            #expect(await fixture.adapters[1].session.slotWaiterCount == 0)
            #expect(peripherals[1].links.isEmpty)
            await connection.disconnect()
            _ = try await second.value
            await held[1].disconnect()
        }
    }

    /// Another program takes the room that a connect was admitted to.
    @Test func roomThatOthersTakeDoesNotCostTheTurn() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let held = try await Self.fill(fixture)
            let peripherals = try (0...2).map { _ in try fixture.makePeripheral() }
            let options = ConnectionOptions(slotTimeout: .seconds(1000))
            let other = try await Adapter.open(.index(0), on: fixture.kernel)
            let group = try await AdapterGroup([fixture.adapters[0]])
            let first = fixture.base.begin { try await group.connect(to: peripherals[0].address, options: options) }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            let second = fixture.base.begin {
                try await fixture.adapters[0].connect(to: peripherals[1].address, options: options)
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 2 }
            peripherals[0].setHidden(true)
            // The device of the other program answers first.
            await held[0].disconnect()
            let taken = try await other.connect(to: peripherals[2].address)
            peripherals[0].setHidden(false)
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 2 }
            await taken.disconnect()
            let connection = try await first.value
            #expect(peripherals[1].links.isEmpty)
            await connection.disconnect()
            _ = try await second.value
            await held[1].disconnect()
            await other.close()
        }
    }
}
