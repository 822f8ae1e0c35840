import BluetoothGATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import CoreBluetooth

/// The queue of a program's requests to a peripheral, for requests and for commands.
@Suite struct PeripheralRequestQueueTests {
    private let queue = PeripheralRequestQueue()
    private let journal = Journal<String>()
    private let command = PeripheralRequest.writeCommand(
        RemoteCharacteristic(
            uuid: 0x2A19, properties: .writeWithoutResponse, declarationHandle: 2, valueHandle: 3, endHandle: 3), [1])

    private func next(_ lane: PeripheralRequestQueue.Lane) async throws -> PeripheralRequestQueue.Turn {
        let next = try #require(await queue.next(lane))
        #expect(next.0.lane == lane)
        return next.1
    }

    /// Waits for the next of a lane, which the journal records.
    private func waitForNext(_ lane: PeripheralRequestQueue.Lane) -> Task<PeripheralRequestQueue.Turn?, Never> {
        Task { [queue, journal] in
            let next = await queue.next(lane)
            journal.add("next")
            return next?.1
        }
    }

    /// Lets other tasks run, which would take what they must not.
    private func letOthersRun() async {
        for _ in 0..<1000 { await Task.yield() }
    }

    @Test func aCommandFollowsWhenTheRequestBeforeItHasBegun() async throws {
        #expect(queue.append(.readRSSI) && queue.append(command))
        let turn = try await next(.requests)
        let waiting = waitForNext(.commands)
        await letOthersRun()
        journal.add("over")
        turn.end()
        #expect(await waiting.value != nil)
        #expect(journal.entries == ["over", "next"])
    }

    @Test func aRequestFollowsWhenTheCommandBeforeItWasSent() async throws {
        #expect(queue.append(command) && queue.append(.readRSSI))
        let waiting = waitForNext(.requests)
        let turn = try await next(.commands)
        await letOthersRun()
        journal.add("over")
        turn.end()
        #expect(await waiting.value != nil)
        #expect(journal.entries == ["over", "next"])
    }

    /// A request reports that it has begun, and later that it has ended: that is not the end of another's turn.
    @Test func aTurnEndsOnce() async throws {
        #expect(queue.append(.readRSSI) && queue.append(command) && queue.append(.readRSSI))
        let first = try await next(.requests)
        first.end()
        let second = try await next(.commands)
        first.end()
        let waiting = waitForNext(.requests)
        await letOthersRun()
        journal.add("over")
        second.end()
        #expect(await waiting.value != nil)
        #expect(journal.entries == ["over", "next"])
    }

    /// A command behind a request stays there while the consumer of requests is busy.
    @Test func nothingOvertakes() async throws {
        #expect(queue.append(.readRSSI) && queue.append(.readRSSI) && queue.append(command))
        try await next(.requests).end()
        let waiting = waitForNext(.commands)
        await letOthersRun()
        journal.add("over")
        try await next(.requests).end()
        #expect(await waiting.value != nil)
        #expect(journal.entries == ["over", "next"])
    }

    @Test func theQueueIsBounded() {
        let limit = 2 * PeripheralHandle.requestLimit + WriteFlow.limit
        for _ in 0..<limit { #expect(queue.append(.readRSSI)) }
        #expect(!queue.append(.readRSSI))
        #expect(!queue.append(command))
    }

    @Test func theFirstAreRemovedTogether() async throws {
        for _ in 0..<4 { #expect(queue.append(.discoverServices(nil))) }
        #expect(queue.append(command))
        let turn = try await next(.requests)
        let others = turn.queue.removeFirst { if case .discoverServices(nil) = $0 { true } else { false } }
        #expect(others == 3)
        turn.end()
        try await next(.commands).end()
    }

    @Test func theEndIsTheEndOfBothLanes() async throws {
        let waiting = [waitForNext(.requests), waitForNext(.commands)]
        await letOthersRun()
        queue.finish()
        for task in waiting { #expect(await task.value == nil) }
        #expect(!queue.append(.readRSSI))
        let afterwards = await queue.next(.requests)
        #expect(afterwards == nil)
    }

    @Test func whoStopsWaitingEndsTheQueue() async {
        let waiting = waitForNext(.commands)
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(!queue.append(.readRSSI))
    }

    @Test func whatIsQueuedIsNotForACancelledConsumer() async {
        let queue = PeripheralRequestQueue()
        for _ in 0..<3 { #expect(queue.append(.readRSSI)) }
        let consumer = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await queue.next(.requests) == nil
        }
        #expect(await consumer.value)
        #expect(!queue.append(.readRSSI))
    }
}
