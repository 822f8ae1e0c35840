import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct StreamTests {
    private static func make(
        _ loop: EventLoop, capacity: Int = 8, _ policy: OverflowPolicy = .fail,
        onEnd: @escaping @Sendable () -> Void = {}
    ) -> (channel: StreamChannel<Int>, stream: BoundedStream<Int>) {
        let channel = StreamChannel<Int>(capacity: capacity, policy: policy, operation: .init("test"), from: loop)
        return (channel, BoundedStream(channel: channel, onEnd: onEnd))
    }

    @Test func bufferedElementsPrecedeTheError() async throws {
        try await Fixture.run { fixture in
            let (channel, stream) = Self.make(fixture.radio.loop)
            channel.send(1)
            channel.send(2)
            channel.finish(.init(.disconnected, .init("test"), "gone"))
            #expect(!channel.send(3))
            channel.finish(.init(.failed, .init("test"), "later"))
            var taken: [Int] = []
            let error = await failure { for try await element in stream { taken.append(element) } }
            #expect(taken == [1, 2])
            #expect(error?.code == .disconnected)
        }
    }

    @Test func copiesOfAnIteratorShareTheElements() async throws {
        try await Fixture.run { fixture in
            let (channel, stream) = Self.make(fixture.radio.loop)
            for element in 1...3 { channel.send(element) }
            var first = stream.makeAsyncIterator()
            var second = first
            let taken = (try await first.next(), try await second.next(), try await first.next())
            #expect(taken == (1, 2, 3))
            // With two waiting calls, the second fails and the first gets the element.
            let waiting = fixture.begin { try await channel.next(isolation: nil) }
            try await fixture.radio.sleep(for: .milliseconds(1))
            #expect(await failure { _ = try await channel.next(isolation: nil) }?.code == .busy)
            channel.send(4)
            #expect(try await waiting.value == 4)
        }
    }

    @Test func aCancelledConsumerDoesNotEndAnotherWait() async throws {
        try await Fixture.run { fixture in
            let (channel, stream) = Self.make(fixture.radio.loop)
            let waiting = fixture.begin { try await channel.next(isolation: nil) }
            try await fixture.radio.sleep(for: .milliseconds(1))
            let late = fixture.begin {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await channel.next(isolation: nil)
            }
            #expect(await failure { _ = try await late.value }?.code == .cancelled)
            channel.send(7)
            #expect(try await waiting.value == 7)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func aFullStreamFailsOrDrops() async throws {
        try await Fixture.run { fixture in
            let (failing, failed) = Self.make(fixture.radio.loop, capacity: 2)
            let (dropping, dropped) = Self.make(fixture.radio.loop, capacity: 2, .dropOldest)
            for element in 1...5 {
                failing.send(element)
                dropping.send(element)
            }
            dropping.finish()
            var taken: [Int] = []
            #expect(await failure { for try await element in failed { taken.append(element) } }?.code == .overflow)
            #expect(taken == [1, 2])
            taken = []
            #expect(await failure { for try await element in dropped { taken.append(element) } } == nil)
            #expect(taken == [4, 5])
            #expect(dropped.missedCount == 3)
        }
    }

    @Test func aSecondIteratorEndsAtOnce() async throws {
        try await Fixture.run { fixture in
            let (channel, stream) = Self.make(fixture.radio.loop)
            var first = stream.makeAsyncIterator()
            var second = stream.makeAsyncIterator()
            channel.send(1)
            let nothing = try await second.next()
            #expect(nothing == nil)
            let one = try await first.next()
            #expect(one == 1)
        }
    }

    @Test func droppingItUnreadOrLeavingTheLoopEndsItOnce() async throws {
        try await Fixture.run { fixture in
            let counter = Counter()
            do {
                let unread = Self.make(fixture.radio.loop) { counter.increment() }
                withExtendedLifetime(unread.channel) {}
            }
            #expect(counter.count == 1)
            let (channel, stream) = Self.make(fixture.radio.loop) { counter.increment() }
            channel.send(1)
            for try await _ in stream { break }
            #expect(counter.count == 2)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func aCancelledConsumerGetsAnErrorAndMayContinue() async throws {
        try await Fixture.run { fixture in
            let (channel, stream) = Self.make(fixture.radio.loop)
            let consumer = fixture.begin { () -> [Int] in
                var iterator = stream.makeAsyncIterator()
                let error = await failure { _ = try await iterator.next() }
                #expect(error?.code == .cancelled)
                // A buffered element is delivered even to a cancelled task.
                channel.send(7)
                let next = try await iterator.next()
                let last = await failure { _ = try await iterator.next() }
                #expect(last?.code == .cancelled)
                return [next].compactMap { $0 }
            }
            try await fixture.radio.sleep(for: .seconds(1))
            consumer.cancel()
            #expect(try await consumer.value == [7])
        }
    }

    /// Producer, consumer and canceller on separate threads; no element is lost or duplicated, and no wait is without
    /// end.
    @Test(arguments: [true, false]) func cancellationRacesLoseNothing(_ isOnLoop: Bool) async throws {
        let radio = SimulatedRadio(time: .real)
        for round in 0..<300 {
            let (channel, stream) = Self.make(radio.loop, capacity: 1000)
            let consume: @Sendable () async -> Int = {
                var count = 0
                _ = await failure {
                    for try await element in stream {
                        #expect(element == count)
                        count += 1
                    }
                }
                return count
            }
            let consumer =
                isOnLoop ? Task(executorPreference: radio.loop, operation: consume) : Task(operation: consume)
            let producer = Task { for element in 0..<100 { channel.send(element) } }
            if round % 3 == 0 { await Task.yield() }
            if round % 2 == 0 {
                consumer.cancel()
            } else {
                await producer.value
                channel.finish()
            }
            let count = await consumer.value
            #expect(round % 2 == 0 ? count <= 100 : count == 100)
        }
        radio.close()
    }
}

private final class Counter: Sendable {
    private let value = Mutex(0)
    func increment() { value.withLock { $0 += 1 } }
    var count: Int { value.withLock { $0 } }
}

/// A connection over a socket that ends, byte by byte.
@Suite struct SocketEndTests {
    private static let notifying = RemoteCharacteristic(
        uuid: 0x2A37, properties: [.notify, .indicate], declarationHandle: 2, valueHandle: 3, endHandle: 4,
        descriptors: [RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)])

    @Test func aFailedSendEndsTheConnectionForAllCallers() async throws {
        try await withConnection { connection, socket in
            async let end = connection.disconnected()
            await Task.yield()
            socket.failSends(KernelError("send", .timedOut))
            let command = await failure { try await connection.writeCommand([1], to: AttributeHandle(3)) }
            #expect(command?.code == .disconnected)
            #expect(command?.message.contains("was lost") == true)
            #expect(await end.message.contains("was lost"))
            #expect(await !connection.isConnected)
            let read = await failure { _ = try await connection.read(AttributeHandle(3)) }
            #expect(read?.message.contains("was lost") == true)
        }
    }

    @Test func aRequestThatCannotBeSentEndsTheConnection() async throws {
        try await withConnection { connection, socket in
            socket.failSends(KernelError("send", .connectionReset))
            let read = await failure { _ = try await connection.read(AttributeHandle(3)) }
            #expect(read?.code == .disconnected)
            #expect(await connection.disconnected().message == "The peer ended the link.")
        }
    }

    /// Each of the packets present at the end would make us send a response.
    @Test func packetsBeforeTheEndAreDelivered() async throws {
        try await withConnection(Exchange("12 0400 0200", "13")) { connection, socket in
            let values = try await connection.subscribe(to: Self.notifying, kind: .indication)
            for packet in ["1D 0300 01", "0A 0100", "1D 0300 02", "02 F700", "1B 0300 03"] { socket.deliver(packet) }
            socket.failSends(KernelError("send", .notConnected))
            socket.end(KernelError("recv", .connectionReset))
            var taken: [[UInt8]] = []
            let error = await failure { for try await value in values { taken.append(value) } }
            #expect(taken == [[1], [2], [3]])
            #expect(error?.code == .disconnected)
        }
    }

    @Test func aCancelledTaskSendsNothing() async throws {
        try await withConnection { connection, socket in
            let task = Task(executorPreference: connection.loop) {
                while !Task.isCancelled { await Task.yield() }
                #expect(await failure { _ = try await connection.read(AttributeHandle(3)) }?.code == .cancelled)
                #expect(
                    await failure { try await connection.writeCommand([1], to: AttributeHandle(3)) }?.code == .cancelled
                )
            }
            task.cancel()
            await task.value
            #expect(socket.sent.isEmpty)
        }
    }

    @Test func requestsOfThePeerWaitWhileTheSocketIsFull() async throws {
        try await withConnection(Exchange("01 0A 3412 01"), Exchange("01 0A 3512 01")) { connection, socket in
            socket.setFull(true)
            socket.deliver("0A 3412")
            socket.deliver("0A 3512")
            for _ in 0..<50 { await Task.yield() }
            #expect(socket.sent.isEmpty)
            socket.setFull(false)
            await connection.settle { socket.sent.count == 2 }
        }
    }

    @Test func aSubscriberThatJoinsWhileAnotherLeavesStaysSubscribed() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0000"), Exchange("12 0400 0100", "13"),
            Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            _ = try await connection.subscribe(to: Self.notifying)
            await connection.settle { socket.sent.count == 2 }
            async let joined = connection.subscribe(to: Self.notifying)
            for _ in 0..<20 { await Task.yield() }
            socket.deliver("13")
            var iterator = try await joined.makeAsyncIterator()
            socket.deliver("1B 0300 09")
            #expect(try await iterator.next() == [9])
        }
    }

    @Test func aSubscriptionCancelledUnderWayIsUndone() async throws {
        try await withConnection(Exchange("12 0400 0100"), Exchange("12 0400 0000", "13")) { connection, socket in
            let task = Task(executorPreference: connection.loop) {
                _ = try await connection.subscribe(to: Self.notifying)
            }
            await connection.settle { socket.sent.count == 1 }
            task.cancel()
            #expect(await failure { try await task.value }?.code == .cancelled)
            socket.deliver("13")
            await connection.settle { socket.sent.count == 2 }
            socket.deliver("1B 0300 09")
            await connection.settle { await connection.unwantedValueCount == 1 }
        }
    }

    @Test func aCharacteristicThatChangesWhileItIsLookedAtIsNotWrittenTo() async throws {
        let characteristic = RemoteCharacteristic(
            uuid: 0x2A19, properties: .notify, declarationHandle: 0x0004, valueHandle: 0x0005, endHandle: 0x0007)
        try await withConnection(
            Exchange("04 0600 0700", "1D 0300 0100FFFF", "05 01 0600 0129 0700 0229"), Exchange("1E")
        ) { connection, socket in
            try await connection.expectServiceChanged(at: 0x0003)
            let error = await failure { _ = try await connection.subscribe(to: characteristic) }
            #expect(error?.code == .attributesChanged)
        }
    }
}

extension Connection {
    fileprivate func expectServiceChanged(at handle: AttributeHandle) async throws {
        try await core { (link) throws in
            try link.bearer(for: .init("set up the test")).peerServer.serviceChanged.handle = handle
        }
    }
}
