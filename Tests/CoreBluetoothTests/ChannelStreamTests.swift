import BluetoothLE
import CoreBluetooth
import Synchronization
import Testing

/// A program that uses its streams on a run loop, as apps do on the main one.
private final class Streamer: NSObject, StreamDelegate, @unchecked Sendable {
    let outgoing: [UInt8]
    let input: InputStream?
    let output: OutputStream?
    /// The maximum length of a read; one read per event.
    let readLength: Int
    var received: [UInt8] = []
    var events: [String] = []
    var isInputOver = false
    var isOutputOver = false
    private var sent = 0
    private var thread: Thread?

    init(input: InputStream? = nil, output: OutputStream? = nil, sending outgoing: [UInt8] = [], readLength: Int = 1000)
    {
        self.input = input
        self.output = output
        self.outgoing = outgoing
        self.readLength = readLength
    }

    /// Must be called on the thread of its run loop.
    func begin() {
        thread = .current
        for stream in [input, output] as [Stream?] {
            stream?.delegate = self
            stream?.schedule(in: .current, forMode: .default)
            stream?.open()
        }
    }

    func end() {
        for stream in [input, output] as [Stream?] {
            stream?.close()
            stream?.remove(from: .current, forMode: .default)
        }
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        if Thread.current !== thread { Issue.record("an event was delivered off the run loop") }
        let name = aStream === input ? "in" : "out"
        switch eventCode {
        case .openCompleted: events.append("\(name) open")
        case .hasBytesAvailable:
            #expect(input?.hasBytesAvailable == true)
            var buffer = [UInt8](repeating: 0, count: readLength)
            let count = input?.read(&buffer, maxLength: buffer.count) ?? -1
            received += buffer.prefix(max(0, count))
        case .hasSpaceAvailable:
            guard sent < outgoing.count else { return }
            sent += outgoing[sent...].withUnsafeBufferPointer { buffer in
                buffer.baseAddress.map { output?.write($0, maxLength: buffer.count) ?? 0 } ?? 0
            }
        case .endEncountered, .errorOccurred:
            events.append("\(name) \(eventCode == .endEncountered ? "end" : "error")")
            if name == "in" { isInputOver = true } else { isOutputOver = true }
        default: events.append("\(name) another event")
        }
    }
}

@Suite struct ChannelStreamTests {
    /// Runs a test with a channel that a central has opened to a program.
    private func run(
        _ story:
            @escaping @Sendable (Fixture, Server, Recorder, _ mine: CBL2CAPChannel, _ theirs: CBL2CAPChannel)
            async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture)
            await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: false) }
            await fixture.wait(for: "published true", in: server.journal)
            let psm = server.psm
            nonisolated(unsafe) var opened: CBL2CAPChannel?
            client.then["channel \(psm)"] = { _, channel in opened = channel as? CBL2CAPChannel }
            await client.perform(with: { $0.openL2CAPChannel(psm) })
            await client.wait(for: "channel \(psm)")
            await fixture.wait(for: "opened true", in: server.journal)
            let theirs = try #require(server.channel)
            try await story(fixture, server, client, try #require(opened), theirs)
        }
    }

    @Test func onARunLoop() async throws {
        try await run { fixture, _, _, mine, theirs in
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sender = Streamer(input: mine.inputStream, output: mine.outputStream, sending: bytes)
            let receiver = Streamer(input: theirs.inputStream, output: theirs.outputStream)
            let isDone = await onRunLoop(fixture, [sender, receiver]) {
                // The channel closes when both of its streams are closed.
                if receiver.received.count == bytes.count { sender.end() }
                return receiver.isInputOver
            }
            #expect(isDone)
            #expect(receiver.received == bytes)
            #expect(sender.events == ["in open", "out open"])
            #expect(receiver.events.prefix(2) == ["in open", "out open"])
            #expect(receiver.events.contains("in end"))
        }
    }

    @Test func aNegativeLengthIsAnError() async throws {
        try await run { _, _, _, mine, _ in
            let input = try #require(mine.inputStream)
            let output = try #require(mine.outputStream)
            input.open()
            output.open()
            var buffer: [UInt8] = [1, 2, 3]
            #expect(input.read(&buffer, maxLength: -1) == -1)
            #expect(output.write(buffer, maxLength: -1) == -1)
            #expect(output.write(buffer, maxLength: buffer.count) == buffer.count)
            input.close()
            output.close()
        }
    }

    @Test func bothStreamsEndWithTheLink() async throws {
        try await run { fixture, _, client, mine, theirs in
            let here = Streamer(input: mine.inputStream, output: mine.outputStream)
            let there = Streamer(input: theirs.inputStream, output: theirs.outputStream)
            let hasEnded = Mutex(false)
            let cut = Task(executorPreference: fixture.radio.loop) {
                try? await fixture.radio.sleep(for: .seconds(1))
                fixture.kernel.setPowered(false, adapter: 0)
                hasEnded.withLock { $0 = true }
            }
            let isDone = await onRunLoop(fixture, [here, there]) {
                hasEnded.withLock { $0 } && here.isInputOver && here.isOutputOver && there.isInputOver
                    && there.isOutputOver
            }
            #expect(isDone)
            await cut.value
            for streamer in [here, there] {
                #expect(streamer.events.count == 4)
                #expect(streamer.input?.hasBytesAvailable == false)
                #expect(streamer.output?.hasSpaceAvailable == false)
            }
        }
    }

    /// Runs the streams on the run loop of a thread of their own until `isDone`, for ten seconds at most.
    private func onRunLoop(
        _ fixture: Fixture, _ streamers: [Streamer], until isDone: @escaping @Sendable () -> Bool
    ) async -> Bool {
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                // A timer, so that the run loop does not return at once.
                let pulse = Timer(timeInterval: 0.02, repeats: true) { _ in }
                RunLoop.current.add(pulse, forMode: .default)
                for streamer in streamers { streamer.begin() }
                let limit = Date(timeIntervalSinceNow: 10)
                while !isDone(), Date() < limit {
                    _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02))
                }
                for streamer in streamers { streamer.end() }
                pulse.invalidate()
                done.resume(returning: isDone())
            }
        }
    }
}
