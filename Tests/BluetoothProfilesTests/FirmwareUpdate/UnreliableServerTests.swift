import BluetoothLE
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothProfiles

/// A client beside a device that answers as a test says.
@Suite struct UnreliableServerTests {
    /// The notifications with which a device answers a request.
    private typealias Answer = @Sendable (SMPHeader, CBOR) -> [[UInt8]]

    /// The response to a request, in one notification.
    private static func response(_ request: SMPHeader, _ body: [String: CBOR]) -> [[UInt8]] {
        var header = request
        header.operation = request.operation.response
        return [header.message(body)]
    }

    /// Runs `body` with a client of such a device, which supports the buffer size if it is given.
    private func run(
        bufferSize: CBOR? = CBOR(256), _ answer: @escaping Answer,
        _ body: @escaping @Sendable (FirmwareUpdater, SimulatedPeripheral, SimulatedRadio) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let kernel = radio.makeKernel()
        try await radio.run(limit: .seconds(3600)) {
            let server = try SimulatedGATTServer([
                GATTService(
                    .firmwareUpdate,
                    characteristics: [
                        GATTCharacteristic(.firmwareUpdateMessages, properties: [.writeWithoutResponse, .notify])
                    ])
            ])
            let handle = try #require(server.handle(of: .firmwareUpdateMessages, in: .firmwareUpdate))
            let requests = Mutex(SMPAssembler(limit: 1 << 16))
            server.onWrite { writes, _ in
                let frames = requests.withLock { requests in
                    for write in writes { requests.append(write.value) }
                    return (try? requests.next()).flatMap { $0 }.map { [$0] } ?? []
                }
                for frame in frames {
                    guard let body = try? CBOR(decoding: frame.body) else { continue }
                    let isParameters = frame.header.command == .parameters
                    let size = bufferSize.map { ["buf_size": $0] } ?? ["rc": CBOR(8)]
                    let values = isParameters ? Self.response(frame.header, size) : answer(frame.header, body)
                    Task(executorPreference: radio.loop) {
                        for value in values { await server.notify(value, of: handle) }
                    }
                }
                return .accept
            }
            let peripheral = SimulatedPeripheral(on: radio, gatt: server)
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(sendBuffer: 0))
            try await body(try await FirmwareUpdater(connection, timeout: .seconds(10)), peripheral, radio)
            await adapter.close()
        }
    }

    /// An image of which each response takes at most this many bytes.
    private static let file = [UInt8](repeating: 7, count: 600)

    @Test func whatNoRequestHasAskedForIsDropped() async throws {
        try await run { header, body in
            var other = header
            other.sequence &+= 100
            let right = Self.response(header, ["r": body["d"] ?? .null])
            var command = header
            command.command = .reset
            var request = header
            request.operation = .write
            // Another sequence, another command, a request, twice the response.
            return Self.response(other, ["r": .text("wrong")]) + Self.response(command, ["r": .text("wrong")])
                + [request.message(["r": .text("wrong")])] + right + right
        } _: { updater, _, _ in
            for text in ["one", "two", "three"] {
                let answer = try await updater.echo(text)
                #expect(answer == text)
            }
            let unwanted = await updater.unwantedMessageCount
            // The second response to the last request is not read yet.
            #expect(unwanted == 3 * 4 - 1)
        }
    }

    @Test func responsesInFragmentsAreJoined() async throws {
        try await run { header, body in
            Self.response(header, ["r": body["d"] ?? .null])[0].fragments(3)
        } _: { updater, _, _ in
            let text = String(repeating: "long ", count: 100)
            let answer = try await updater.echo(text)
            #expect(answer == text)
        }
    }

    /// Bodies that are no answer to the request.
    @Test(
        arguments: [
            [:], ["r": .unsigned(1)], ["off": .unsigned(601)], ["off": .negative(0)], ["off": .unsigned(.max)],
            ["off": .text("600")], ["images": .unsigned(0)], ["images": .array([.unsigned(1)])],
            ["images": .array([.map(["slot": .unsigned(0)])])],
            ["images": .array([.map(["slot": .bool(true), "version": .text("1")])])],
        ] as [[String: CBOR]])
    func malformedResponsesViolateTheProtocol(_ body: [String: CBOR]) async throws {
        try await run { header, _ in
            Self.response(header, body)
        } _: { updater, _, _ in
            let echo = await failureCode { _ = try await updater.echo("x") }
            let images = await failureCode { _ = try await updater.images() }
            let upload = await failureCode { try await updater.upload(Self.file) }
            #expect([echo, images, upload].allSatisfy { $0 == .protocolViolation })
        }
    }

    @Test func aBodyThatIsNoCBORViolatesTheProtocol() async throws {
        try await run { header, _ in
            var header = header
            header.operation = header.operation.response
            return [Array(header.message(["r": .text("x")]).dropLast(1)) + [0xFF]]
        } _: { updater, _, _ in
            let echo = await failureCode { _ = try await updater.echo("x") }
            #expect(echo == .protocolViolation)
        }
    }

    /// As the package smp 4.2.0 does for the state of images.
    @Test func aWriteMayBeAnsweredAsARead() async throws {
        try await run { header, _ in
            var header = header
            header.operation = .readResponse
            return [header.message(["images": .array([])])]
        } _: { updater, _, _ in
            let slots = try await updater.test([1])
            #expect(slots.isEmpty)
        }
    }

    /// The rest of a response whose time limit was reached comes before the next response, or never.
    @Test(arguments: [true, false]) func theRestOfALateResponseIsDropped(_ comes: Bool) async throws {
        let rest = Mutex<[[UInt8]]>([])
        try await run { header, body in
            let parts = Self.response(header, ["r": body["d"] ?? .null])[0].fragments(20)
            guard parts.count > 1 else { return (comes ? rest.withLock { $0 } : []) + parts }
            rest.withLock { $0 = Array(parts.dropFirst()) }
            return [parts[0]]
        } _: { updater, _, _ in
            let late = await failureCode { _ = try await updater.echo(String(repeating: "x", count: 40)) }
            let next = try await updater.echo("next")
            #expect(late == .timedOut)
            #expect(next == "next")
        }
    }

    /// The link accepts nothing for two calls: the device has a part of the first request, and nothing of the second.
    @Test func theRestOfARequestIsSentBeforeTheNext() async throws {
        let received = Mutex<[Int]>([])
        try await run { header, body in
            received.withLock { $0.append(body["d"]?.text?.count ?? 0) }
            return Self.response(header, ["r": .text("response")])
        } _: { updater, peripheral, _ in
            peripheral.setReceiving(false)
            let late = await failureCode { _ = try await updater.echo(String(repeating: "x", count: 10_000)) }
            let unsent = await failureCode { _ = try await updater.echo("unsent") }
            peripheral.setReceiving(true)
            let next = try await updater.echo("next")
            #expect(late == .timedOut)
            #expect(unsent == .timedOut)
            #expect(next == "response")
            let unwanted = await updater.unwantedMessageCount
            #expect(unwanted == 1)
        }
        #expect(received.withLock { $0 } == [10_000, 4])
    }

    @Test func anOversizedResponseViolatesTheProtocolAndIsSkipped() async throws {
        try await run { header, body in
            guard body["d"]?.text == "long" else { return Self.response(header, ["r": body["d"] ?? .null]) }
            return Self.response(header, ["r": .text(String(repeating: "x", count: 20_000))])[0].fragments(244)
        } _: { updater, _, _ in
            let echo = await failureCode { _ = try await updater.echo("long") }
            let next = try await updater.echo("next")
            #expect(echo == .protocolViolation)
            #expect(next == "next")
        }
    }

    @Test func anUploadWithoutProgressEnds() async throws {
        let requests = Mutex(0)
        try await run { header, _ in
            requests.withLock { $0 += 1 }
            return Self.response(header, ["off": CBOR(0)])
        } _: { updater, _, _ in
            let upload = await failureCode { try await updater.upload(Self.file) }
            #expect(upload == .protocolViolation)
        }
        #expect(requests.withLock { $0 } == 17)
    }

    /// A device that has restarted asks for the begin again.
    @Test func anUploadFollowsTheOffsetOfTheDevice() async throws {
        let offsets = Mutex<[Int]>([])
        try await run { header, body in
            let offset = body["off"]?.integer ?? -1
            let (count, data) = (
                offsets.withLock {
                    $0.append(offset); return $0.count
                }, body["data"]?.bytes?.count ?? 0
            )
            return Self.response(header, ["off": CBOR(count == 3 ? 0 : offset + data)])
        } _: { updater, _, _ in
            try await updater.upload(Self.file)
        }
        let seen = offsets.withLock { $0 }
        #expect(seen.count(where: { $0 == 0 }) == 2)
        #expect(seen.count > 5)
    }

    @Test func aDeviceThatHasReceivedOtherBytesIsAFailure() async throws {
        try await run { header, _ in
            Self.response(header, ["off": CBOR(600), "match": .bool(false)])
        } _: { updater, _, _ in
            let upload = await failureCode { try await updater.upload(Self.file) }
            #expect(upload == .failed)
        }
    }

    @Test(
        arguments: [["rc": .unsigned(10)], ["err": .map(["group": .unsigned(0), "rc": .unsigned(10)])]]
            as [[String: CBOR]])
    func errorsOfBothVersionsAreRefusals(_ body: [String: CBOR]) async throws {
        try await run { header, _ in
            Self.response(header, body)
        } _: { updater, _, _ in
            let upload = await failure { try await updater.upload(Self.file) }
            #expect(upload?.code == .refused)
            #expect(upload?.cause == .firmware(.busy))
            #expect(upload?.description.contains("busy (group 0, 10)") == true)
        }
    }

    /// Without the size of the buffer a message is one write; the hash has no room in the first.
    @Test func aDeviceWithoutParametersTakesSingleWrites() async throws {
        let longest = Mutex(0)
        try await run(bufferSize: nil) { header, body in
            let length = header.bodyLength + SMPHeader.length
            longest.withLock { $0 = max($0, length) }
            return Self.response(header, ["off": CBOR((body["off"]?.integer ?? 0) + (body["data"]?.bytes?.count ?? 0))])
        } _: { updater, _, _ in
            try await updater.upload(Self.file)
        }
        #expect(longest.withLock { $0 } > 20)
    }

    @Test(arguments: [.unsigned(0), .unsigned(20), .negative(0), .negative(UInt64(Int.max))] as [CBOR])
    func aBufferWithoutRoomIsUnsupported(_ size: CBOR) async throws {
        try await run(bufferSize: size) { header, _ in
            Self.response(header, ["off": CBOR(600)])
        } _: { updater, _, _ in
            let upload = await failureCode { try await updater.upload(Self.file) }
            #expect(upload == .unsupported)
        }
    }

    @Test func silenceIsATimeout() async throws {
        try await run { _, _ in
            []
        } _: { updater, _, radio in
            let code = Mutex<BluetoothError.Code?>(nil)
            let time = await radio.duration(of: {
                let result = await failureCode { _ = try await updater.images() }
                code.withLock { $0 = result }
            })
            #expect(code.withLock { $0 } == .timedOut)
            #expect(time == .seconds(10))
        }
    }

    /// The device restarts before it responds, and one that refuses to.
    @Test func aResetEndsWithTheLink() async throws {
        try await run { _, _ in
            []
        } _: { updater, peripheral, radio in
            async let reset: Void = updater.reset()
            try await radio.sleep(for: .seconds(1))
            peripheral.breakLinks(reason: .connectionTimeout)
            try await reset
        }
        try await run { header, _ in
            Self.response(header, ["rc": CBOR(10)])
        } _: { updater, _, _ in
            let reset = await failure { try await updater.reset() }
            #expect(reset?.cause == .firmware(.busy))
        }
    }
}
