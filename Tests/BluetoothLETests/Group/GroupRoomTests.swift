import BluetoothSimulation
import TestSupport
import Testing

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
            for limit in [nil, Duration.seconds(20)] {
                let start = fixture.radio.now
                let error = await failure {
                    let options = ConnectionOptions(slotTimeout: limit)
                    _ = try await fixture.group.connect(to: other.address, options: options)
                }
                #expect(error?.code == .linkLimitReached)
                let time = start.duration(to: fixture.radio.now)
                let least = limit ?? .zero
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
}
