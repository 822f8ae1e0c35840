import BluetoothAdvertising
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// Adapters that are closed, added and removed while a group uses them.
@Suite struct GroupMemberTests {
    @Test func aClosedAdapterCannotBeAdded() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            await fixture.adapters[0].close()
            let group = try await AdapterGroup([fixture.adapters[1]])
            #expect(await failureCode { try await group.add(fixture.adapters[0]) } == .cancelled)
            #expect(await failureCode { _ = try await AdapterGroup(fixture.adapters) } == .cancelled)
            // The former group continues without it.
            for group in [group, fixture.group] {
                #expect(await group.adapters.count == 1)
                _ = try await group.firstAdvertisement()
                let connection = try await group.connect(to: peripheral.address)
                #expect(fixture.adapters(linkedTo: connection.peer) == [1])
                await connection.disconnect()
            }
        }
    }

    /// At each moment of the start of a scan.
    @Test func aScanOutlivesAnAdapterThatIsClosedAsItBegins() async throws {
        for delay in stride(from: 0, through: 12, by: 1) {
            try await GroupFixture.withPeripheral { fixture, peripheral in
                let scan = fixture.base.begin { try await fixture.group.scan(ScanOptions(duplicates: .all)) }
                try await fixture.radio.sleep(for: .milliseconds(delay))
                await fixture.adapters[0].close()
                var reports = try await scan.value.makeAsyncIterator()
                for _ in 0..<10 { #expect(try await reports.next()?.address == peripheral.address) }
            }
        }
    }

    /// While the adapter with the best signal, which does not reach the device, is trying.
    @Test(arguments: ["close", "remove"], [false, true])
    func aConnectContinuesOnTheOtherAdapter(_ way: String, isKept: Bool) async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            try await fixture.learn(peripheral)
            fixture.radio.setInRange(false, fixture.address(0), peripheral.address)
            let kept = isKept ? fixture.group.keepConnected(to: peripheral.address) : nil
            let connect = fixture.base.begin {
                if let kept { return try await kept.connected(timeout: .seconds(30)) }
                return try await fixture.group.connect(to: peripheral.address)
            }
            try await fixture.radio.sleep(for: .seconds(1))
            let start = fixture.radio.now
            if way == "close" {
                await fixture.adapters[0].close()
            } else {
                await fixture.group.remove(fixture.adapters[0])
                fixture.radio.setInRange(true, fixture.address(0), peripheral.address)
            }
            let connection = try await connect.value
            #expect(fixture.adapters(linkedTo: connection.peer) == [1])
            #expect(start.duration(to: fixture.radio.now) < .seconds(5))
            await kept?.disconnect()
            await connection.disconnect()
        }
    }

    @Test func aRemovedAdapterMakesNoLink() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            for number in 0...1 { fixture.radio.setInRange(false, fixture.address(number), peripheral.address) }
            let connect = fixture.base.begin {
                try await fixture.group.connect(to: peripheral.address, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: .seconds(5))
            await fixture.group.remove(fixture.adapters[1])
            fixture.radio.setInRange(true, fixture.address(1), peripheral.address)
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(peripheral.links.isEmpty)
            fixture.radio.setInRange(true, fixture.address(0), peripheral.address)
            let connection = try await connect.value
            #expect(fixture.adapters(linkedTo: connection.peer) == [0])
            await connection.disconnect()
        }
    }

    @Test func anAdapterThatComesHasRoomForAConnectThatWaits() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let peripherals = try (0...1).map { _ in try fixture.makePeripheral() }
            let group = try await AdapterGroup([fixture.adapters[0]])
            let held = try await group.connect(to: peripherals[0].address)
            let connect = fixture.base.begin {
                try await group.connect(
                    to: peripherals[1].address, options: ConnectionOptions(slotTimeout: .seconds(300)))
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            try await group.add(fixture.adapters[1])
            let start = fixture.radio.now
            let connection = try await connect.value
            #expect(start.duration(to: fixture.radio.now) < .seconds(5))
            #expect(fixture.adapters(linkedTo: connection.peer) == [1])
            #expect(await fixture.adapters[0].session.slotWaiterCount == 0)
            for connection in [held, connection] { await connection.disconnect() }
        }
    }

    /// Signals at adapters that have left are forgotten.
    @Test func storedSignalsDoNotGrowAsAdaptersComeAndGo() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            var reports = try await fixture.group.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
            for _ in 0..<20 {
                await fixture.group.remove(fixture.adapters[1])
                try await fixture.group.add(fixture.adapters[1])
                while let found = try await reports.next(), found.signals.count < 2 {}
            }
            #expect(await fixture.group.signalCounts(of: peripheral.address) == [2, 2, 2])
        }
    }

    /// The end of another program's link, on an adapter on which this program has none.
    @Test func theRoomOfAnotherProgramsLinkIsTaken() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let peripherals = try (0...1).map { _ in try fixture.makePeripheral() }
            let other = try await Adapter.open(.index(0), on: fixture.kernel)
            let held = try await other.connect(to: peripherals[0].address)
            let group = try await AdapterGroup([fixture.adapters[0]])
            let connect = fixture.base.begin {
                try await group.connect(
                    to: peripherals[1].address, options: ConnectionOptions(slotTimeout: .seconds(300)))
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            try await fixture.radio.sleep(for: .seconds(30))
            let start = fixture.radio.now
            await held.disconnect()
            let connection = try await connect.value
            #expect(start.duration(to: fixture.radio.now) < .seconds(5))
            await connection.disconnect()
            await other.close()
        }
    }

    @Test func closingTheGroupEndsAConnectThatWaitsForRoom() async throws {
        try await GroupFixture.run(links: [1, 1]) { fixture in
            let peripherals = try (0...1).map { _ in try fixture.makePeripheral() }
            let group = try await AdapterGroup([fixture.adapters[0]])
            let held = try await group.connect(to: peripherals[0].address)
            let connect = fixture.base.begin {
                _ = try await group.connect(
                    to: peripherals[1].address, options: ConnectionOptions(slotTimeout: .seconds(300)))
            }
            try await fixture.base.settle { await fixture.adapters[0].session.slotWaiterCount == 1 }
            let start = fixture.radio.now
            await group.close()
            #expect(await failureCode { try await connect.value } == .cancelled)
            #expect(start.duration(to: fixture.radio.now) < .seconds(1))
            #expect(await fixture.adapters[0].session.slotWaiterCount == 0)
            await held.disconnect()
        }
    }

    /// A scan that waits for adapters does not end, whenever the only one leaves again.
    @Test func aScanThatWaitsOutlivesAnAdapterThatLeavesAsItComes() async throws {
        for delay in stride(from: 0, through: 20, by: 1) {
            try await GroupFixture.withPeripheral { fixture, peripheral in
                let group = try await AdapterGroup([fixture.adapters[0]])
                fixture.kernel.setPowered(false, adapter: 0)
                try await fixture.base.settle { !fixture.adapters[0].state.isReady }
                let scan = try await group.scan(ScanOptions(duplicates: .all, whenAdapterUnavailable: .resume))
                fixture.kernel.setPowered(true, adapter: 0)
                try await fixture.radio.sleep(for: .milliseconds(delay))
                fixture.kernel.setPowered(false, adapter: 0)
                try await fixture.radio.sleep(for: .seconds(5))
                fixture.kernel.setPowered(true, adapter: 0)
                let now = fixture.radio.now
                var reports = scan.makeAsyncIterator()
                var found = try await reports.next()
                while let report = found, report.advertisement.time < now { found = try await reports.next() }
                #expect(found?.address == peripheral.address, "after \(delay) ms")
            }
        }
    }
}

extension AdapterGroup {
    /// The numbers of stored signals of a device: the group's, then those of its scans.
    fileprivate func signalCounts(of address: BluetoothAddress) async -> [Int] {
        let key = AdvertisementJoiner.key(address, nil)
        return await core { core in
            let signals = core.members.signals.devices
            let merged = core.scans.open.compactMap { scan in
                scan.merger.devices.index(of: key).map { scan.merger.devices[$0] }
            }
            return [signals.index(of: key).map { signals[$0].count } ?? 0]
                + merged.flatMap { [$0.signals.count, $0.delivered.count] }
        }
    }
}
