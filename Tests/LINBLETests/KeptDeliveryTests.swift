import BluetoothLE
import Glibc
import LINBLESimulation
import Testing

@testable import LINBLE

/// Write Commands to a device whose links are cut after a number of delivered chunks: most of what the kernel has
/// accepted has then arrived, and some not.
@Suite(.timeLimit(.minutes(30))) struct KeptDeliveryTests {
    /// A device that reports each chunk, and records what each link has delivered.
    private struct MeteredDevice: AttachedDevice {
        /// The bytes of each link; the last is the present one.
        var links: [[UInt8]] = [[]]
        let chunks: AsyncStream<Void>.Continuation

        mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
            links[links.count - 1] += bytes
            chunks.yield()
            return []
        }

        mutating func disconnected() -> [AttachedDeviceAction] {
            links.append([])
            return []
        }
    }

    /// What a link has done with its bytes.
    private struct LinkOutcome: Sendable {
        var handedOver: Int
        var unconfirmed: Int
        var delivered: [UInt8]

        var missing: Int { handedOver - delivered.count }
    }

    private static let chunkLength = 244

    /// Sends `count` bytes. The links are cut when the device has received `first` chunks, and if there is a `period`,
    /// again after as many more.
    private static func transfer(
        _ count: Int, cutAfter first: Int, period: Int? = nil, sendBuffer: Int?
    ) async throws -> [LinkOutcome] {
        var profile = UARTProfile.linble
        profile.writeType = .command
        let options = UARTOptions(profiles: [profile])
        let (chunks, continuation) = AsyncStream.makeStream(of: Void.self)
        let device = MeteredDevice(chunks: continuation)
        return try await KeptFixture.run(.init(profile: profile, attached: device)) { fixture in
            fixture.faults.setSendBuffer(sendBuffer)
            let cutting = Task(executorPreference: fixture.radio.loop) {
                var next = first
                for await _ in chunks {
                    next -= 1
                    guard next == 0 else { continue }
                    fixture.linble.peripheral.breakLinks()
                    next = period ?? 0
                }
            }
            let kept = fixture.keep(uart: options)
            let events = await kept.events(bufferCapacity: 1 << 20)
            try await kept.send(CountingWords.bytes(count))
            try await kept.flushAll()
            cutting.cancel()
            let statistics = await kept.statistics
            await kept.disconnect()
            #expect(statistics.sentByteCount == count && statistics.bufferedByteCount == 0)
            #expect(statistics.confirmedByteCount + statistics.unconfirmedByteCount == count)
            let device = try #require(fixture.linble.attached as? MeteredDevice)
            var (outcomes, link) = ([LinkOutcome](), UARTConnection?.none)
            for try await event in events {
                if let uart = event.online { link = uart }
                if let (_, unconfirmed) = event.offline, let uart = link {
                    outcomes.append(
                        LinkOutcome(
                            handedOver: await uart.sentByteCount, unconfirmed: unconfirmed,
                            delivered: device.links[outcomes.count]))
                }
            }
            #expect(outcomes.count == statistics.linkCount)
            return outcomes
        }
    }

    /// The chunks that the kernel and the controller hold at most. A chunk is a PDU of 247 bytes, which costs a socket
    /// 1280 (a block of 1024 and 256 for the kernel); one is accepted while the others cost less than the buffer, whose
    /// size is twice the requested one, and 212 992 by default. The controller has a dozen buffers of 251 bytes, the
    /// size of a chunk with its headers.
    private static func heldChunks(_ sendBuffer: Int?) -> Int {
        let bytes = sendBuffer.map { 2 * $0 } ?? 212_992
        return (bytes + 1279) / 1280 + 12
    }

    /// The chunks that arrive after the request for a confirmation and before its answer: the answer goes out in the
    /// exchange after that of the request, in which one more chunk may be completed.
    private static let chunksBeforeAnswer = 1

    /// The device has received a prefix of what each link was given, and what is missing is counted. What is counted
    /// without missing is what one confirmation covers: the chunks after which it is requested, those that the kernel
    /// holds before the request, and those that arrive before its answer.
    private static func check(
        _ links: [LinkOutcome], _ count: Int, sendBuffer: Int?, _ comment: String
    ) {
        let all = CountingWords.bytes(count)
        var start = 0
        for (number, link) in links.enumerated() {
            let given = all[start..<min(count, start + link.handedOver)]
            #expect(given.starts(with: link.delivered), "link \(number), \(comment)")
            #expect(link.missing >= 0 && link.missing <= link.unconfirmed, "link \(number), \(comment)")
            let arrived = (link.unconfirmed - link.missing) / chunkLength
            let held = heldChunks(sendBuffer)
            #expect(link.missing <= held * chunkLength, "link \(number), \(comment)")
            let most = OutgoingBytes.Limits().chunksPerConfirmation + held + chunksBeforeAnswer
            #expect(arrived <= most, "link \(number), \(comment)")
            start += link.handedOver
        }
        #expect(start == count, "\(comment)")
    }

    /// The size of a socket's send buffer: the kernel's default, and one of a few packets.
    @Test(arguments: [nil, 4096])
    func aCutAfterDeliveredChunksLosesWhatIsOnItsWay(_ sendBuffer: Int?) async throws {
        let count = 300 * Self.chunkLength
        var missing = 0
        for first in stride(from: 1, through: 290, by: 34) {
            let links = try await Self.transfer(count, cutAfter: first, sendBuffer: sendBuffer)
            Self.check(links, count, sendBuffer: sendBuffer, "cut after \(first) chunks")
            let cut = try #require(links.first)
            // One link is enough if all was handed over before the cut.
            #expect(links.count <= 2, "cut after \(first) chunks")
            // The cut follows the chunk at once, milliseconds before the next one has arrived.
            #expect(cut.delivered.count / Self.chunkLength == first, "cut after \(first) chunks")
            missing = max(missing, cut.missing)
        }
        #expect(missing > 0)
    }

    /// Of each transfer in the series, the link is cut after every 64 delivered chunks; of the series, at each number.
    @Test(.enabled(if: getenv("BLUETOOTH_HEAVY") != nil, "takes minutes"), arguments: [nil, 4096])
    func aMebibyteWhoseLinksAreCutAfterEachDeliveredChunk(_ sendBuffer: Int?) async throws {
        let (count, period) = (1 << 20, 64)
        var (links, missing, unconfirmed) = (0, 0, 0)
        for first in 1...period {
            let outcome = try await Self.transfer(count, cutAfter: first, period: period, sendBuffer: sendBuffer)
            Self.check(
                outcome, count, sendBuffer: sendBuffer, "cut after \(first) chunks and every \(period) after them")
            links += outcome.count
            missing += outcome.reduce(0) { $0 + $1.missing }
            unconfirmed += outcome.reduce(0) { $0 + $1.unconfirmed }
        }
        print(
            "\(period) transfers of \(count) bytes over \(links) links: \(unconfirmed) unconfirmed, \(missing) missing")
    }
}
