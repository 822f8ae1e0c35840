import BluetoothLE
import Testing

@testable import ble

/// The values of the benchmark service, what its peripheral does with them, and the statistics.
@Suite struct BenchmarkTests {
    // MARK: Values

    @Test(
        arguments: [
            (.receive(run: 7), [2, 1, 7]), (.stop(run: 255), [2, 3, 255]),
            (.send(run: 2, size: 0x1F4, count: 0x0102_0304), [2, 2, 2, 0xF4, 0x01, 4, 3, 2, 1]),
            (.send(run: 0, size: 8, count: 0), [2, 2, 0, 8, 0, 0, 0, 0, 0]),
        ] as [(BenchmarkControl, [UInt8])])
    func aControlValueIsEncodedAndParsed(_ control: BenchmarkControl, _ bytes: [UInt8]) throws {
        #expect(control.bytes == bytes)
        #expect(try BenchmarkControl(bytes) == control)
        for count in 0..<bytes.count {
            #expect(throws: ATTErrorCode.invalidAttributeValueLength) { try BenchmarkControl(Array(bytes[..<count])) }
        }
        #expect(throws: ATTErrorCode.invalidAttributeValueLength) { try BenchmarkControl(bytes + [0]) }
    }

    @Test(
        arguments: [
            ([1, 1, 7], BenchmarkControl.unsupportedVersion), ([0], BenchmarkControl.unsupportedVersion),
            ([2, 0, 7], BenchmarkControl.unknownOperation), ([2, 4, 7], BenchmarkControl.unknownOperation),
            ([2, 255], BenchmarkControl.unknownOperation), ([], .invalidAttributeValueLength),
        ] as [([UInt8], ATTErrorCode)])
    func anInvalidControlValueIsRefused(_ bytes: [UInt8], _ code: ATTErrorCode) {
        #expect(throws: code) { try BenchmarkControl(bytes) }
    }

    @Test func aReportIsEncodedAndParsed() {
        let counts = PacketCounts(received: 1, bytes: 0x0102_0304_0506, corrupted: 4)
        let report = BenchmarkReport(run: 9, counts: counts)
        let bytes: [UInt8] = [2, 9, 1, 0, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 4, 0, 0, 0]
        #expect(report.bytes == bytes)
        #expect(BenchmarkReport(bytes) == report)
        #expect(BenchmarkReport(bytes + [5]) == report)
        for count in 0..<bytes.count { #expect(BenchmarkReport(Array(bytes[..<count])) == nil) }
        #expect(BenchmarkReport([1] + bytes.dropFirst()) == nil)
    }

    @Test(
        arguments: [
            (.data(run: 3, number: 0, size: 8), [0, 3, 0, 0, 0, 0, 0, 1]),
            (.data(run: 3, number: 0x0102, size: 9), [0, 3, 2, 1, 0, 0, 0x3E, 0x3F, 0x40]),
            (.end(run: 3, sent: 5), [1, 3, 5, 0, 0, 0]),
        ] as [(BenchmarkPacket, [UInt8])])
    func aPacketIsEncodedAndParsed(_ packet: BenchmarkPacket, _ bytes: [UInt8]) {
        #expect(packet.bytes == bytes)
        #expect(BenchmarkPacket(bytes) == packet)
        for count in 0..<8 where count < bytes.count { #expect(BenchmarkPacket(Array(bytes[..<count])) == nil) }
        for index in bytes.indices where index != 1 {
            var changed = bytes
            changed[index] ^= 0x10
            #expect(BenchmarkPacket(changed) != packet)
        }
    }

    @Test(arguments: [[], [0], [2, 0, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 0]] as [[UInt8]])
    func anInvalidPacketIsNone(_ bytes: [UInt8]) {
        #expect(BenchmarkPacket(bytes) == nil)
        #expect(BenchmarkPacket(BenchmarkPacket.data(run: 0, number: 0, size: 513).bytes) == nil)
    }

    // MARK: The receiver

    private func counts(_ packets: [BenchmarkPacket?]) -> PacketCounts {
        var counter = PacketCounter(run: 1)
        for packet in packets { counter.receive(packet) }
        return counter.counts
    }

    @Test(
        arguments: [
            ([], 0, 0), ([0, 1, 2], 3, 0), ([0, 2, 1], 2, 1), ([0, 0, 1, 0], 2, 2), ([5], 1, 0),
            ([.max, .max, 0], 1, 2),
        ] as [([UInt32], UInt32, UInt32)])
    func numbersAreCounted(_ numbers: [UInt32], _ received: UInt32, _ corrupted: UInt32) {
        let counts = counts(numbers.map { .data(run: 1, number: $0, size: 10) })
        #expect(counts == PacketCounts(received: received, bytes: UInt64(received) * 10, corrupted: corrupted))
        #expect(counts.lost(of: 4) == 4 - Int(received))
        #expect(counts.lost(of: 0) == 0)
    }

    @Test func corruptionIsCounted() {
        #expect(
            counts([nil, .data(run: 2, number: 0, size: 10), .end(run: 1, sent: 0)]) == PacketCounts(corrupted: 3))
    }

    // MARK: The peripheral

    private func packets(_ responder: inout BenchmarkResponder, most: Int = 100) -> [BenchmarkPacket] {
        (0..<most).compactMap { _ in responder.nextPacket() }
    }

    @Test func theSourceSendsAsManyPacketsAsRequestedAndTheEnd() throws {
        var responder = BenchmarkResponder()
        let start = BenchmarkControl.send(run: 4, size: 20, count: 2)
        #expect(try responder.control(start, mostBytes: 20, isSubscribed: true))
        // Another run has to wait.
        #expect(throws: ATTErrorCode.procedureAlreadyInProgress) {
            try responder.control(start, mostBytes: 20, isSubscribed: true)
        }
        #expect(
            packets(&responder) == [
                .data(run: 4, number: 0, size: 20), .data(run: 4, number: 1, size: 20), .end(run: 4, sent: 2),
            ])
        #expect(try responder.control(start, mostBytes: 20, isSubscribed: true))
        responder.abandonSending()
        #expect(packets(&responder) == [])
    }

    @Test func theSourceSendsUntilItIsStopped() throws {
        var responder = BenchmarkResponder()
        let start = BenchmarkControl.send(run: 4, size: 8, count: 0)
        #expect(try responder.control(start, mostBytes: 20, isSubscribed: true))
        #expect(packets(&responder, most: 100).count == 100)
        // Not by the end of another run.
        #expect(try !responder.control(.stop(run: 3), mostBytes: 20, isSubscribed: true))
        #expect(packets(&responder, most: 10).count == 10)
        #expect(try !responder.control(.stop(run: 4), mostBytes: 20, isSubscribed: true))
        #expect(packets(&responder) == [.end(run: 4, sent: 110)])
        #expect(try !responder.control(.stop(run: 4), mostBytes: 20, isSubscribed: true))
    }

    @Test(arguments: [0, 7, 21, 513, UInt16.max]) func aSizeThatDoesNotFitIsRefused(_ size: UInt16) {
        var responder = BenchmarkResponder()
        #expect(throws: ATTErrorCode.outOfRange) {
            try responder.control(
                .send(run: 0, size: size, count: 1), mostBytes: size > 100 ? 600 : 20,
                isSubscribed: true)
        }
    }

    @Test func aCentralWithoutSubscriptionIsRefused() {
        var responder = BenchmarkResponder()
        #expect(throws: ATTErrorCode.clientCharacteristicConfigurationDescriptorImproperlyConfigured) {
            try responder.control(.send(run: 0, size: 8, count: 1), mostBytes: 20, isSubscribed: false)
        }
    }

    @Test func theSinkCountsFromTheStartOfARun() throws {
        var responder = BenchmarkResponder()
        responder.receive([1])
        for run: UInt8 in [1, 2] {
            #expect(try !responder.control(.receive(run: run), mostBytes: 20, isSubscribed: true))
            #expect(responder.report == BenchmarkReport(run: run))
            responder.receive(BenchmarkPacket.data(run: run, number: 0, size: 9).bytes)
            responder.receive([1])
            #expect(
                responder.report
                    == BenchmarkReport(run: run, counts: PacketCounts(received: 1, bytes: 9, corrupted: 1)))
        }
    }

    // MARK: Statistics

    @Test func thereAreNoStatisticsOfNothing() {
        let none = DurationStatistics()
        #expect(none.minimum == nil && none.maximum == nil && none.mean == nil && none.percentile(50) == nil)
    }

    @Test(arguments: [1, 2, 3, 99, 100, 1000]) func percentilesAreThoseOfTheNearestRank(_ count: Int) {
        var statistics = DurationStatistics()
        // Out of order, from 100 µs in steps of 7 µs.
        for number in (0..<count).reversed() { statistics.add(.microseconds(100 + 7 * number)) }
        #expect(statistics.minimum == .microseconds(100))
        #expect(statistics.maximum == .microseconds(100 + 7 * (count - 1)))
        #expect(statistics.mean == .nanoseconds(100_000 + 3500 * (count - 1)))
        #expect(statistics.count == count)
        for percent in [0, 1, 50, 95, 99, 100] {
            let rank = max(1, (count * percent + 99) / 100)
            #expect(statistics.percentile(percent) == .microseconds(100 + 7 * (rank - 1)), "\(percent) %")
        }
    }
}
