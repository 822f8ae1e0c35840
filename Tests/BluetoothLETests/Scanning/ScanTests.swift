import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let name: [UInt8] = [5, 0x09, 0x4E, 0x61, 0x6D, 0x65]
private let flags: [UInt8] = [2, 0x01, 0x06]

@Suite struct ScanTests {
    @Test(arguments: [HCIFamily.legacy, .extended], [true, false])
    func namesFromTheScanResponseAreJoined(_ family: HCIFamily, _ isActive: Bool) async throws {
        try await Fixture.run([family.controller]) { fixture in
            SimulatedPeripheral(
                on: fixture.radio, advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let found = await failure {
                _ = try await adapter.firstAdvertisement(timeout: .seconds(3), options: ScanOptions(isActive: isActive))
                {
                    $0.data.localName == "Name" && $0.data.flags != nil
                }
            }
            #expect(found?.code == (isActive ? nil : .notFound))
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func duplicatesAreKeptOrMerged() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let merged = try await adapter.scan()
            let kept = try await adapter.scan(ScanOptions(duplicates: .all))
            try await fixture.radio.sleep(for: .seconds(2))
            peripheral.setAdvertisements([.beacon(name)])
            try await fixture.radio.sleep(for: .seconds(2))
            await adapter.close()
            #expect(await count(merged) == 2)
            #expect(await count(kept) > 20)
        }
    }

    /// How many elements a stream hands out before it ends.
    private func count(_ stream: BoundedStream<Advertisement>) async -> Int {
        var count = 0
        _ = await failure { for try await _ in stream { count += 1 } }
        return count
    }

    @Test func malformedReportsEndNothing() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([9, 0x09, 0xFF])])
            let adapter = try await Adapter.open(on: fixture.kernel)
            var iterator = try await adapter.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
            for packet: [UInt8] in [
                [], [0x04], [0x04, 0x3E], [0x04, 0x3E, 0x01, 0x0D], [0x04, 0x3E, 0x02, 0x0D, 0xFF],
                [0x04, 0x3E, 0x02, 0x02, 0x01], [0x04, 0x3E, 0x00], [0x04, 0x0E, 0x01, 0x01], [0x09, 0x09],
                [0x04, 0x3E, 0x0C, 0x02, 0x01, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 0xFF, 0],
            ] {
                fixture.kernel.emit(packet)
            }
            for _ in 0..<5 {
                #expect(try await iterator.next() != nil)
            }
        }
    }

    @Test func leavingTheLoopStopsTheScan() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            for try await _ in try await adapter.scan() {
                #expect(fixture.kernel.isScanning())
                break
            }
            try await fixture.settle { !fixture.kernel.isScanning() }
            // A stream nobody has read, too.
            _ = try await adapter.scan()
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func aDurationEndsTheScanRegularly() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let lasting = try await adapter.scan(ScanOptions(duplicates: .all))
            var count = 0
            let time = try await fixture.duration {
                let options = ScanOptions(duration: .seconds(3), isActive: false, duplicates: .all)
                for try await _ in try await adapter.scan(options) { count += 1 }
            }
            #expect(time >= .seconds(3) && time < .seconds(3.5))
            #expect(count > 20)
            // The other scan goes on.
            #expect(fixture.kernel.isScanning())
            withExtendedLifetime(lasting) {}
        }
    }

    /// Read or not, it leaves nothing behind.
    @Test func aScanThatIsOverStopsTheController() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let stream = try await adapter.scan(ScanOptions(duration: .seconds(1)))
            try await fixture.radio.sleep(for: .milliseconds(1200))
            #expect(!fixture.kernel.isScanning())
            var seen = 0
            for try await _ in stream { seen += 1 }
            #expect(seen == 1)
            // Left before its time, as well.
            for try await _ in try await adapter.scan(ScanOptions(duration: .seconds(1))) { break }
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(!fixture.kernel.isScanning())
        }
    }

    @Test func aHeldReportIsHandedOutWhenTheScanIsOver() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let options = ScanOptions(duration: .seconds(2), scanResponseTimeout: .seconds(60))
            let stream = try await adapter.scan(options)
            // A scannable device whose scan response is lost: LE Advertising Report, ADV_IND.
            fixture.kernel.emit([0x04, 0x3E, 0x0F, 0x02, 0x01, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 3] + flags + [0xC0])
            var seen = 0
            for try await _ in stream { seen += 1 }
            #expect(seen == 1)
        }
    }

    /// The reports of a batch are read, and so have their time, together; none is lost when the scan is over.
    @Test(arguments: [(0, false), (20, false), (40, false), (1000, false), (20, true)])
    func reportsAreReceivedInBatches(_ milliseconds: Int, _ isBesideAnother: Bool) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let other = isBesideAnother ? try await adapter.scan() : nil
            let options = ScanOptions(
                duration: .milliseconds(105), duplicates: .all, batching: .milliseconds(milliseconds))
            let stream = try await adapter.scan(options)
            for number in 0..<100 as Range<UInt8> {
                // LE Advertising Report, ADV_NONCONN_IND, of another device each.
                fixture.kernel.emit(
                    [0x04, 0x3E, 0x0F, 0x02, 0x01, 0x03, 0x00, number, 2, 3, 4, 5, 6, 3] + flags + [0xC0])
                try await fixture.radio.sleep(for: .milliseconds(1))
            }
            var numbers: [UInt8] = []
            var times: Set<KernelInstant> = []
            for try await report in stream {
                numbers.append(UInt8(truncatingIfNeeded: report.address?.value ?? 0xFF))
                times.insert(report.time)
            }
            #expect(numbers == Array(0..<100))
            switch (milliseconds, isBesideAnother) {
            case (20, false): #expect((5...8).contains(times.count))
            // The rest is read when the scan is over.
            case (40, false): #expect((3...4).contains(times.count))
            // At most 50 ms.
            case (1000, false): #expect((2...4).contains(times.count))
            default: #expect(times.count > 90)
            }
            withExtendedLifetime(other) {}
        }
    }

    /// A scan response that waits in the socket for a batch is not late.
    @Test func aScanResponseMayComeWithTheNextBatch() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let options = ScanOptions(
                duration: .milliseconds(200), duplicates: .once, scanResponseTimeout: .milliseconds(10),
                batching: .milliseconds(20))
            let stream = try await adapter.scan(options)
            // ADV_IND, then SCAN_RSP with the name "AB".
            fixture.kernel.emit([0x04, 0x3E, 0x0F, 0x02, 0x01, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 3] + flags + [0xC0])
            try await fixture.radio.sleep(for: .milliseconds(1))
            fixture.kernel.emit(
                [0x04, 0x3E, 0x10, 0x02, 0x01, 0x04, 0x00, 1, 2, 3, 4, 5, 6, 4, 3, 0x09, 0x41, 0x42, 0xC0])
            var names: [String?] = []
            for try await report in stream { names.append(report.localName) }
            #expect(names == ["AB"])
        }
    }

    @Test func devicesAreListedOnceAndByStrength() async throws {
        try await Fixture.run { fixture in
            for (number, strength) in ([-70, -50, -90] as [Int8]).enumerated() {
                SimulatedPeripheral(
                    on: fixture.radio, address: BluetoothAddress(0xC098_E512_0000 + UInt64(number), kind: .random),
                    advertisements: [SimulatedAdvertisement(data: flags, scanResponse: name)], signalStrength: strength)
            }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let time = try await fixture.duration {
                let devices = try await adapter.devices(for: .seconds(5))
                #expect(devices.map { ($0.address?.value ?? 0) & 3 } == [1, 0, 2])
                #expect(devices.allSatisfy { $0.data.localName == "Name" && $0.data.flags != nil })
            }
            #expect(time >= .seconds(5) && time < .seconds(6))
            let near = try await adapter.devices(for: .seconds(1), options: ScanOptions(filter: .rssi(atLeast: -75)))
            #expect(near.count == 2)
            fixture.kernel.setPowered(false, adapter: 0)
            #expect(await failure { _ = try await adapter.devices(for: .seconds(1)) }?.code == .adapterOff)
        }
    }

    @Test func twoScansShareTheScanner() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let passive = try await adapter.scan(ScanOptions(isActive: false, duplicates: .all))
            #expect(!fixture.kernel.isScanningActively())
            do {
                let active = try await adapter.scan()
                #expect(fixture.kernel.isScanningActively())
                for try await _ in active { break }
            }
            try await fixture.settle { fixture.kernel.isScanning() && !fixture.kernel.isScanningActively() }
            var seen = 0
            for try await _ in passive {
                seen += 1
                if seen == 30 { break }
            }
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func closingTheAdapterLeavesNoScanBehind() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let stream = try await adapter.scan()
            #expect(fixture.kernel.isScanning())
            await adapter.close()
            #expect(await failure { for try await _ in stream {} }?.code == .cancelled)
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func aScanGoesOnAfterAConnectionWasMade() async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            let other = SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            var iterator = try await adapter.scan(ScanOptions(duplicates: .all)).makeAsyncIterator()
            let connection = try await adapter.connect(to: peripheral.address)
            try await fixture.settle { fixture.kernel.isScanning() }
            let before = fixture.radio.now
            while let next = try await iterator.next() {
                if next.time > before, next.address == other.address { break }
            }
            await connection.disconnect()
        }
    }

    @Test(arguments: Ending.allCases) func theEndOfTheAdapterEndsTheScanWithTheReason(_ ending: Ending) async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            // Nobody but the stream holds the adapter.
            let stream = try await Adapter.open(on: fixture.kernel).scan()
            let reading = fixture.begin { for try await _ in stream {} }
            try await fixture.radio.sleep(for: .seconds(1))
            ending.happen(to: fixture.kernel)
            let error = await failure { try await reading.value }
            #expect(error?.code == ending.code)
        }
    }

    @Test func aDeviceThatIsNotThereIsNotFoundInTime() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.firstAdvertisement(timeout: .seconds(5)) { _ in false }
                }
                #expect(error?.code == .notFound)
                #expect(error?.remedy != nil)
            }
            #expect(time >= .seconds(5) && time < .seconds(6))
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func aCancelledSearchEndsAndStopsTheScan() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            for milliseconds in [0, 1, 5, 100, 2000] {
                let search = fixture.begin { try await adapter.firstAdvertisement(timeout: nil) { _ in false } }
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                search.cancel()
                #expect(await failure { _ = try await search.value }?.code == .cancelled)
                try await fixture.settle { !fixture.kernel.isScanning() }
            }
        }
    }

    @Test func theOldestMakesRoomAndIsCounted() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let stream = try await adapter.scan(ScanOptions(duplicates: .all, bufferCapacity: 4))
            try await fixture.radio.sleep(for: .seconds(3))
            let late = fixture.radio.now
            #expect(stream.missedCount > 10)
            for try await first in stream {
                #expect(first.time.duration(to: late) < .seconds(1))
                break
            }
        }
    }

    @Test func aControllerThatNeverAnswersIsToldSo() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.setSilent(true, adapter: 0)
            let time = await fixture.duration {
                let error = await failure { _ = try await adapter.scan() }
                #expect(error?.code == .timedOut)
                #expect(error?.remedy != nil)
            }
            #expect(time < .seconds(16))
            fixture.kernel.setSilent(false, adapter: 0)
            let stream = try await adapter.scan()
            #expect(fixture.kernel.isScanning())
            withExtendedLifetime(stream) {}
        }
    }

    @Test func aKernelThatNeverEndsADiscoveryKeepsNobodyFromScanning() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            fixture.kernel.setSilent(true, for: .stopDiscovery)
            let adapter = try await Adapter.open(on: fixture.kernel)
            for _ in 0..<3 { _ = try await adapter.firstAdvertisement(timeout: .seconds(20)) { _ in true } }
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func nothingOfAScanIsLeftBehind() async throws {
        try await Fixture.run { fixture in
            SimulatedPeripheral(on: fixture.radio)
            weak var session: AdapterSession?
            do {
                let adapter = try await Adapter.open(on: fixture.kernel)
                session = adapter.session
                for try await _ in try await adapter.scan() { break }
            }
            for _ in 0..<100 where session != nil { try await fixture.radio.sleep(for: .milliseconds(100)) }
            #expect(session == nil)
            #expect(!fixture.kernel.isScanning())
        }
    }
}

/// Which commands a controller has.
enum HCIFamily: Sendable {
    case legacy, extended

    var controller: SimulatedController {
        SimulatedController(family: self == .legacy ? .legacy : .extended)
    }
}

/// How an adapter can end.
enum Ending: CaseIterable, Sendable {
    case powerOff, unplug, block

    func happen(to kernel: SimulatedKernel, adapter index: UInt16 = 0) {
        switch self {
        case .powerOff: kernel.setPowered(false, adapter: index)
        case .unplug: kernel.unplug(index)
        case .block: kernel.setRadioSwitch(adapter: index, isSoftBlocked: true)
        }
    }

    var code: BluetoothError.Code {
        switch self {
        case .powerOff: .adapterOff
        case .unplug: .noAdapter
        case .block: .adapterBlocked
        }
    }
}
