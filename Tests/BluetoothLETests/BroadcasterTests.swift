import BluetoothLoop
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct BroadcasterTests {
    private static func all(_ stream: BoundedStream<Int>) async -> (values: [Int], error: BluetoothError?) {
        var values: [Int] = []
        let error = await failure { for try await value in stream { values.append(value) } }
        return (values, error)
    }

    private static let ended = BluetoothError(.disconnected, .init("test"), "gone")

    @Test func everyStreamHasAllValuesFromItsBeginning() async throws {
        try await Fixture.run { fixture in
            var source = Broadcaster<Int>()
            let early = source.stream(capacity: 8, policy: .fail, .init("test"), from: fixture.radio.loop)
            source.send(1)
            let late = source.stream(
                capacity: 8, policy: .fail, .init("test"), from: fixture.radio.loop, beginningWith: [10, 11])
            source.send(2)
            source.send(3)
            #expect(source.count == 2)
            source.finish(Self.ended)
            #expect(source.count == 0)
            source.send(4)
            let (first, second) = (await Self.all(early), await Self.all(late))
            #expect(first.values == [1, 2, 3] && first.error?.code == .disconnected)
            #expect(second.values == [10, 11, 2, 3] && second.error?.code == .disconnected)
        }
    }

    @Test func aFullStreamFailsOrDropsIndependently() async throws {
        try await Fixture.run { fixture in
            var source = Broadcaster<Int>()
            let failing = source.stream(capacity: 2, policy: .fail, .init("test"), from: fixture.radio.loop)
            let dropping = source.stream(capacity: 2, policy: .dropOldest, .init("test"), from: fixture.radio.loop)
            let wide = source.stream(capacity: 8, policy: .fail, .init("test"), from: fixture.radio.loop)
            #expect(source.send(1) == [] && source.send(2) == [])
            #expect(source.send(3) == [1])
            #expect(source.count == 2)
            source.finish()
            let (first, second) = (await Self.all(failing), await Self.all(dropping))
            #expect(first.values == [1, 2] && first.error?.code == .overflow)
            #expect(second.values == [2, 3] && second.error == nil)
            #expect(await Self.all(wide).values == [1, 2, 3])
        }
    }

    @Test func aReserveIsLeftToOtherValues() async throws {
        try await Fixture.run { fixture in
            var source = Broadcaster<Int>()
            let narrow = source.stream(capacity: 2, policy: .fail, .init("test"), from: fixture.radio.loop)
            let wide = source.stream(capacity: 4, policy: .fail, .init("test"), from: fixture.radio.loop)
            for value in 1...3 { source.send(value, reserving: 1) }
            source.send(4)
            source.finish()
            #expect(await Self.all(narrow).values == [1, 4])
            #expect(await Self.all(wide).values == [1, 2, 3, 4])
        }
    }

    /// Leaving the loop, dropping the stream unread, and cancelling the reading task.
    @Test func aStreamThatEndsLeavesTheOthersAlone() async throws {
        try await Fixture.run { fixture in
            let source = Source(fixture.radio.loop)
            let staying = await source.stream()
            do { _ = await source.stream() }
            let left = await source.stream()
            let cancelled = await source.stream()
            await source.send(1)
            // The loop ends during the delivery of a value.
            for try await value in left {
                #expect(value == 1)
                break
            }
            let reading = fixture.begin { await Self.all(cancelled).error?.code }
            reading.cancel()
            _ = try await reading.value
            await source.send(2)
            await source.finish()
            let taken = await Self.all(staying)
            #expect(taken.values == [1, 2] && taken.error == nil)
        }
    }

    @Test func anEndedStreamReleasesItsOwner() async throws {
        try await Fixture.run { fixture in
            var source = Broadcaster<Element>()
            var element: Element? = Element()
            weak let buffered = element
            var owner: Element? = Element()
            weak let kept = owner
            do {
                let stream = source.stream(
                    capacity: 8, policy: .fail, .init("test"), from: fixture.radio.loop, keeping: owner)
                owner = nil
                #expect(kept != nil)
                if let sent = element.take() { source.send(sent) }
                #expect(buffered != nil && source.count == 1)
                withExtendedLifetime(stream) {}
            }
            #expect(kept == nil && buffered == nil)
            #expect(source.count == 0)
        }
    }
}

private final class Element: Sendable {}

/// An owner like those of the library.
private actor Source: LoopActor {
    nonisolated let loop: EventLoop
    private var broadcaster = Broadcaster<Int>()

    init(_ loop: EventLoop) { self.loop = loop }

    func stream() -> BoundedStream<Int> {
        broadcaster.stream(capacity: 8, policy: .fail, .init("test"), from: loop, keeping: self)
    }

    func send(_ value: Int) { broadcaster.send(value) }
    func finish() { broadcaster.finish() }
}
