import BluetoothSimulation
import Testing

import BluetoothLE

private let flags: [UInt8] = [2, 0x01, 0x06]
private let name: [UInt8] = [5, 0x09, 0x4E, 0x61, 0x6D, 0x65]

/// Collects what a scan hands out until the adapter is closed.
private func collect(_ stream: BoundedStream<Advertisement>, in fixture: Fixture) -> Task<[Advertisement], any Error> {
    fixture.begin {
        var all: [Advertisement] = []
        do throws(BluetoothError) { for try await advertisement in stream { all.append(advertisement) } } catch {
            #expect(error.code == .cancelled)
        }
        return all
    }
}

@Suite struct DuplicateTests {
    @Test func eachDeviceComesOnceWithItsScanResponse() async throws {
        try await Fixture.run { fixture in
            let one = SimulatedPeripheral(
                on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let other = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let heard = collect(try await adapter.scan(ScanOptions(duplicates: .once)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            other.setAdvertisements([.beacon(name)])
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            let all = try await heard.value
            #expect(all.count == 2)
            #expect(all.first { $0.address == one.address }?.data.localName == "Name")
            #expect(all.first { $0.address == other.address }?.data.advertising == flags)
        }
    }

    @Test func oneThatNeverAnswersComesWithItsSecondReport() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            // A passive scan gets no answers, so there is nothing to wait for; an active one whose answers are lost does.
            let passive = try await adapter.firstAdvertisement(
                timeout: .seconds(5), options: ScanOptions(isActive: false, duplicates: .once)
            ) { _ in true }
            #expect(passive.data.advertising == flags)
        }
    }

    @Test func whatDidNotPassIsHandedOutWhenItDoes() async throws {
        try await Fixture.run { fixture in
            fixture.radio.conditions.signalVariation = 0
            let peripheral = SimulatedPeripheral(
                on: fixture.radio, advertisements: [.beacon(flags)], signalStrength: -90)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let options = ScanOptions(filter: .rssi(atLeast: -70), duplicates: .once)
            let once = collect(try await adapter.scan(options), in: fixture)
            var merged = options
            merged.duplicates = .merge
            let changes = collect(try await adapter.scan(merged), in: fixture)
            try await fixture.radio.sleep(for: .seconds(2))
            peripheral.setSignalStrength(-60)
            try await fixture.radio.sleep(for: .seconds(2))
            peripheral.setSignalStrength(-50)
            try await fixture.radio.sleep(for: .seconds(2))
            await adapter.close()
            #expect(try await once.value.map(\.rssi) == [-60])
            #expect(try await changes.value.map(\.rssi) == [-60])
        }
    }

    @Test func aChangeOfTheSignalStrengthCountsWhenItIsLargeEnough() async throws {
        try await Fixture.run { fixture in
            fixture.radio.conditions.signalVariation = 0
            let peripheral = SimulatedPeripheral(
                on: fixture.radio, advertisements: [.beacon(flags)], signalStrength: -80)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let heard = collect(try await adapter.scan(ScanOptions(duplicates: .merge(rssiChange: 6))), in: fixture)
            for strength in [-78, -75, -74, -70, -75, -80] as [Int8] {
                try await fixture.radio.sleep(for: .seconds(1))
                peripheral.setSignalStrength(strength)
            }
            try await fixture.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(try await heard.value.map(\.rssi) == [-80, -74, -80])
        }
    }

    @Test func scansWithDifferentFiltersAndBuffersDoNotDisturbEachOther() async throws {
        try await Fixture.run { fixture in
            let named = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(name)])
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let slow = try await adapter.scan(ScanOptions(duplicates: .all, bufferCapacity: 4))
            let heard = collect(
                try await adapter.scan(ScanOptions(filter: .name("Name"), duplicates: .all)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            let late = collect(try await adapter.scan(ScanOptions(duplicates: .once)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            let all = try await heard.value
            #expect(all.count > 40 && all.allSatisfy { $0.address == named.address && $0.missedBefore == 0 })
            // The second of them was told everything the first already knew.
            #expect(try await late.value.count == 2)
            let missed = slow.missedCount
            let rest = try await collect(slow, in: fixture).value
            #expect(rest.count == 4)
            #expect(missed > 80)
            #expect(rest.map(\.missedBefore) == [missed, 0, 0, 0])
        }
    }

    @Test func aForgottenDeviceIsNew() async throws {
        try await Fixture.run { fixture in
            for _ in 0..<3 { SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)]) }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let few = collect(try await adapter.scan(ScanOptions(duplicates: .once, deviceLimit: 2)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            // The limit is that of whoever remembers most.
            let enough = collect(try await adapter.scan(ScanOptions(duplicates: .once, deviceLimit: 3)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            #expect(try await few.value.count > 10)
            #expect(try await enough.value.count == 3)
        }
    }

    // MARK: Waiting for scan responses

    private static func options(_ duplicates: DuplicatePolicy, isActive: Bool = true) -> ScanOptions {
        var options = ScanOptions(isActive: isActive, duplicates: duplicates)
        options.scanResponseTimeout = .milliseconds(100)
        return options
    }

    /// The first report of a device that answers scan requests comes with the answer, and that of any other at once.
    @Test(arguments: [DuplicatePolicy.merge, .once]) func theFirstReportWaitsForTheScanResponse(
        _ duplicates: DuplicatePolicy
    ) async throws {
        try await Fixture.run { fixture in
            let named = SimulatedPeripheral(
                on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let beacon = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let heard = collect(try await adapter.scan(Self.options(duplicates)), in: fixture)
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            let all = try await heard.value
            #expect(all.count == 2)
            #expect(all.first { $0.address == named.address }?.data.localName == "Name")
            #expect(all.first { $0.address == beacon.address }?.data.localName == nil)
        }
    }

    /// Who waits briefly is not kept waiting by who waits long.
    @Test func everyScanWaitsForItsOwnTime() async throws {
        try await Fixture.run { fixture in
            fixture.radio.conditions.scanResponseLoss = 1
            SimulatedPeripheral(
                on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            var patient = Self.options(.merge)
            patient.scanResponseTimeout = .seconds(10)
            let long = try await adapter.scan(patient)
            try await fixture.radio.sleep(for: .seconds(3))
            let time = try await fixture.duration {
                var scan = try await adapter.scan(Self.options(.merge)).makeAsyncIterator()
                _ = try await scan.next()
            }
            #expect(time < .seconds(1))
            withExtendedLifetime(long) {}
            await adapter.close()
        }
    }

    /// An answer that is lost is waited for no longer than that; it comes as a change.
    @Test func aLostScanResponseDelaysTheFirstReportBriefly() async throws {
        try await Fixture.run { fixture in
            fixture.radio.conditions.scanResponseLoss = 1
            SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(data: flags, scanResponse: name, interval: .milliseconds(30))
                ])
            let beacon = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            // Every report, for when the first one came.
            let all = collect(try await adapter.scan(ScanOptions(duplicates: .all)), in: fixture)
            var scan = try await adapter.scan(Self.options(.merge)).makeAsyncIterator()
            var delays: [Bool: Duration] = [:]
            var ages: [Bool: Duration] = [:]
            var first: [Bool: KernelInstant] = [:]
            for _ in 0..<2 {
                let advertisement = try #require(await scan.next())
                let isBeacon = advertisement.address == beacon.address
                first[isBeacon] = fixture.radio.now
                ages[isBeacon] = advertisement.time.duration(to: fixture.radio.now)
            }
            fixture.radio.conditions.scanResponseLoss = 0
            let changed = try #require(await scan.next())
            #expect(changed.data.localName == "Name")
            await adapter.close()
            for advertisement in try await all.value {
                let isBeacon = advertisement.address == beacon.address
                guard delays[isBeacon] == nil, let first = first[isBeacon] else { continue }
                delays[isBeacon] = advertisement.time.duration(to: first)
            }
            #expect(delays == [true: .zero, false: .milliseconds(100)])
            // It is the newest report that is handed out.
            #expect(ages[true] == .zero)
            #expect((ages[false] ?? .zero) <= .milliseconds(41))
        }
    }

    /// A passive scan gets no answers, and does not wait for any.
    @Test func aPassiveScanWaitsForNoScanResponse() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(
                on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            var scan = try await adapter.scan(Self.options(.merge, isActive: false)).makeAsyncIterator()
            let heard = try #require(await scan.next())
            #expect(heard.time == fixture.radio.now)
            #expect(heard.data.localName == nil)
            await adapter.close()
        }
    }

    /// Many devices at once that do not answer: those that have waited longest make room, and none is lost.
    @Test func reportsThatWaitAreBounded() async throws {
        try await Fixture.run { fixture in
            fixture.radio.conditions.scanResponseLoss = 1
            for number in 0..<300 {
                SimulatedPeripheral(
                    on: fixture.radio, address: BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random),
                    advertisements: [SimulatedAdvertisement(data: flags, interval: .milliseconds(20))])
            }
            let adapter = try await Adapter.open(on: fixture.kernel)
            var options = Self.options(.once)
            options.deviceLimit = 280
            let heard = collect(try await adapter.scan(options), in: fixture)
            try await fixture.radio.sleep(for: .milliseconds(150))
            // What waits still is handed out ahead of the end.
            await adapter.close()
            #expect(Set(try await heard.value.map(\.address)).count == 300)
        }
    }
}
