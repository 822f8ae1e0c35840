import BluetoothAdvertising
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

private let coded = SimulatedController(hasCoded: true)
private let flags: [UInt8] = [2, 0x01, 0x06]

@Suite struct ExtendedScanTests {
    /// Data of several reports: an AD structure holds 254 bytes at most.
    private static func data(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
        var data: [UInt8] = []
        while data.count < count {
            let length = min(255, count - data.count) - 1
            data += [UInt8(length), 0xFF] + (1..<max(1, length)).map { UInt8(truncatingIfNeeded: $0) &* seed }
        }
        return data
    }

    @Test(arguments: [31, 229, 230, 251, 458, 459, 1000, 1650]) func chainsAreJoined(_ count: Int) async throws {
        try await Fixture.run { fixture in
            let data = Self.data(count)
            SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        data: data, isConnectable: false, isScannable: false, isLegacy: false, setIdentifier: 5,
                        secondaryPHY: .le2M, transmitPower: 8, periodicInterval: 80)
                ])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let heard = try await adapter.firstAdvertisement(timeout: .seconds(5)) { !$0.isLegacy }
            #expect(heard.data.advertising == data)
            #expect(!heard.isTruncated)
            #expect(heard.advertisingSetID == 5)
            #expect(heard.primaryPHY == .le1M && heard.secondaryPHY == .le2M)
            #expect(heard.transmitPower == 8)
            #expect(heard.periodicAdvertisingInterval == .milliseconds(100))
        }
    }

    @Test func extendedScanResponsesAreJoinedWithTheirSet() async throws {
        try await Fixture.run { fixture in
            let answer = Self.data(600)
            SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        scanResponse: answer, isConnectable: false, isScannable: true, isLegacy: false,
                        setIdentifier: 1),
                    SimulatedAdvertisement(
                        data: flags, isConnectable: false, isScannable: false, isLegacy: false, setIdentifier: 2),
                    SimulatedAdvertisement(data: flags, scanResponse: [2, 0x0A, 0]),
                ])
            let adapter = try await Adapter.open(on: fixture.kernel)
            var sets: [UInt8?: AdvertisementData] = [:]
            for try await heard in try await adapter.scan(ScanOptions(duplicates: .once)) {
                #expect(sets[heard.advertisingSetID] == nil)
                sets[heard.advertisingSetID] = heard.data
                if sets.count == 3 { break }
            }
            #expect(sets[1] == AdvertisementData(advertising: [], scanResponse: answer))
            #expect(sets[2] == AdvertisementData(advertising: flags))
            #expect(sets[nil] == AdvertisementData(advertising: flags, scanResponse: [2, 0x0A, 0]))
        }
    }

    @Test func aChainWhoseEndIsLostIsMarkedAndTakesNothingBack() async throws {
        try await Fixture.run { fixture in
            let data = Self.data(700)
            func advertisement(_ heard: Int?) -> SimulatedAdvertisement {
                SimulatedAdvertisement(
                    data: data, isConnectable: false, isScannable: false, isLegacy: false, receivedByteLimit: heard)
            }
            let peripheral = SimulatedPeripheral(on: fixture.radio, advertisements: [advertisement(300)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            var iterator = try await adapter.scan().makeAsyncIterator()
            let cut = try await iterator.next()
            #expect(cut?.isTruncated == true)
            #expect(cut?.data.advertising == Array(data.prefix(300)))
            peripheral.setAdvertisements([advertisement(nil)])
            let whole = try await iterator.next()
            #expect(whole?.isTruncated == false)
            #expect(whole?.data.advertising == data)
            peripheral.setAdvertisements([advertisement(300)])
            try await fixture.radio.sleep(for: .seconds(2))
            peripheral.setAdvertisements([.beacon(flags)])
            // Nothing came in between.
            #expect(try await iterator.next()?.data.advertising == flags)
        }
    }

    @Test func aChainThatAPauseCutIsNotMixedWithTheNext() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            var iterator = try await adapter.scan().makeAsyncIterator()
            func report(_ status: UInt8, _ data: [UInt8]) -> [UInt8] {
                let address: [UInt8] = [1, 1, 0, 0, 0, 0, 0xC0]
                let head: [UInt8] = [0x0D, 1, status << 5, 0] + address + [1, 1, 3, 127, 0xC8, 0, 0, 0]
                let body = head + [0, 0, 0, 0, 0, 0, UInt8(data.count)] + data
                return [0x04, 0x3E, UInt8(body.count)] + body
            }
            fixture.kernel.emit(report(1, [9, 0x09]))
            // Another scan with other wishes has the scanner switched off and on.
            let keener = try await adapter.scan(ScanOptions(interval: .milliseconds(20), window: .milliseconds(20)))
            fixture.kernel.emit(report(0, flags))
            #expect(try await iterator.next()?.data.advertising == flags)
            withExtendedLifetime(keener) {}
        }
    }

    @Test func longRangeIsHeardWhereTheControllerHasIt() async throws {
        try await Fixture.run([coded]) { fixture in
            let far = SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        data: flags, isConnectable: false, isScannable: false, isLegacy: false, primaryPHY: .leCoded,
                        secondaryPHY: .leCoded)
                ])
            let near = SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            let deaf = await failure {
                _ = try await adapter.firstAdvertisement(timeout: .seconds(3)) { $0.address == far.address }
            }
            #expect(deaf?.code == .notFound)
            for peripheral in [far, near] {
                let heard = try await adapter.firstAdvertisement(
                    timeout: .seconds(3), options: ScanOptions(coded: true)
                ) {
                    $0.address == peripheral.address
                }
                #expect(heard.primaryPHY == (peripheral.address == far.address ? .leCoded : .le1M))
            }
            var only = ScanOptions(coded: true)
            only.le1M = nil
            let heard = try await adapter.firstAdvertisement(timeout: .seconds(3), options: only) { _ in true }
            #expect(heard.address == far.address)
        }
    }

    @Test(arguments: [SimulatedController(), SimulatedController(family: .legacy)])
    func longRangeIsLeftOutOrRefusedWhereItIsNot(_ controller: SimulatedController) async throws {
        try await Fixture.run([controller]) { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon(flags)])
            let adapter = try await Adapter.open(on: fixture.kernel)
            _ = try await adapter.firstAdvertisement(timeout: .seconds(3), options: ScanOptions(coded: true)) { _ in
                true
            }
            var only = ScanOptions(coded: true)
            only.le1M = nil
            #expect(await failure { _ = try await adapter.scan(only) }?.code == .unsupported)
            only.leCoded = nil
            #expect(await failure { _ = try await adapter.scan(only) }?.code == .invalidArgument)
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func eachPHYHasParametersOfItsOwn() async throws {
        try await Fixture.withAdapter([coded]) { fixture, adapter in
            var options = ScanOptions()
            options.leCoded = ScanParameters(isActive: false, interval: .milliseconds(300), window: .milliseconds(150))
            let stream = try await adapter.scan(options)
            #expect(fixture.kernel.isScanningActively())
            let coded = fixture.kernel.codedScan()
            #expect(coded?.type == .passive && coded?.interval == 480 && coded?.window == 240)
            withExtendedLifetime(stream) {}
        }
    }
}
