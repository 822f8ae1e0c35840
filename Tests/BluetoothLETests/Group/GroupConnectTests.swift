import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// Links of several adapters.
@Suite struct GroupConnectTests {
    @Test func theAdapterWithTheBestSignalConnectsAndTheNextOneWhenItIsFull() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let peripherals = try (0..<3).map { _ in try fixture.makePeripheral() }
            for peripheral in peripherals { try await fixture.learn(peripheral) }
            let first = try await fixture.group.connect(to: peripherals[0].address)
            #expect(fixture.adapters(linkedTo: first.peer) == [0])
            let second = try await fixture.group.connect(to: peripherals[1].address)
            #expect(fixture.adapters(linkedTo: second.peer) == [1])
            let error = await failure { _ = try await fixture.group.connect(to: peripherals[2].address) }
            #expect(error?.code == .linkLimitReached)
            // Room at the adapter with the weaker signal.
            let waiter = fixture.base.begin {
                try await fixture.group.connect(
                    to: peripherals[2].address, options: ConnectionOptions(slotTimeout: .seconds(100)))
            }
            try await fixture.base.settle {
                let one = await fixture.adapters[0].session.slotWaiterCount
                let two = await fixture.adapters[1].session.slotWaiterCount
                return one == 1 && two == 1
            }
            await second.disconnect()
            let third = try await waiter.value
            #expect(fixture.adapters(linkedTo: third.peer) == [1])
            #expect(await fixture.adapters[0].session.slotWaiterCount == 0)
            for connection in [first, third] { await connection.disconnect() }
        }
    }

    @Test func aDeviceThatWasNotReceivedIsReachedByWhicheverAdapterHasIt() async throws {
        try await GroupFixture.run { fixture in
            for number in 0...1 {
                let peripheral = try fixture.makePeripheral()
                fixture.radio.setInRange(false, fixture.address(1 - number), peripheral.address)
                let connection = try await fixture.group.connect(to: peripheral.address)
                #expect(fixture.adapters(linkedTo: connection.peer) == [UInt16(number)])
                await connection.disconnect()
            }
            // In range of both: one link.
            let peripheral = try fixture.makePeripheral()
            let connection = try await fixture.group.connect(to: peripheral.address)
            #expect(peripheral.links.count == 1)
            await connection.disconnect()
        }
    }

    @Test func aDeviceThatTakesSeveralLinksHasOne() async throws {
        try await GroupFixture.run { fixture in
            for _ in 0..<10 {
                let peripheral = try fixture.makePeripheral()
                peripheral.setConnectionLimit(4)
                let connection = try await fixture.group.connect(to: peripheral.address)
                try await fixture.radio.sleep(for: .seconds(5))
                #expect(peripheral.links.count == 1)
                #expect(await connection.isConnected)
                await connection.disconnect()
            }
        }
    }

    @Test func theNextAdapterConnectsWhenTheFirstDoesNotReachTheDevice() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            try await fixture.learn(peripheral)
            fixture.radio.setInRange(false, fixture.address(0), peripheral.address)
            let start = fixture.radio.now
            let connection = try await fixture.group.connect(to: peripheral.address)
            #expect(fixture.adapters(linkedTo: connection.peer) == [1])
            #expect(start.duration(to: fixture.radio.now) < GroupChooser.slice + .seconds(5))
            await connection.disconnect()
        }
    }

    /// Within time limits that are shorter than the longest slice, too.
    @Test(arguments: [2, 5, 8]) func theFirstAdapterHasAFractionOfTheTimeLimit(_ limit: Int) async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            try await fixture.learn(peripheral)
            fixture.radio.setInRange(false, fixture.address(0), peripheral.address)
            let connection = try await fixture.group.connect(
                to: peripheral.address, options: ConnectionOptions(timeout: .seconds(limit)))
            #expect(fixture.adapters(linkedTo: connection.peer) == [1])
            await connection.disconnect()
        }
    }

    @Test func aDeviceWithALinkIsNotConnectedToByAnotherAdapter() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            peripheral.setConnectionLimit(4)
            let first = try await fixture.adapters[1].connect(to: peripheral.address)
            let (one, two) = (
                fixture.base.begin { try await fixture.group.connect(to: peripheral.address) },
                fixture.base.begin { try await fixture.group.connect(to: peripheral.address) }
            )
            for connection in [try await one.value, try await two.value] { #expect(connection === first) }
            #expect(peripheral.links.count == 1)
            await first.disconnect()
        }
    }

    @Test(arguments: 0...1, [false, true])
    func anAdapterThatLeavesDuringAConnectIsReplaced(_ lost: Int, isKnown: Bool) async throws {
        // At each moment of the connect.
        for delay in stride(from: 0, through: 120, by: 10) {
            try await GroupFixture.withPeripheral { fixture, peripheral in
                if isKnown { try await fixture.learn(peripheral) }
                let connect = fixture.base.begin { try await fixture.group.connect(to: peripheral.address) }
                try await fixture.radio.sleep(for: .milliseconds(delay))
                fixture.kernel.unplug(UInt16(lost))
                var connection = try await connect.value
                // The link may have been up, and has ended with its adapter.
                if await !connection.isConnected || fixture.adapters(linkedTo: connection.peer).isEmpty {
                    connection = try await fixture.group.connect(to: peripheral.address)
                }
                #expect(fixture.adapters(linkedTo: connection.peer) == [UInt16(1 - lost)], "after \(delay) ms")
                await connection.disconnect()
            }
        }
    }

    @Test func anAdapterThatComesTakesPart() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            fixture.radio.setInRange(false, fixture.address(0), peripheral.address)
            try await fixture.adapters[1].setPowered(false)
            let connect = fixture.base.begin {
                try await fixture.group.connect(to: peripheral.address, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: .seconds(60))
            try await fixture.adapters[1].setPowered(true)
            let connection = try await connect.value
            #expect(fixture.adapters(linkedTo: connection.peer) == [1])
            await connection.disconnect()
        }
    }

    @Test func withoutAdaptersAConnectFailsOrWaits() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            for adapter in fixture.adapters { try await adapter.setPowered(false) }
            let error = await failure { _ = try await fixture.group.connect(to: peripheral.address) }
            #expect(error?.code == .adapterOff)
            let late = await failure {
                let options = ConnectionOptions(timeout: .seconds(5), waitsForAdapter: true)
                _ = try await fixture.group.connect(to: peripheral.address, options: options)
            }
            #expect(late?.code == .adapterOff)
            let connect = fixture.base.begin {
                try await fixture.group.connect(
                    to: peripheral.address, options: ConnectionOptions(waitsForAdapter: true))
            }
            try await fixture.radio.sleep(for: .seconds(5))
            try await fixture.adapters[0].setPowered(true)
            let connection = try await connect.value
            await connection.disconnect()
        }
    }

    @Test func cancellationEndsEveryWait() async throws {
        for delay in stride(from: 0, through: 120, by: 10) {
            try await GroupFixture.withPeripheral(links: [1, 1]) { fixture, peripheral in
                if delay % 20 == 0 { try await fixture.learn(peripheral) }
                let connect = fixture.base.begin {
                    let connection = try await fixture.group.connect(to: peripheral.address)
                    await connection.disconnect()
                }
                try await fixture.radio.sleep(for: .milliseconds(delay))
                connect.cancel()
                let start = fixture.radio.now
                _ = await connect.result
                #expect(start.duration(to: fixture.radio.now) < .seconds(1))
                // Nothing is left, and the device can be connected to again.
                let connection = try await fixture.group.connect(to: peripheral.address)
                await connection.disconnect()
            }
        }
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let peripherals = try (0..<3).map { _ in try fixture.makePeripheral() }
            let held = [
                try await fixture.group.connect(to: peripherals[0].address),
                try await fixture.group.connect(to: peripherals[1].address),
            ]
            let waiter = fixture.base.begin {
                _ = try await fixture.group.connect(
                    to: peripherals[2].address, options: ConnectionOptions(slotTimeout: .seconds(1000)))
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            waiter.cancel()
            #expect(await failure { try await waiter.value }?.code == .cancelled)
            for adapter in fixture.adapters { #expect(await adapter.session.slotWaiterCount == 0) }
            for connection in held { await connection.disconnect() }
        }
    }

    @Test func twentyWaitersShareTheRoomOfBothAdapters() async throws {
        try await GroupFixture.run(links: [1, 2]) { fixture in
            let peripherals = try (0..<20).map { _ in try fixture.makePeripheral() }
            let waiters = peripherals.map { peripheral in
                fixture.base.begin {
                    let connection = try await fixture.group.connect(
                        to: peripheral.address, options: ConnectionOptions(slotTimeout: .seconds(1000)))
                    let count = (0...1).reduce(0) { $0 + fixture.kernel.links(adapter: UInt16($1)).count }
                    try await fixture.radio.sleep(for: .seconds(1))
                    await connection.disconnect()
                    return count
                }
            }
            var greatest = 0
            for waiter in waiters { greatest = max(greatest, try await waiter.value) }
            #expect(greatest == 3)
            for adapter in fixture.adapters { #expect(await adapter.session.slotWaiterCount == 0) }
        }
    }

    @Test func aKeptConnectionGoesToTheNextAdapter() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            let kept = fixture.group.keepConnected(to: peripheral.address)
            _ = try await kept.connected()
            for _ in 0..<3 {
                let lost = try #require(fixture.adapters(linkedTo: peripheral.address).first)
                fixture.kernel.unplug(lost)
                try await fixture.base.settle {
                    fixture.adapters(linkedTo: peripheral.address) == [1 - lost]
                }
                _ = try await kept.connected()
                var controller = SimulatedController()
                controller.address = fixture.address(Int(lost))
                #expect(fixture.kernel.plug(controller) == lost)
                try await fixture.adapters[Int(lost)].ready(timeout: .seconds(30))
            }
            // Without any it waits.
            for index in 0...1 { fixture.kernel.unplug(UInt16(index)) }
            var events = await kept.events().makeAsyncIterator()
            while let event = try await events.next() { if event.waitingForAdapter != nil { break } }
            var controller = SimulatedController()
            controller.address = fixture.address(1)
            _ = fixture.kernel.plug(controller)
            #expect(try await kept.connected(timeout: .seconds(60)).peer == peripheral.address)
            await fixture.group.close()
            let error = await failure { while try await events.next() != nil {} }
            #expect(error?.code == .cancelled)
            try await fixture.base.settle { peripheral.links.isEmpty }
        }
    }

    /// The attempt takes half a second: before the link is up, during the exchange, the discovery and the subscription.
    @Test func aKeptConnectionOutlastsADeviceThatBecomesMute() async throws {
        try await GroupFixture.run { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0, characteristics: [GATTCharacteristic(0xFFF3, properties: .notify, value: .stored([0]))])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let handle = try #require(server.handle(of: 0xFFF3, in: 0xFFF0))
            let kept = fixture.group.keepConnected(
                to: peripheral.address, policy: ReconnectionPolicy(initialDelay: .zero))
            let values = try await kept.subscribe(to: 0xFFF3, in: 0xFFF0)
            var updates = values.makeAsyncIterator()
            for milliseconds in [0, 5, 10, 20, 50, 80, 110, 150, 200, 300, 500, 1000] {
                peripheral.disconnect()
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                peripheral.setMute(true)
                try await fixture.radio.sleep(for: .seconds(118))
                peripheral.setMute(false)
                let value = [UInt8(milliseconds / 5)]
                try await fixture.base.settle { server.notifyAtOnce(value, of: handle) > 0 }
                while let update = try await updates.next(), update != .value(value) {}
            }
            await kept.disconnect(timeout: .zero)
        }
    }
}
