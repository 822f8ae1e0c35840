import BluetoothAdvertising
import BluetoothLE
import TestSupport
import Testing

@testable import ExampleSupport

/// The order of a scan's devices in a table that is redrawn.
@Suite struct DeviceOrderTests {
    private static func report(
        _ number: Int, _ name: String? = nil, rssi: Int, at milliseconds: Int = 0
    ) -> Advertisement {
        var builder = AdvertisementDataBuilder()
        if let name { try? builder.add(.localName(name)) }
        return Advertisement(
            address: BluetoothAddress(UInt64(0xC098_E512_3400 + number), kind: .random),
            data: AdvertisementData(advertising: builder.bytes), rssi: rssi,
            time: KernelInstant(nanoseconds: Int64(milliseconds) * 1_000_000))
    }

    private static func numbers(_ devices: [DeviceTable.Device]) -> [Int] {
        devices.map { Int(($0.latest.address?.value ?? 0) - 0xC098_E512_3400) }
    }

    /// The variation of the RSSI in dB.
    @Test(arguments: [2, 6]) func ofFortyDevicesOfEqualStrengthOneMovesInASecond(_ variation: Int) {
        var (devices, order, random) = (DeviceTable(), DeviceOrder(.rssi), SeededGenerator(seed: 7))
        let start = ContinuousClock.now
        var (orders, moveCount): ([[Int]], Int) = ([], 0)
        for step in 0..<600 {
            for number in 0..<40 {
                // As strong as any other, and different with each report.
                let rssi = -60 + Int.random(in: -variation...variation, using: &random)
                devices.record(Self.report(number, rssi: rssi, at: step * 100))
            }
            guard step % 5 == 0 else { continue }
            orders.append(Self.numbers(order.arrange(devices.all, at: start + .milliseconds(step * 100))))
            guard orders.count > 2 else { continue }
            let (before, after) = (orders[orders.count - 2], orders[orders.count - 1])
            guard before != after else { continue }
            moveCount += 1
            #expect(orders[orders.count - 3] == before)
            // All others are as they were.
            #expect(before.contains { moved in before.filter { $0 != moved } == after.filter { $0 != moved } })
        }
        #expect((moveCount > 0) == (variation > 5))
    }

    @Test func aDeviceThatComesNearerMovesUp() {
        var (devices, order) = (DeviceTable(), DeviceOrder(.rssi))
        let start = ContinuousClock.now
        for (number, rssi) in [-50, -60, -70].enumerated() { devices.record(Self.report(number, rssi: rssi)) }
        #expect(Self.numbers(order.arrange(devices.all, at: start)) == [0, 1, 2])
        for time in 1...16 { devices.record(Self.report(2, rssi: -40, at: time * 100)) }
        #expect(Self.numbers(order.arrange(devices.all, at: start + .seconds(2))) == [2, 0, 1])
        // 4 dB are no reason to move.
        for time in 17...32 { devices.record(Self.report(1, rssi: -47, at: time * 100)) }
        for time in 17...32 { devices.record(Self.report(2, rssi: -44, at: time * 100)) }
        #expect(Self.numbers(order.arrange(devices.all, at: start + .seconds(4))) == [2, 1, 0])
        for time in 33...48 { devices.record(Self.report(1, rssi: -43, at: time * 100)) }
        #expect(Self.numbers(order.arrange(devices.all, at: start + .seconds(6))) == [2, 1, 0])
    }

    @Test(
        arguments: [
            (.rssi, [1, 2, 0, 3]), (.name, [3, 2, 0, 1]), (.seen, [2, 0, 3, 1]), (.address, [0, 1, 2, 3]),
        ] as [(DeviceSort, [Int])])
    func devicesAreSorted(_ sort: DeviceSort, _ expected: [Int]) {
        var (devices, order) = (DeviceTable(), DeviceOrder(sort))
        devices.record(Self.report(2, "bench", rssi: -60, at: 1))
        devices.record(Self.report(0, "Pulse", rssi: -70, at: 2))
        devices.record(Self.report(3, "Alarm", rssi: -80, at: 3))
        devices.record(Self.report(1, rssi: -50, at: 4))
        // A later report does not change the time of the first.
        devices.record(Self.report(2, "bench", rssi: -60, at: 5))
        #expect(Self.numbers(order.arrange(devices.all)) == expected)
    }
}
