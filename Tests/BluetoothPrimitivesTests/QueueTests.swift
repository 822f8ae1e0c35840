import BluetoothPrimitives
import Testing

@Suite struct QueueTests {
    // MARK: RingBuffer

    @Test func elementsAreFIFO() {
        var (ring, model): (RingBuffer<Int>, [Int]) = (RingBuffer(), [])
        for number in 0..<1000 {
            ring.append(number)
            model.append(number)
            // Appends outnumber removals at first, so that the storage grows while it wraps around; later the reverse.
            for _ in 0..<(number < 400 ? number % 2 : 2) where !model.isEmpty {
                #expect(ring.first == model.first)
                #expect(ring.popFirst() == model.removeFirst())
            }
            #expect(ring.count == model.count && ring.isEmpty == model.isEmpty)
        }
        while let number = ring.popFirst() { #expect(number == model.removeFirst()) }
        #expect(model.isEmpty && ring.first == nil)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 40]) func elementsAreRemovedFromTheMiddle(count: Int) {
        var ring = RingBuffer<Int>()
        for number in 0..<5 { ring.append(number) }
        for _ in 0..<5 { _ = ring.popFirst() }
        for number in 0..<count { ring.append(number) }
        #expect(ring.count { $0 % 3 == 0 } == (0..<count).count { $0 % 3 == 0 })
        #expect(ring.contains { $0 == 8 } == (count > 8))
        ring.removeAll { $0 % 3 == 0 }
        for number in (0..<count) where number % 3 != 0 { #expect(ring.popFirst() == number) }
        #expect(ring.isEmpty)
    }

    // MARK: ByteQueue

    @Test func bytesAreFIFO() {
        var queue = ByteQueue()
        var (next, expected): (UInt8, UInt8) = (0, 0)
        for round in 1...200 {
            let more = (0..<round % 17).map { next &+ UInt8($0) }
            next &+= UInt8(more.count)
            queue.append(more)
            for byte in queue.removeFirst(round % 13) {
                #expect(byte == expected)
                expected &+= 1
            }
        }
        #expect(queue.count > 0 && queue[0] == expected)
        let left = queue.count
        #expect(queue.removeFirst(.max).count == left)
        #expect(queue.isEmpty && queue.removeFirst(1) == [])
    }

    @Test func aPatternIsFoundAfterDroppedBytes() {
        var queue = ByteQueue()
        queue.append([1, 2, 13, 10, 3, 13, 10])
        #expect(queue.firstOffset(of: [13, 10], from: 0) == 2)
        #expect(queue.firstOffset(of: [13, 10], from: 3) == 5)
        queue.drop(3)
        #expect(queue.firstOffset(of: [13, 10], from: 0) == 2)
        #expect(queue.firstOffset(of: [7], from: -1) == nil && queue.firstOffset(of: [], from: 0) == nil)
        queue.drop(.max)
        #expect(queue.isEmpty)
    }
}
