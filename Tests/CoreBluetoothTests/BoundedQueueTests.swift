import Testing

@testable import CoreBluetooth

/// The queue of a program's requests, with every input in every state.
@Suite struct BoundedQueueTests {
    private enum Input: CaseIterable { case append, next, finish }

    /// Every sequence of five inputs on a queue for two: requests come out in order, once each, and none after the end.
    @Test func everyInputInEveryState() async {
        let inputs = Input.allCases
        for number in 0..<243 {
            var rest = number
            let path = (0..<5).map { _ in
                defer { rest /= 3 }
                return inputs[rest % 3]
            }
            let queue = BoundedQueue<Int>(capacity: 2)
            var waiting: [Int] = []
            var isFinished = false
            var count = 0
            for input in path {
                switch input {
                case .append:
                    count += 1
                    let isTaken = !isFinished && waiting.count < 2
                    #expect(queue.append(count) == isTaken, "\(path)")
                    if isTaken { waiting.append(count) }
                case .next where !waiting.isEmpty:
                    #expect(await queue.next() == waiting.removeFirst(), "\(path)")
                case .next where isFinished: #expect(await queue.next() == nil, "\(path)")
                case .next:
                    // No other task can append while this waits, so it is given a request, or the end.
                    count += 1
                    let expected = count
                    async let next = queue.next()
                    while !queue.append(expected) {}
                    #expect(await next == expected, "\(path)")
                case .finish:
                    queue.finish()
                    (waiting, isFinished) = ([], true)
                }
            }
        }
    }

    @Test func whoStopsWaitingEndsTheQueue() async {
        let queue = BoundedQueue<Int>(capacity: 2)
        let waiting = Task { await queue.next() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(!queue.append(1))
        #expect(await queue.next() == nil)
    }

    @Test func whoeverWaitsIsToldOfTheEnd() async {
        let queue = BoundedQueue<Int>(capacity: 2)
        async let next = queue.next()
        queue.finish()
        #expect(await next == nil)
    }
}
