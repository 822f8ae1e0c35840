import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// A group, and a device known by its identity resolving key, without a bond.
@Suite struct GroupIdentityTests {
    @Test func theAdapterWithTheBestSignalConnects() async throws {
        for best in 0...1 {
            try await GroupFixture.run { fixture in
                let phone = try PrivateDevice(fixture.base)
                for _ in 0..<2 {
                    let address = try #require(phone.rotate())
                    if best == 1 { fixture.radio.setInRange(false, fixture.address(0), address) }
                    let connection = try await fixture.group.connect(to: phone.identity)
                    #expect(connection.peer == address)
                    #expect(await connection.adapterName == "hci\(best)")
                    await connection.disconnect()
                    try await fixture.base.settle { phone.device.links.isEmpty }
                }
            }
        }
    }

    /// A full adapter, although it receives the device best.
    @Test func anAdapterWithRoomConnects() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let other = try fixture.makePeripheral()
            try await fixture.learn(other)
            let held = try await fixture.group.connect(to: other.address)
            #expect(await held.adapterName == "hci0")
            let phone = try PrivateDevice(fixture.base)
            phone.rotate()
            let connection = try await fixture.group.connect(to: phone.identity)
            #expect(await connection.adapterName == "hci1")
            for connection in [held, connection] { await connection.disconnect() }
        }
    }

    /// Both adapters are full, and the device changes its address while the connect waits.
    @Test func anAddressThatChangesDuringTheWaitForRoomIsFoundAgain() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            var held: [Connection] = []
            for number in 0...1 {
                let other = try fixture.makePeripheral()
                held.append(try await fixture.adapters[number].connect(to: other.address))
            }
            let phone = try PrivateDevice(fixture.base)
            phone.rotate()
            let connect = fixture.base.begin {
                try await fixture.group.connect(
                    to: phone.identity, options: ConnectionOptions(timeout: .seconds(30), slotTimeout: .seconds(300)))
            }
            try await fixture.base.settle { await fixture.adapters[1].session.slotWaiterCount == 1 }
            let second = phone.rotate()
            try await fixture.radio.sleep(for: .seconds(100))
            await held[1].disconnect()
            let connection = try await connect.value
            #expect(connection.peer == second)
            #expect(await connection.adapterName == "hci1")
            for connection in [held[0], connection] { await connection.disconnect() }
        }
    }

    /// Its address changes while it is away and while the link is up, and its adapter is unplugged.
    @Test func aDeviceIsKeptConnectedByWhicheverAdapterIsThere() async throws {
        try await GroupFixture.run { fixture in
            let phone = try PrivateDevice(fixture.base)
            let kept = fixture.group.keepConnected(to: phone.identity)
            #expect(kept.peer == nil)
            try await fixture.radio.sleep(for: .seconds(100))
            let first = phone.rotate()
            var connection = try await kept.connected()
            #expect(connection.peer == first)
            #expect(await connection.adapterName == "hci0")
            let second = phone.rotate()
            try await fixture.radio.sleep(for: .seconds(20))
            #expect(await connection.isConnected)
            fixture.kernel.unplug(0)
            _ = await connection.disconnected()
            connection = try await kept.connected(timeout: .seconds(60))
            #expect(connection.peer == second)
            #expect(await connection.adapterName == "hci1")
            // While it is away, for longer than an attempt takes.
            phone.device.setAdvertisements([])
            phone.device.disconnect()
            _ = await connection.disconnected()
            try await fixture.radio.sleep(for: .seconds(40))
            let third = phone.rotate()
            #expect(try await kept.connected().peer == third)
            await kept.disconnect()
            try await fixture.base.settle { phone.device.links.isEmpty }
        }
    }

    /// The adapter that has been chosen, at each moment of the connect.
    @Test func anAdapterThatLeavesDuringAConnectIsReplaced() async throws {
        for delay in stride(from: 0, through: 600, by: 60) {
            try await GroupFixture.run { fixture in
                let phone = try PrivateDevice(fixture.base)
                phone.rotate()
                let kept = fixture.group.keepConnected(to: phone.identity)
                try await fixture.radio.sleep(for: .milliseconds(delay))
                fixture.kernel.unplug(0)
                var connection = try await kept.connected()
                if await connection.adapterName == "hci0" {
                    _ = await connection.disconnected()
                    connection = try await kept.connected()
                }
                #expect(await connection.adapterName == "hci1", "after \(delay) ms")
                await kept.disconnect()
            }
        }
    }

    /// While it scans, while it waits for the other adapter's report, and while it connects to an address that is gone.
    @Test(arguments: [Duration.milliseconds(5), .milliseconds(150), .milliseconds(800), .seconds(12), .seconds(14)])
    func aConnectEndsOnCancellation(after delay: Duration) async throws {
        try await GroupFixture.run { fixture in
            let phone = try PrivateDevice(fixture.base)
            let first = try #require(phone.rotate())
            fixture.radio.setInRange(false, fixture.address(1), first)
            let scan = try await fixture.adapters[0].scan(
                ScanOptions(
                    filter: .matching { advertisement in
                        if advertisement.address == first { phone.device.setAdvertising(false) }
                        return false
                    }, duplicates: .all))
            let task = fixture.base.begin {
                _ = try await fixture.group.connect(to: phone.identity, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: delay)
            task.cancel()
            let start = fixture.radio.now
            #expect(await failureCode { try await task.value } == .cancelled)
            #expect(start.duration(to: fixture.radio.now) < .milliseconds(200))
            _ = scan
        }
    }

    @Test func closingTheGroupEndsAConnect() async throws {
        try await GroupFixture.run { fixture in
            let phone = try PrivateDevice(fixture.base)
            let kept = fixture.group.keepConnected(to: phone.identity)
            let connect = fixture.base.begin {
                _ = try await fixture.group.connect(to: phone.identity, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: .seconds(5))
            await fixture.group.close()
            #expect(await failureCode { try await connect.value } == .cancelled)
            #expect(await failureCode { _ = try await kept.connected() } == .cancelled)
        }
    }
}
