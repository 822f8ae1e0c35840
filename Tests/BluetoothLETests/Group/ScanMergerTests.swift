import BluetoothAdvertising
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// The merger of several adapters' reports, without a radio.
@Suite struct ScanMergerTests {
    private static let device = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)

    private static func report(
        _ name: String, _ rssi: Int, at seconds: Double, scanResponse: [UInt8] = [], isScannable: Bool = false,
        address: BluetoothAddress = device, privateAddress: BluetoothAddress? = nil
    ) -> Advertisement {
        var report = Advertisement(
            address: address,
            data: AdvertisementData(
                advertising: [UInt8(name.utf8.count + 1), 0x09] + Array(name.utf8), scanResponse: scanResponse),
            rssi: rssi, isConnectable: true, isScannable: isScannable,
            time: KernelInstant(nanoseconds: Int64(seconds * 1e9)))
        report.privateAddress = privateAddress
        return report
    }

    private static func merger(_ duplicates: DuplicatePolicy = .merge, limit: Int = 16) -> ScanMerger {
        ScanMerger(duplicates, isActive: true, deviceLimit: limit)
    }

    @Test func aDeviceThatIsReceivedInTurnIsDeliveredOnce() {
        var merger = Self.merger()
        var deliveries = 0
        // The second adapter never receives the scan response.
        for turn in 0..<1000 {
            let isFirst = turn % 2 == 0
            let report = Self.report(
                "a", isFirst ? -50 : -52, at: Double(turn) / 10, scanResponse: isFirst ? [2, 0x0A, 4] : [])
            if merger.receive(report, from: isFirst ? 1 : 2) != nil { deliveries += 1 }
        }
        #expect(deliveries == 1)
    }

    @Test func aChangeIsDeliveredOnceAndSoIsItsReverse() {
        var merger = Self.merger()
        var names: [String] = []
        for (turn, name) in ["a", "a", "a", "b", "b", "b", "a", "a"].enumerated() {
            for member in 1...2 {
                let report = Self.report(name, -50, at: Double(turn))
                if let delivery = merger.receive(report, from: member) {
                    names.append(delivery.advertisement.localName ?? "")
                }
            }
        }
        #expect(names == ["a", "b", "a"])
    }

    @Test func theSignalsAreThoseOfAllAdaptersStrongestFirst() {
        var merger = Self.merger()
        let first = merger.receive(Self.report("a", -80, at: 0), from: 1)
        #expect(first?.signals.map(\.member) == [1])
        #expect(merger.receive(Self.report("a", -60, at: 1), from: 2) == nil)
        // The second adapter decides now, as it receives the device better.
        #expect(merger.receive(Self.report("b", -80, at: 2), from: 1) == nil)
        let second = merger.receive(Self.report("b", -61, at: 3), from: 2)
        #expect(second?.signals.map(\.member) == [2, 1])
        #expect(second?.signals.map(\.rssi) == [-61, -80])
    }

    @Test func anAdapterThatReceivesNothingAnyMoreDecidesNothing() {
        var merger = Self.merger()
        #expect(merger.receive(Self.report("a", -40, at: 0), from: 1) != nil)
        #expect(merger.receive(Self.report("b", -90, at: 9), from: 2) == nil)
        #expect(merger.receive(Self.report("b", -90, at: 11), from: 2) != nil)
    }

    @Test func policiesApplyToTheGroup() {
        var once = Self.merger(.once)
        // The first report waits for the scan response, or the next report of any adapter.
        #expect(once.receive(Self.report("a", -50, at: 0, isScannable: true), from: 1) == nil)
        #expect(once.receive(Self.report("a", -50, at: 1, isScannable: true), from: 2) != nil)
        #expect(once.receive(Self.report("b", -50, at: 2), from: 1) == nil)
        var all = Self.merger(.all)
        for member in [1, 2, 1, 2] { #expect(all.receive(Self.report("a", -50, at: 0), from: member) != nil) }
        var change = Self.merger(.merge(rssiChange: 5))
        #expect(change.receive(Self.report("a", -50, at: 0), from: 1) != nil)
        #expect(change.receive(Self.report("a", -54, at: 1), from: 1) == nil)
        #expect(change.receive(Self.report("a", -55, at: 2), from: 1) != nil)
        // The first signal of another adapter is a change, too.
        #expect(change.receive(Self.report("a", -55, at: 3), from: 2) != nil)
        #expect(change.receive(Self.report("a", -55, at: 4), from: 2) == nil)
    }

    @Test func aBondedDeviceHasItsIdentityAtEveryAdapter() {
        var merger = Self.merger()
        let onAir = BluetoothAddress(0x4000_0000_0001, kind: .random)
        #expect(merger.receive(Self.report("a", -50, at: 0, privateAddress: onAir), from: 1) != nil)
        #expect(merger.receive(Self.report("a", -50, at: 1, address: onAir), from: 2) == nil)
        let delivery = merger.receive(Self.report("b", -30, at: 2, address: onAir), from: 2)
        #expect(delivery?.advertisement.address == Self.device)
        #expect(delivery?.advertisement.privateAddress == onAir)
    }

    @Test func theNumberOfDevicesIsBounded() {
        var merger = Self.merger(limit: 4)
        for round in 0..<2 {
            for number in 0..<8 {
                let address = BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random)
                // Each was forgotten meanwhile, so that it is new again.
                #expect(merger.receive(Self.report("a", -50, at: Double(round), address: address), from: 1) != nil)
            }
        }
    }
}
