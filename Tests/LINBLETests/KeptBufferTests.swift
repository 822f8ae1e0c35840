import BluetoothLE
import LINBLESimulation
import TestSupport
import Testing

@testable import LINBLE

/// The buffers of a UART that outlives links, and what becomes of waiting calls.
@Suite(.timeLimit(.minutes(2))) struct KeptBufferTests {
    /// Starts a call, and lets it wait.
    private func begin<Value: Sendable>(
        _ fixture: KeptFixture, _ call: @escaping @Sendable () async throws -> Value
    ) async throws -> Task<Value, any Error> {
        let task = Task(executorPreference: fixture.radio.loop) { try await call() }
        try await fixture.radio.sleep(for: .seconds(1))
        return task
    }

    private func code<Value>(of task: Task<Value, any Error>) async -> BluetoothError.Code? {
        await failureCode { _ = try await task.value }
    }

    @Test func aFullBufferSuspendsTheSenderUntilThereIsALink() async throws {
        try await KeptFixture.run(.init(attached: RecordingDevice())) { fixture in
            fixture.linble.peripheral.setHidden(true)
            let uart = fixture.keep(sendCapacity: 100)
            let first = try await begin(fixture) { try await uart.send(Array(repeating: 1, count: 250)) }
            let second = try await begin(fixture) { try await uart.send([2]) }
            #expect(await uart.statistics.bufferedByteCount == 100)
            fixture.linble.peripheral.setHidden(false)
            try await first.value
            try await second.value
            try await uart.flush()
            let device = try #require(fixture.linble.attached as? RecordingDevice)
            #expect(device.bytes == Array(repeating: 1, count: 250) + [2])
            await uart.disconnect()
        }
    }

    @Test func aCongestedLinkSuspendsTheSender() async throws {
        try await KeptFixture.run(.init(attached: .silent)) { fixture in
            let uart = fixture.keep(sendCapacity: 1000)
            try await fixture.settle(uart)
            fixture.kernel.setSending(false, adapter: 0)
            let sending = try await begin(fixture) { try await uart.send(Array(repeating: 1, count: 1 << 18)) }
            let statistics = await uart.statistics
            #expect(statistics.bufferedByteCount == 1000 && statistics.sentByteCount < 1 << 17)
            fixture.kernel.setSending(true, adapter: 0)
            try await sending.value
            try await uart.flush()
            #expect(fixture.linble.statistics.bytesFromHosts == 1 << 18)
            await uart.disconnect()
        }
    }

    @Test func bytesSentWithoutALinkAreDroppedAndCountedIfTheOptionsSaySo() async throws {
        try await KeptFixture.run(.init(attached: RecordingDevice())) { fixture in
            fixture.linble.peripheral.setHidden(true)
            let uart = fixture.keep(sendCapacity: 100, whileOffline: .drop)
            try await uart.send([1, 2, 3])
            #expect(await uart.statistics.droppedByteCount == 3)
            try await uart.flush()
            fixture.linble.peripheral.setHidden(false)
            try await fixture.settle(uart)
            try await uart.send([4])
            try await uart.flush()
            // What waits for room when the link ends is dropped as well; what is in the buffer stays.
            fixture.kernel.setSending(false, adapter: 0)
            let sending = try await begin(fixture) { try await uart.send(Array(repeating: 5, count: 1 << 20)) }
            fixture.linble.peripheral.setHidden(true)
            fixture.linble.peripheral.breakLinks()
            try await sending.value
            fixture.kernel.setSending(true, adapter: 0)
            var statistics = await uart.statistics
            #expect(statistics.bufferedByteCount == 100 && statistics.linkCount == 1)
            #expect(statistics.droppedByteCount + statistics.sentByteCount + 100 == (1 << 20) + 4)
            fixture.linble.peripheral.setHidden(false)
            try await uart.flushAll()
            statistics = await uart.statistics
            #expect(statistics.bufferedByteCount == 0)
            let device = try #require(fixture.linble.attached as? RecordingDevice)
            #expect(device.bytes.count >= statistics.confirmedByteCount && device.bytes.first == 4)
            await uart.disconnect()
        }
    }

    @Test(arguments: [false, true]) func aFlushThatHasEndedHidesNoLoss(_ isCancelled: Bool) async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            try await fixture.settle(uart)
            fixture.kernel.setSending(false, adapter: 0)
            try await uart.send([1])
            if isCancelled {
                let flush = try await begin(fixture) { try await uart.flush() }
                flush.cancel()
                #expect(await code(of: flush) == .cancelled)
            } else {
                #expect(await failureCode { try await uart.flush(timeout: .seconds(1)) } == .timedOut)
            }
            fixture.linble.peripheral.breakLinks()
            try await fixture.settle(uart, isOnline: false)
            #expect(await failureCode { try await uart.flush() } == .disconnected)
            try await uart.flush()
            await uart.disconnect()
        }
    }

    @Test func aLossIsReportedByOneFlush() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            try await fixture.settle(uart)
            fixture.kernel.setSending(false, adapter: 0)
            try await uart.send([1])
            let flush = try await begin(fixture) { try await uart.flush() }
            fixture.linble.peripheral.breakLinks()
            #expect(await code(of: flush) == .disconnected)
            try await uart.flush()
            fixture.kernel.setSending(true, adapter: 0)
            try await fixture.settle(uart)
            fixture.kernel.setSending(false, adapter: 0)
            try await uart.send([2])
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.linble.peripheral.breakLinks()
            try await fixture.settle(uart, isOnline: false)
            #expect(await failureCode { try await uart.flush() } == .disconnected)
            try await uart.flush()
            await uart.disconnect()
        }
    }

    @Test func anUnreadLinkDoesNotDelayTheNext() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep(uart: UARTOptions(receiveCapacity: 100))
            var sent: [UInt8] = []
            for round in 1...3 as ClosedRange<UInt8> {
                let bytes = Array(repeating: round, count: 3000)
                try await uart.send(bytes)
                sent += bytes
                try await uart.flush()
                try await fixture.radio.sleep(for: .seconds(10))
                fixture.linble.peripheral.breakLinks()
                try await fixture.settle(uart, isOnline: false)
                try await fixture.settle(uart)
            }
            #expect(try await uart.read(sent.count) == sent)
            await uart.disconnect()
            #expect(try await uart.read() == nil)
        }
    }

    @Test func bytesThatAreNotReadEndItWithAnErrorAfterThoseBefore() async throws {
        try await KeptFixture.run(.init(attached: Flood(), receiveMTU: 23, bufferCapacity: 1 << 20)) { fixture in
            let uart = fixture.keep(uart: UARTOptions(receiveCapacity: 100))
            try await uart.send([1])
            try await fixture.radio.sleep(for: .seconds(60))
            var count = 0
            let code = await failureCode { while let bytes = try await uart.read() { count += bytes.count } }
            #expect(code == .overflow)
            // The stream of values holds 4096.
            #expect(count >= 4096 * 20 && count < 90_000)
            #expect(await failureCode { try await uart.send([1]) } == .overflow)
        }
    }

    /// A device that sends much at once.
    private struct Flood: AttachedDevice {
        mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] { [.send(CountingWords.bytes(90_000))] }
    }

    // MARK: Cancellation

    @Test func aCancelledCallEndsAndWhatItHasAppendedIsSent() async throws {
        try await KeptFixture.run(.init(attached: RecordingDevice())) { fixture in
            fixture.linble.peripheral.setHidden(true)
            let uart = fixture.keep(sendCapacity: 100)
            let waitingForRoom = try await begin(fixture) { try await uart.send(Array(repeating: 1, count: 101)) }
            let waitingForTurn = try await begin(fixture) { try await uart.send([2]) }
            let flush = try await begin(fixture) { try await uart.flush() }
            let read = try await begin(fixture) { try await uart.read() }
            for task in [waitingForTurn, waitingForRoom, flush] { task.cancel() }
            read.cancel()
            for task in [waitingForTurn, waitingForRoom, flush] { #expect(await code(of: task) == .cancelled) }
            #expect(await code(of: read) == .cancelled)
            #expect(await uart.statistics.bufferedByteCount == 100)
            #expect(await failureCode { try await uart.flush(timeout: .seconds(5)) } == .timedOut)
            fixture.linble.peripheral.setHidden(false)
            try await uart.send([3])
            try await uart.flush()
            #expect(try await uart.read(101) == Array(repeating: 1, count: 100) + [3])
            await uart.disconnect()
        }
    }

    // MARK: The end

    @Test(arguments: ["online", "sending", "connecting", "pausing", "waiting for the adapter"])
    func disconnectingEndsEveryCall(_ state: String) async throws {
        try await KeptFixture.run { fixture in
            if state == "connecting" { fixture.linble.peripheral.setHidden(true) }
            if state == "pausing" { fixture.linble.peripheral.setRefusal(.connectionFailedToBeEstablished) }
            let uart = UARTConnection.keep(
                .name("LINBLE-Z1"), on: fixture.adapter,
                options: KeptUARTOptions(policy: ReconnectionPolicy(initialDelay: .seconds(3600)), sendCapacity: 100))
            if state == "waiting for the adapter" {
                try await fixture.settle(uart)
                fixture.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
            }
            try await fixture.radio.sleep(for: .seconds(20))
            let isOnline = ["online", "sending"].contains(state)
            #expect(await (uart.connection != nil) == isOnline)
            if state == "sending" { fixture.kernel.setSending(false, adapter: 0) }
            let events = KeptEvents(await uart.events())
            var calls: [Task<Void, any Error>] = []
            if state != "online" {
                calls.append(try await begin(fixture) { try await uart.send(Array(repeating: 1, count: 1 << 20)) })
                calls.append(try await begin(fixture) { try await uart.send([2]) })
                calls.append(try await begin(fixture) { try await uart.flush() })
            }
            let read = try await begin(fixture) { try await uart.read() }
            await uart.disconnect()
            for call in calls { #expect(await [.cancelled, .disconnected].contains(code(of: call))) }
            #expect(try await read.value == nil)
            #expect(await failureCode { try await uart.send([1]) } == .cancelled)
            #expect(try await uart.read() == nil)
            _ = try await events.rest()
            #expect(await uart.connection == nil)
            await uart.disconnect()
        }
    }

    @Test func receivedBytesAreReadAfterDisconnecting() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep(uart: UARTOptions(receiveCapacity: 10))
            try await uart.send(CountingWords.bytes(4000))
            try await uart.flush()
            try await fixture.radio.sleep(for: .seconds(10))
            await uart.disconnect()
            #expect(try await uart.read(4000) == CountingWords.bytes(4000))
            #expect(try await uart.read() == nil)
        }
    }

    @Test(arguments: [true, false]) func closingTheAdapterEndsIt(isOnline: Bool) async throws {
        try await KeptFixture.run { fixture in
            if !isOnline { fixture.linble.peripheral.setHidden(true) }
            let uart = fixture.keep()
            let read = try await begin(fixture) { try await uart.read() }
            await fixture.adapter.close()
            #expect(await code(of: read) == .cancelled)
            #expect(await failureCode { try await uart.send([1]) } == .cancelled)
            try await fixture.radio.settle { fixture.kernel.links(adapter: 0).isEmpty }
        }
    }

    #if DEBUG || COUNTS_COMPONENTS
        @Test(arguments: [true, false]) func theLastReferenceEndsIt(isOnline: Bool) async throws {
            try await KeptFixture.run { fixture in
                if !isOnline { fixture.linble.peripheral.setHidden(true) }
                let components = fixture.radio.loop.components
                let events: BoundedStream<KeptUART.Event>
                do {
                    let uart = fixture.keep()
                    events = await uart.events()
                    try await fixture.radio.sleep(for: .seconds(5))
                    #expect(components.alive["KeptDriver"] == 1)
                    #expect(await (uart.connection != nil) == isOnline)
                }
                _ = try await KeptEvents(events).rest()
                try await fixture.radio.settle {
                    components.alive["KeptDriver"] == nil && components.alive["KeptSender"] == nil
                        && fixture.kernel.links(adapter: 0).isEmpty
                }
            }
        }
    #endif
}
