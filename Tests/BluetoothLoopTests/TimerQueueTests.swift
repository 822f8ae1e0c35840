import TestSupport
import Testing

@testable import BluetoothLoop

@Suite struct TimerQueueTests {
    private func instant(_ nanoseconds: Int64) -> KernelInstant { KernelInstant(nanoseconds: nanoseconds) }

    /// Removes all entries due at `now` and calls their handlers.
    private func runDue(_ queue: inout TimerQueue<@Sendable () -> Void>, at now: Int64) {
        while let handler = queue.removeDue(at: instant(now), setBefore: .max) { handler() }
    }

    @Test func anEmptyQueueHasNoDeadline() {
        var queue = TimerQueue<@Sendable () -> Void>()
        #expect(queue.firstDeadline == nil)
        #expect(queue.removeDue(at: instant(.max), setBefore: .max) == nil)
    }

    @Test func equalDeadlinesExpireInTheOrderSet() {
        var queue = TimerQueue<@Sendable () -> Void>()
        let log = Log()
        let slots = (0..<20).map { number in queue.addSlot { log.add(number) } }
        for slot in slots.reversed() { queue.set(slot, at: instant(5)) }
        runDue(&queue, at: 4)
        #expect(log.numbers == [])
        runDue(&queue, at: 5)
        #expect(log.numbers == Array((0..<20).reversed()))
    }

    @Test func entriesSetAfterTheMarkWait() {
        var queue = TimerQueue<@Sendable () -> Void>()
        let slot = queue.addSlot {}
        let mark = queue.nextOrder
        queue.set(slot, at: instant(1))
        #expect(queue.removeDue(at: instant(9), setBefore: mark) == nil)
        #expect(queue.removeDue(at: instant(9), setBefore: mark + 1) != nil)
    }

    @Test func removingAnEntryReturnsItsHandlerAndReusesItsSlot() {
        var queue = TimerQueue<@Sendable () -> Void>()
        let log = Log()
        let first = queue.addSlot { log.add(1) }
        queue.set(first, at: instant(1))
        queue.removeSlot(first)?()
        #expect(log.numbers == [1])
        #expect(queue.firstDeadline == nil)
        let second = queue.addSlot { log.add(2) }
        #expect(second == first)
        queue.set(second, at: instant(1))
        runDue(&queue, at: 1)
        #expect(log.numbers == [1, 2])
    }

    @Test(.seeded, arguments: SeededGenerator.seeds(20))
    func manyChangesAgreeWithASortedList(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = TimerQueue<@Sendable () -> Void>()
        let log = Log()
        let count = 40
        let slots = (0..<count).map { number in queue.addSlot { log.add(number) } }
        // The deadline and the order of each entry.
        var model: [Int: (deadline: Int64, order: Int)] = [:]
        var order = 0
        var now: Int64 = 0
        for _ in 0..<2000 {
            let number = Int.random(in: 0..<count, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<6:
                let deadline = now + Int64.random(in: -3...50, using: &generator)
                queue.set(slots[number], at: instant(deadline))
                model[number] = (deadline, order)
                order += 1
            case 6..<8:
                queue.set(slots[number], at: nil)
                model[number] = nil
            default:
                now += Int64.random(in: 0...10, using: &generator)
                let due = model.filter { $0.value.deadline <= now }
                    .sorted { ($0.value.deadline, $0.value.order) < ($1.value.deadline, $1.value.order) }
                    .map(\.key)
                let start = log.numbers.count
                runDue(&queue, at: now)
                #expect(Array(log.numbers.dropFirst(start)) == due)
                for number in due { model[number] = nil }
            }
            #expect(queue.firstDeadline?.nanoseconds == model.values.map(\.deadline).min())
        }
    }

    @Test func anInstantIsPrintedAsATime() {
        #expect("\(instant(5_006_238_241))" == "5.006238241 seconds")
    }
}
