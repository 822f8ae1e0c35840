import SimulatedKernel
import Testing

@testable import BluetoothLE

private let flags: [UInt8] = [2, 0x01, 0x06]
private let name: [UInt8] = [5, 0x09, 0x4E, 0x61, 0x6D, 0x65]

/// Collects what a scan hands out until the adapter is closed.
private func collect(_ stream: BoundedStream<Advertisement>, in story: Story) -> Task<[Advertisement], any Error> {
    story.begin {
        var all: [Advertisement] = []
        do throws(BluetoothError) { for try await advertisement in stream { all.append(advertisement) } } catch {
            #expect(error.code == .cancelled)
        }
        return all
    }
}

@Suite struct DuplicateTests {
    @Test func eachDeviceComesOnceWithItsScanResponse() async throws {
        try await Story.run { story in
            let one = SimulatedPeripheral(
                on: story.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let other = SimulatedPeripheral(on: story.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: story.kernel)
            let heard = collect(try await adapter.scan(ScanOptions(duplicates: .once)), in: story)
            try await story.radio.sleep(for: .seconds(3))
            other.setAdvertisements([.beacon(name)])
            try await story.radio.sleep(for: .seconds(3))
            await adapter.close()
            let all = try await heard.value
            #expect(all.count == 2)
            #expect(all.first { $0.address == one.address }?.data.localName == "Name")
            #expect(all.first { $0.address == other.address }?.data.advertising == flags)
        }
    }

    @Test func oneThatNeverAnswersComesWithItsSecondReport() async throws {
        try await Story.run { story in
            SimulatedPeripheral(on: story.radio, advertisements: [SimulatedAdvertisement(data: flags)])
            let adapter = try await Adapter.open(on: story.kernel)
            // A passive scan gets no answers, so there is nothing to wait for; an active one whose answers are lost does.
            let passive = try await adapter.first(
                timeout: .seconds(5), options: ScanOptions(isActive: false, duplicates: .once)
            ) { _ in true }
            #expect(passive.data.advertising == flags)
        }
    }

    @Test func whatDidNotPassIsHandedOutWhenItDoes() async throws {
        try await Story.run { story in
            story.radio.conditions.signalVariation = 0
            let peripheral = SimulatedPeripheral(
                on: story.radio, advertisements: [.beacon(flags)], signalStrength: -90)
            let adapter = try await Adapter.open(on: story.kernel)
            let options = ScanOptions(filter: .rssi(atLeast: -70), duplicates: .once)
            let once = collect(try await adapter.scan(options), in: story)
            var merged = options
            merged.duplicates = .merge
            let changes = collect(try await adapter.scan(merged), in: story)
            try await story.radio.sleep(for: .seconds(2))
            peripheral.setSignalStrength(-60)
            try await story.radio.sleep(for: .seconds(2))
            peripheral.setSignalStrength(-50)
            try await story.radio.sleep(for: .seconds(2))
            await adapter.close()
            #expect(try await once.value.map(\.rssi) == [-60])
            #expect(try await changes.value.map(\.rssi) == [-60])
        }
    }

    @Test func aChangeOfTheSignalStrengthCountsWhenItIsLargeEnough() async throws {
        try await Story.run { story in
            story.radio.conditions.signalVariation = 0
            let peripheral = SimulatedPeripheral(on: story.radio, advertisements: [.beacon(flags)], signalStrength: -80)
            let adapter = try await Adapter.open(on: story.kernel)
            let heard = collect(try await adapter.scan(ScanOptions(duplicates: .merge(rssiChange: 6))), in: story)
            for strength in [-78, -75, -74, -70, -75, -80] as [Int8] {
                try await story.radio.sleep(for: .seconds(1))
                peripheral.setSignalStrength(strength)
            }
            try await story.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(try await heard.value.map(\.rssi) == [-80, -74, -80])
        }
    }

    @Test func scansWithDifferentFiltersAndBuffersDoNotDisturbEachOther() async throws {
        try await Story.run { story in
            let named = SimulatedPeripheral(on: story.radio, advertisements: [.beacon(name)])
            SimulatedPeripheral(on: story.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: story.kernel)
            let slow = try await adapter.scan(ScanOptions(duplicates: .all, bufferCapacity: 4))
            let heard = collect(
                try await adapter.scan(ScanOptions(filter: .name("Name"), duplicates: .all)), in: story)
            try await story.radio.sleep(for: .seconds(3))
            let late = collect(try await adapter.scan(ScanOptions(duplicates: .once)), in: story)
            try await story.radio.sleep(for: .seconds(3))
            await adapter.close()
            let all = try await heard.value
            #expect(all.count > 40 && all.allSatisfy { $0.address == named.address && $0.missedBefore == 0 })
            // The second of them was told everything the first already knew.
            #expect(try await late.value.count == 2)
            let missed = slow.missedCount
            let rest = try await collect(slow, in: story).value
            #expect(rest.count == 4)
            #expect(missed > 80)
            #expect(rest.map(\.missedBefore) == [missed, 0, 0, 0])
        }
    }

    @Test func aForgottenDeviceIsNew() async throws {
        try await Story.run { story in
            for _ in 0..<3 { SimulatedPeripheral(on: story.radio, advertisements: [.beacon(flags)]) }
            let adapter = try await Adapter.open(on: story.kernel)
            let few = collect(try await adapter.scan(ScanOptions(duplicates: .once, deviceLimit: 2)), in: story)
            try await story.radio.sleep(for: .seconds(3))
            // The limit is that of whoever remembers most.
            let enough = collect(try await adapter.scan(ScanOptions(duplicates: .once, deviceLimit: 3)), in: story)
            try await story.radio.sleep(for: .seconds(3))
            await adapter.close()
            #expect(try await few.value.count > 10)
            #expect(try await enough.value.count == 3)
        }
    }
}
