import BluetoothHCI
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Many simultaneous connection attempts, including to devices that never respond.
@Suite struct ConnectQueueTests {
    /// Begins to connect to absent devices, without a time limit.
    private static func wait(
        for count: Int, _ fixture: Fixture, _ adapter: Adapter
    ) -> [Task<Void, any Error>] {
        (0..<count).map { number in
            fixture.begin {
                let peer = BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random)
                _ = try await adapter.connect(to: peer, options: ConnectionOptions(timeout: nil))
            }
        }
    }

    @Test func silentDevicesDelayNoOtherAttempt() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let absent = Self.wait(for: 40, fixture, adapter)
            try await fixture.radio.sleep(for: .seconds(1))
            let present = try (0..<5).map { _ in try fixture.makePeripheral() }
            let time = try await fixture.duration {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for peripheral in present {
                        group.addTask(executorPreference: fixture.radio.loop) {
                            let connection = try await adapter.connect(
                                to: peripheral.address, options: ConnectionOptions(timeout: .seconds(60)))
                            await connection.disconnect(timeout: .zero)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            // The attempts before it in the queue have had a slice each, sixteen at a time.
            #expect(time < ConnectQueue.slice * 3 + .seconds(2))
            // An awaited device is found whenever it appears.
            let late = SimulatedPeripheral(
                on: fixture.radio, address: BluetoothAddress(0xC000_0000_0007, kind: .random),
                gatt: try SimulatedGATTServer([]))
            let start = fixture.radio.now
            try await absent[7].value
            #expect(start.duration(to: fixture.radio.now) < ConnectQueue.slice * 4)
            for task in absent { task.cancel() }
            for (number, task) in absent.enumerated() where number != 7 {
                let failure1 = await failure { try await task.value }
                #expect(failure1?.code == .cancelled)
            }
            #expect(await adapter.session.connectCount == 0)
            withExtendedLifetime(late) {}
        }
    }

    @Test func asManyAtOnceAsThereAre() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let peripherals = try (0..<64).map { _ in try fixture.makePeripheral() }
            let time = try await fixture.duration {
                let connections = try await withThrowingTaskGroup(of: Connection.self) { group in
                    for peripheral in peripherals {
                        group.addTask(executorPreference: fixture.radio.loop) {
                            try await adapter.connect(
                                to: peripheral.address, options: ConnectionOptions(timeout: .seconds(120)))
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(connections.count == 64)
                #expect(fixture.kernel.links(adapter: 0).count == 64)
                for connection in connections { await connection.disconnect(timeout: .zero) }
            }
            // Each needs one advertisement to be found and one to connect.
            #expect(time < .seconds(30))
        }
    }

    @Test func aSingleAttemptIsNotPreempted() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let absent = Self.wait(for: ConnectQueue.limit, fixture, adapter)
            try await fixture.radio.sleep(for: .seconds(100))
            #expect(await adapter.session.nextConnectDeadline(after: fixture.radio.now) == nil)
            for task in absent { task.cancel() }
            for task in absent {
                let error = await failure { try await task.value }
                #expect(error?.code == .cancelled)
            }
        }
    }

    @Test func aQueuedAttemptCanBeCancelledAndTimesOut() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let absent = Self.wait(for: ConnectQueue.limit, fixture, adapter)
            try await fixture.radio.sleep(for: .milliseconds(10))
            let peripheral = try fixture.makePeripheral()
            let waiting = fixture.begin { _ = try await adapter.connect(to: peripheral.address) }
            try await fixture.radio.sleep(for: .milliseconds(10))
            waiting.cancel()
            let failure2 = await failure { try await waiting.value }
            #expect(failure2?.code == .cancelled)
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(
                        to: peripheral.address, options: ConnectionOptions(timeout: .seconds(2)))
                }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(2))
            for task in absent { task.cancel() }
            let connection = try await adapter.connect(to: peripheral.address)
            await connection.disconnect(timeout: .zero)
        }
    }

    @Test(arguments: Ending.allCases) func theEndOfTheAdapterEndsTheQueue(_ ending: Ending) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let absent = Self.wait(for: ConnectQueue.limit + 5, fixture, adapter)
            try await fixture.radio.sleep(for: .seconds(1))
            ending.happen(to: fixture.kernel)
            for task in absent {
                let error = await failure { try await task.value }
                #expect(
                    error.map { [.noAdapter, .adapterOff, .adapterBlocked, .connectionFailed].contains($0.code) }
                        == true)
            }
        }
    }

    @Test func theNextAttemptAtADeviceWaitsUntilTheKernelHasEndedTheFormer() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let peripheral = try fixture.makePeripheral()
            peripheral.setHidden(true)
            let first = fixture.begin { _ = try await adapter.connect(to: peripheral.address) }
            try await fixture.radio.sleep(for: .seconds(1))
            first.cancel()
            _ = await failure { try await first.value }
            peripheral.setHidden(false)
            // Another device need not wait.
            let other = try fixture.makePeripheral()
            let quick = try await fixture.duration {
                await (try await adapter.connect(to: other.address)).disconnect(timeout: .zero)
            }
            #expect(quick < .seconds(1))
            let time = try await fixture.duration {
                await (try await adapter.connect(to: peripheral.address)).disconnect(timeout: .zero)
            }
            #expect(time < .seconds(3))
            // After an established link there is no pause.
            let again = try await fixture.duration {
                await (try await adapter.connect(to: peripheral.address)).disconnect(timeout: .zero)
            }
            #expect(again < .milliseconds(500))
        }
    }

    @Test func anAttemptWaitingForAnEarlierOneFailsWhenTheAdapterIsClosed() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let absent = BluetoothAddress(0xC000_0000_0001, kind: .random)
            let first = fixture.begin { _ = try await adapter.connect(to: absent) }
            try await fixture.radio.sleep(for: .seconds(1))
            first.cancel()
            _ = await failure { try await first.value }
            let second = fixture.begin { _ = try await adapter.connect(to: absent) }
            try await fixture.radio.sleep(for: .milliseconds(100))
            let time = await fixture.duration {
                await adapter.close()
                #expect(await failure { try await second.value }?.code == .cancelled)
            }
            #expect(time < .milliseconds(100))
        }
    }

    // MARK: Beside scans

    @Test(arguments: [HCICommandFamily.legacy, .extended], [true, false])
    func aScanContinuesWhileADeviceIsAwaited(_ family: HCICommandFamily, _ isActive: Bool) async throws {
        try await Fixture.withAdapter([SimulatedController(family: family)]) { fixture, adapter in
            let beacon = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 1, 6])])
            let peripherals = try (0..<3).map { _ in try fixture.makePeripheral() }
            for peripheral in peripherals { peripheral.setHidden(true) }
            let options = ScanOptions(isActive: isActive, duplicates: .all)
            let heard = Mutex(0)
            let scan = fixture.begin {
                for try await advertisement in try await adapter.scan(options)
                where advertisement.address == beacon.address { heard.withLock { $0 += 1 } }
            }
            func expectReports(_ what: String) async throws {
                heard.withLock { $0 = 0 }
                try await fixture.radio.sleep(for: .seconds(10))
                #expect(heard.withLock { $0 } > 50, "\(what)")
            }
            try await expectReports("before")
            let waiting = peripherals.map { peripheral in
                fixture.begin {
                    let connection = try await adapter.connect(
                        to: peripheral.address, options: ConnectionOptions(timeout: nil))
                    await connection.disconnect(timeout: .zero)
                }
            }
            try await expectReports("while three are waited for")
            for index in 0..<2 {
                peripherals[index].setHidden(false)
                let time = try await fixture.duration { try await waiting[index].value }
                #expect(time < .seconds(3))
                try await expectReports("after \(index + 1) have come")
            }
            // The scan ends; the kernel continues to look for the third on its own.
            scan.cancel()
            try await fixture.radio.sleep(for: .seconds(20))
            peripherals[2].setHidden(false)
            let time = try await fixture.duration { try await waiting[2].value }
            #expect(time < .seconds(3))
        }
    }

    // MARK: Targets

    @Test func theFirstMatchingDeviceIsConnectedTo() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            _ = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 1, 6, 5, 9] + Array("Lamp".utf8))])
            let lamp = SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [SimulatedAdvertisement(data: [2, 1, 6], scanResponse: [5, 9] + Array("Lamp".utf8))],
                gatt: try SimulatedGATTServer([]))
            let connection = try await adapter.connect { $0.localName == "Lamp" }
            #expect(connection.peer == lamp.address)
            await connection.disconnect(timeout: .zero)
            try await fixture.settle { !fixture.kernel.isScanning() }
            let found = try await adapter.firstAdvertisement(timeout: .seconds(5)) { $0.address == lamp.address }
            let again = try await adapter.connect(to: found)
            await again.disconnect(timeout: .zero)
        }
    }

    @Test func aSearchWithoutAMatchTimesOut() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(options: ConnectionOptions(timeout: .seconds(3))) { _ in false }
                }
                #expect(error?.code == .notFound)
            }
            #expect(time >= .seconds(3) && time < .milliseconds(3100))
            let waiting = fixture.begin {
                try await adapter.connect(options: ConnectionOptions(timeout: nil)) { _ in false }
            }
            try await fixture.radio.sleep(for: .seconds(100))
            waiting.cancel()
            let failure3 = await failure { _ = try await waiting.value }
            #expect(failure3?.code == .cancelled)
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func nonConnectableDevicesAreSkipped() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            _ = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 1, 6])])
            let beacon = try await adapter.firstAdvertisement(timeout: .seconds(5)) { _ in true }
            let failure4 = await failure { _ = try await adapter.connect(to: beacon) }
            #expect(failure4?.code == .invalidArgument)
            var anonymous = beacon
            anonymous.address = nil
            let failure5 = await failure { [anonymous] in _ = try await adapter.connect(to: anonymous) }
            #expect(failure5?.code == .invalidArgument)
        }
    }
}
