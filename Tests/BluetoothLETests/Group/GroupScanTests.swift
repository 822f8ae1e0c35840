import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// The merged scan of several adapters.
@Suite struct GroupScanTests {
    @Test func aDeviceIsReportedOnceWithItsSignals() async throws {
        try await GroupFixture.run { fixture in
            let peripherals = try (0..<5).map { _ in try fixture.makePeripheral() }
            var found: [BluetoothAddress?] = []
            for try await device in try await fixture.group.scan(ScanOptions(duration: .seconds(20))) {
                found.append(device.address)
            }
            // A second time for the scan response, at most.
            #expect(Set(found) == Set(peripherals.map(\.address)))
            #expect(found.count <= 10)
            let devices = try await fixture.group.devices(for: .seconds(5))
            #expect(devices.count == 5)
            for device in devices {
                #expect(device.signals.map(\.adapter) == ["hci0", "hci1"])
                let rssi = device.signals.compactMap(\.rssi)
                #expect(rssi.count == 2 && rssi[0] - rssi[1] >= 14)
            }
        }
    }

    @Test func aDeviceThatAdaptersReceiveInTurnIsReportedOnce() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            let scan = try await fixture.group.scan(ScanOptions(duration: .seconds(120)))
            let counter = fixture.base.begin {
                var count = 0
                for try await _ in scan { count += 1 }
                return count
            }
            for turn in 0..<100 {
                fixture.radio.setInRange(turn % 2 == 0, fixture.address(0), peripheral.address)
                fixture.radio.setInRange(turn % 2 != 0, fixture.address(1), peripheral.address)
                try await fixture.radio.sleep(for: .seconds(1))
            }
            let count = try await counter.value
            #expect(count >= 1 && count <= 2)
        }
    }

    @Test func aScanOutlivesEachAdapter() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            var reports = try await fixture.group.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
            for lost in 0...1 {
                fixture.kernel.unplug(UInt16(lost))
                try await fixture.radio.sleep(for: .seconds(1))
                // What was received before.
                while let found = try await reports.next(), found.advertisement.time < fixture.radio.now {}
                let found = try await reports.next()
                #expect(found?.address == peripheral.address)
                var controller = SimulatedController()
                controller.address = fixture.address(lost)
                _ = fixture.kernel.plug(controller)
                let adapter = fixture.adapters[lost]
                try await adapter.ready(timeout: .seconds(30))
                // The adapter takes part again.
                while let found = try await reports.next() {
                    let signal = found.signals.first { $0.address == adapter.information.address }
                    if let signal, signal.time >= found.advertisement.time { break }
                }
            }
        }
    }

    @Test func aScanEndsWithTheLastAdapterOrWaitsForOne() async throws {
        for policy in [AdapterUnavailablePolicy.end, .resume] {
            try await GroupFixture.withPeripheral { fixture, peripheral in
                let options = ScanOptions(duplicates: .all, whenAdapterUnavailable: policy)
                var reports = try await fixture.group.scan(options).makeAsyncIterator()
                _ = try await reports.next()
                for adapter in fixture.adapters { try await adapter.setPowered(false) }
                if policy == .end {
                    let error = await failure { while try await reports.next() != nil {} }
                    #expect(error?.code == .adapterOff)
                    let again = await failure { _ = try await fixture.group.scan(options) }
                    #expect(again?.code == .adapterOff)
                } else {
                    try await fixture.radio.sleep(for: .seconds(10))
                    try await fixture.adapters[1].setPowered(true)
                    while let found = try await reports.next(), found.advertisement.time < fixture.radio.now {}
                    #expect(try await reports.next()?.address == peripheral.address)
                }
            }
        }
    }

    @Test func anAdapterMayBeAddedAndRemoved() async throws {
        try await GroupFixture.withPeripheral { fixture, peripheral in
            let group = try await AdapterGroup([fixture.adapters[0]])
            var reports = try await group.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
            _ = try await reports.next()
            try await group.add(fixture.adapters[1])
            while let found = try await reports.next(), found.signals.count < 2 {}
            await group.remove(fixture.adapters[0])
            try await fixture.radio.sleep(for: .seconds(1))
            while let found = try await reports.next(), found.advertisement.time < fixture.radio.now {}
            let found = try await reports.next()
            #expect(found?.signals.first?.adapter == "hci1" || found?.signals.last?.adapter == "hci1")
            #expect(found?.address == peripheral.address)
            // A group of none ends the scan.
            await group.remove(fixture.adapters[1])
            let error = await failure { while try await reports.next() != nil {} }
            #expect(error?.code == .noAdapter)
        }
    }

    @Test func dropsAreCounted() async throws {
        try await GroupFixture.run { fixture in
            let peripherals = try (0..<4).map { _ in try fixture.makePeripheral() }
            let scan = try await fixture.group.scan(
                ScanOptions(duration: .seconds(10), duplicates: .all, bufferCapacity: 4))
            try await fixture.radio.sleep(for: .seconds(11))
            var (count, missed) = (0, 0)
            for try await found in scan {
                count += 1
                missed += found.missedBefore
            }
            #expect(count == 4)
            #expect(missed == scan.missedCount && missed > 100)
            withExtendedLifetime(peripherals) {}
        }
    }

    #if DEBUG || COUNTS_COMPONENTS
        @Test func nothingOutlivesTheStreamOrTheGroup() async throws {
            try await GroupFixture.run { fixture in
                let before = fixture.radio.loop.components.alive
                do {
                    var reports = try await fixture.group.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
                    let peripheral = try fixture.makePeripheral()
                    _ = try await reports.next()
                    peripheral.remove()
                }
                try await fixture.base.settle { fixture.radio.loop.components.alive == before }
                // A stream keeps its group.
                var group: AdapterGroup? = try await AdapterGroup(fixture.adapters)
                var scan = try await group?.scan(ScanOptions(duration: .seconds(5), duplicates: .all))
                group = nil
                let peripheral = try fixture.makePeripheral()
                var count = 0
                if let scan { for try await _ in scan { count += 1 } }
                #expect(count > 10)
                scan = nil
                peripheral.remove()
                try await fixture.base.settle { fixture.radio.loop.components.alive == before }
            }
        }
    #endif

    @Test func anAdapterNamedTwiceIsAnError() async throws {
        try await GroupFixture.run { fixture in
            let adapters = fixture.adapters
            for wrong in [[], [adapters[0], adapters[0]], [adapters[0], adapters[1], adapters[0]]] {
                let error = await failure { _ = try await AdapterGroup(wrong) }
                #expect(error?.code == .invalidArgument)
            }
            // Another handle of the same adapter.
            let again = try await Adapter.open(.index(1), on: fixture.kernel)
            let error = await failure { try await fixture.group.add(again) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("hci1 is named twice") == true)
            await fixture.group.close()
            let closed = await failure { _ = try await fixture.group.scan() }
            #expect(closed?.code == .cancelled)
        }
    }
}
