import BluetoothLE
import BluetoothSimulation
import Glibc
import LINBLE
import LINBLESimulation
import TestSupport
import Testing

/// Transfers in both directions, whose links are cut.
@Suite(.timeLimit(.minutes(30))) struct KeptTransferTests {
    /// What has arrived where.
    private struct Outcome: Sendable {
        /// The words that the device has received.
        var toDevice: [Int]
        /// The words that came back.
        var fromDevice: [Int]
        /// For each link, the words that it has left unconfirmed.
        var tails: [Range<Int>]
        var statistics: KeptUART.Statistics
        /// The bytes of all notifications that the machine has received.
        var notifiedByteCount: Int
        var packetCount: Int
        var duration: Duration
    }

    /// Sends `count` bytes to an echo. The link is cut just before packet `first` is delivered, and if there is a
    /// `period`, again after as many packets.
    private static func transfer(
        _ count: Int, _ writeType: UARTProfile.WriteType, cutAt first: Int? = nil, period: Int? = nil
    ) async throws -> Outcome {
        var profile = UARTProfile.linble
        profile.writeType = writeType
        let uart = UARTOptions(profiles: [profile])
        let configuration = SimulatedLINBLE.Configuration(
            profile: profile, attached: RecordingDevice(), bufferCapacity: 1 << 20)
        return try await KeptFixture.run(configuration) { fixture in
            let cutter = Cutter(fixture, period)
            if let first { cutter.arm(first) }
            let start = fixture.radio.now
            let kept = fixture.keep(uart: uart)
            let events = await kept.events(bufferCapacity: 1 << 20)
            async let received = collect(kept)
            async let tails = tails(events, isByRequest: writeType == .request)
            try await kept.send(CountingWords.bytes(count))
            try await kept.flushAll()
            let duration = start.duration(to: fixture.radio.now)
            // What comes back is not cut any more.
            let packetCount = fixture.faults.count
            fixture.faults.arm(at: nil) {}
            try await fixture.radio.sleep(for: .seconds(5))
            await kept.disconnect()
            let device = fixture.linble.attached as? RecordingDevice
            return Outcome(
                toDevice: CountingWords.words(device?.bytes ?? []),
                fromDevice: CountingWords.words(try await received), tails: try await tails,
                statistics: await kept.statistics, notifiedByteCount: fixture.faults.notifiedByteCount,
                packetCount: packetCount, duration: duration)
        }
    }

    /// Cuts the link, again and again.
    private final class Cutter: Sendable {
        private let faults: FaultingKernel
        private let peripheral: SimulatedPeripheral
        private let period: Int?

        init(_ fixture: KeptFixture, _ period: Int?) {
            (faults, peripheral, self.period) = (fixture.faults, fixture.linble.peripheral, period)
        }

        func arm(_ index: Int) {
            faults.arm(at: index) {
                self.peripheral.breakLinks()
                if let period = self.period { self.arm(period - 1) }
            }
        }
    }

    private static func collect(_ kept: KeptUART) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let more = try await kept.read() { bytes += more }
        return bytes
    }

    /// For each link, the words that it has left unconfirmed: the last ones that it was given.
    private static func tails(
        _ events: BoundedStream<KeptUART.Event>, isByRequest: Bool
    ) async throws -> [Range<Int>] {
        var (tails, end, link) = ([Range<Int>](), 0, nil as UARTConnection?)
        for try await event in events {
            switch event.kind {
            case .online(let uart): link = uart
            case .offline(_, let unconfirmed):
                // An unanswered request is not among the bytes that the link counts as sent.
                end += (await link?.sentByteCount ?? 0) + (isByRequest ? unconfirmed : 0)
                #expect(end % 4 == 0 && unconfirmed % 4 == 0)
                if unconfirmed > 0 { tails.append((end - unconfirmed) / 4..<end / 4) }
            default: break
            }
        }
        return tails
    }

    private static func check(_ outcome: Outcome, _ count: Int, _ comment: String) {
        let statistics = outcome.statistics
        let isRising = { (words: [Int]) in zip(words, words.dropFirst()).allSatisfy { $0 < $1 } }
        #expect(isRising(outcome.toDevice), "doubled or out of order: \(comment)")
        #expect(isRising(outcome.fromDevice), "doubled or out of order: \(comment)")

        let arrived = Set(outcome.toDevice)
        let missing = (0..<count / 4).filter { !arrived.contains($0) }
        #expect(arrived.count + missing.count == count / 4, "never sent: \(comment)")
        #expect(4 * missing.count <= statistics.unconfirmedByteCount, "\(comment)")
        #expect(
            missing.allSatisfy { word in outcome.tails.contains { $0.contains(word) } },
            "confirmed and missing: \(comment)")
        #expect(outcome.tails.reduce(0) { $0 + 4 * $1.count } == statistics.unconfirmedByteCount, "\(comment)")

        #expect(arrived.isSuperset(of: outcome.fromDevice), "\(comment)")
        #expect(4 * outcome.fromDevice.count == outcome.notifiedByteCount, "received and not delivered: \(comment)")
        #expect(statistics.receivedByteCount == outcome.notifiedByteCount, "\(comment)")
        #expect(statistics.sentByteCount == count, "\(comment)")
        #expect(statistics.confirmedByteCount + statistics.unconfirmedByteCount == count, "\(comment)")
        #expect(statistics.bufferedByteCount == 0 && statistics.droppedByteCount == 0, "\(comment)")
    }

    @Test(arguments: [UARTProfile.WriteType.command, .request])
    func aCutAtEachPacketLosesOnlyWhatIsCounted(_ writeType: UARTProfile.WriteType) async throws {
        let count = 4096
        let whole = try await Self.transfer(count, writeType)
        Self.check(whole, count, "without a cut")
        #expect(whole.toDevice.count == count / 4 && whole.fromDevice.count == count / 4)
        #expect(whole.statistics.unconfirmedByteCount == 0 && whole.statistics.linkCount == 1)
        var (lost, unconfirmed) = (0, 0)
        for index in 0..<whole.packetCount {
            let outcome = try await Self.transfer(count, writeType, cutAt: index)
            Self.check(outcome, count, "\(writeType) cut at packet \(index)")
            lost += count - 4 * outcome.toDevice.count
            unconfirmed = max(unconfirmed, outcome.statistics.unconfirmedByteCount)
        }
        // The cuts do lose something, and with requests at most one chunk each.
        #expect(unconfirmed > 0)
        if writeType == .request { #expect(unconfirmed <= 244) } else { #expect(lost > 0) }
    }

    /// Of each transfer in the series, the link is cut at every 64th packet; of the series, at every packet number.
    @Test(
        .enabled(if: getenv("BLUETOOTH_HEAVY") != nil, "takes minutes"),
        arguments: [UARTProfile.WriteType.command, .request])
    func aMebibyteWhoseLinksAreCutAtEveryPacket(_ writeType: UARTProfile.WriteType) async throws {
        let (count, period) = (1 << 20, 64)
        var (links, unconfirmed, missing, most) = (0, 0, 0, 0)
        for first in 0..<period {
            let outcome = try await Self.transfer(count, writeType, cutAt: first, period: period)
            Self.check(outcome, count, "\(writeType) cut at packet \(first) and every \(period) after it")
            links += outcome.statistics.linkCount
            unconfirmed += outcome.statistics.unconfirmedByteCount
            most = max(most, outcome.tails.map { 4 * $0.count }.max() ?? 0)
            missing += count - 4 * outcome.toDevice.count
        }
        print(
            "\(writeType): \(period) transfers of \(count) bytes over \(links) links; \(unconfirmed) bytes unconfirmed,",
            "at most \(most) of a link; \(missing) missing at the device")
    }
}
