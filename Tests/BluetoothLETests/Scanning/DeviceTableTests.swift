import BluetoothAdvertising
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct DeviceTableTests {
    private static func advertisement(
        _ address: UInt64 = 1, at seconds: Double = 0, rssi: Int? = -50, set: UInt8? = nil, isScanResponse: Bool = false
    ) -> Advertisement {
        Advertisement(
            address: BluetoothAddress(address, kind: .random), data: AdvertisementData(advertising: [2, 1, 6]),
            rssi: rssi, transmitPower: nil, isConnectable: true, isScannable: true, isScanResponse: isScanResponse,
            isLegacy: true, isDirected: false, directAddress: nil, isTruncated: false, primaryPHY: .le1M,
            secondaryPHY: nil, advertisingSetID: set, periodicAdvertisingInterval: nil,
            time: KernelInstant(nanoseconds: Int64(seconds * 1e9)))
    }

    /// A history of a device that advertises every so often, of whose advertisements some are missed.
    private static func history(
        _ interval: Double, loss: Double, count: Int = 40, seed: UInt64
    ) -> DeviceHistory {
        var generator = SeededGenerator(seed: seed)
        var time = 0.0
        var history = DeviceHistory(advertisement())
        var heard = 0
        while heard < count {
            time += interval + Double.random(in: 0...0.010, using: &generator)
            guard Double.random(in: 0..<1, using: &generator) >= loss else { continue }
            heard += 1
            // Between the air and the loop there is some way.
            let late = Double.random(in: 0...0.002, using: &generator)
            history.record(advertisement(at: time + late, rssi: -50 - heard % 3))
            history.record(advertisement(at: time + late + 0.001, isScanResponse: true))
        }
        return history
    }

    @Test func aListKnowsADeviceByItsAddressAndSet() {
        var table = DeviceTable()
        let first = table.record(Self.advertisement())
        let second = table.record(Self.advertisement(at: 1, rssi: -70))
        #expect(second.id == first.id && second.id == Self.advertisement(at: 5).id)
        let others = [Self.advertisement(2), Self.advertisement(set: 0), Self.advertisement(set: 1)]
        #expect(Set(others.map(\.id) + [first.id]).count == 4)
    }

    @Test(arguments: [0.03, 0.1, 0.1525, 0.4175, 1.022, 1.28, 5], [0, 0.2, 0.4])
    func theIntervalIsToldThoughAdvertisementsAreMissed(_ interval: Double, _ loss: Double) throws {
        var right = 0
        // The same at each run, since how many are right is a matter of chance.
        for seed in 1...100 as ClosedRange<UInt64> {
            let estimate = try #require(Self.history(interval, loss: loss, seed: seed).advertisingInterval)
            if abs(estimate / .seconds(interval) - 1) < 0.1 { right += 1 }
        }
        #expect(right >= (interval < 0.05 && loss > 0 ? 80 : 95), "\(right) of 100")
    }

    @Test func ofADeviceHeardOnceNoIntervalIsTold() {
        var history = DeviceHistory(Self.advertisement())
        #expect(history.advertisingInterval == nil)
        // Another channel of the same advertisement, and its scan response.
        history.record(Self.advertisement(at: 0.002))
        history.record(Self.advertisement(at: 0.003, isScanResponse: true))
        #expect(history.advertisingInterval == nil)
        #expect(history.reportCount == 3)
        history.record(Self.advertisement(at: 0.105))
        #expect(history.advertisingInterval == .milliseconds(100))
    }

    @Test func strangeTimesAreTaken() {
        var history = DeviceHistory(Self.advertisement(at: 100))
        for seconds in [99, 0, 100, 1e9, 1e9, 0, 9e9] as [Double] { history.record(Self.advertisement(at: seconds)) }
        #expect(history.last == KernelInstant(nanoseconds: 9_000_000_000_000_000_000))
        _ = history.advertisingInterval
        #expect(IntervalEstimate.interval([]) == nil)
        #expect(IntervalEstimate.interval([4_294_967_295]) != nil)
        #expect(IntervalEstimate.interval([10_000, 10_000]) == 5_000)
        // The longest time that counts: eight and a half of the shortest, as nine.
        #expect(IntervalEstimate.interval([40_000, 340_000]) == 33_000)
    }

    @Test func theLastSignalStrengthsAreKept() {
        var history = DeviceHistory(Self.advertisement(rssi: nil))
        #expect(history.rssi == [] && history.meanRSSI == nil)
        for number in 1...40 { history.record(Self.advertisement(rssi: -number)) }
        #expect(history.rssi == (25...40).map { -$0 })
        #expect(history.meanRSSI == -32.5)
        history.record(Self.advertisement(rssi: -1000))
        #expect(history.rssi.last == -128)
    }

    @Test func theDeviceSilentTheLongestIsForgotten() {
        var table = DeviceTable(capacity: 3)
        for address in [1, 2, 3, 1, 4] as [UInt64] { table.record(Self.advertisement(address)) }
        #expect(table.count == 3 && table.evictedCount == 1)
        #expect(table.device(BluetoothAddress(2, kind: .random)) == nil)
        #expect(table.all.map { $0.latest.address?.value } == [4, 1, 3])
        #expect(table.device(BluetoothAddress(1, kind: .random))?.history.reportCount == 2)
        #expect(table.record(Self.advertisement(2)).history.reportCount == 1)
        // A set is a device of its own.
        table.record(Self.advertisement(2, set: 1))
        #expect(table.device(BluetoothAddress(2, kind: .random), advertisingSetID: 1)?.history.reportCount == 1)
    }

    @Test func theMemoryOfTenThousandDevicesIsBounded() {
        #expect(MemoryLayout<DeviceHistory>.size <= 120)
        #expect(MemoryLayout<DeviceTable.Device>.stride <= 300)
        var table = DeviceTable(capacity: 10_000)
        for address in 0..<30_000 as Range<UInt64> { table.record(Self.advertisement(address)) }
        #expect(table.count == 10_000 && table.evictedCount == 20_000)
    }
}
