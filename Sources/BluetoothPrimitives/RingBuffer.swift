/// A FIFO queue with reusable storage that grows on demand.
public struct RingBuffer<Element> {
    @usableFromInline var storage: [Element?] = []
    // Of 32 bits, since objects that exist in thousands have several queues, which are mostly empty.
    @usableFromInline var bounds: (head: UInt32, filled: UInt32) = (0, 0)

    @inlinable var head: Int {
        get { Int(bounds.head) }
        set { bounds.head = UInt32(truncatingIfNeeded: newValue) }
    }
    @inlinable var filled: Int {
        get { Int(bounds.filled) }
        set { bounds.filled = UInt32(truncatingIfNeeded: newValue) }
    }

    /// An empty queue.
    @inlinable
    public init() {}

    /// The number of elements in the queue.
    @inlinable public var count: Int { filled }

    /// Whether the queue is empty.
    @inlinable public var isEmpty: Bool { filled == 0 }

    /// The oldest element, or nil when the queue is empty.
    @inlinable public var first: Element? { filled == 0 ? nil : storage[head] }

    /// Appends an element at the end.
    @inlinable
    public mutating func append(_ element: Element) {
        if filled == storage.count { grow() }
        // A power of two, so that the remainder is its low bits.
        storage[(head &+ filled) & (storage.count &- 1)] = element
        filled &+= 1
    }

    /// Removes and returns the oldest element; nil when the queue is empty.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard filled > 0 else { return nil }
        let element = storage[head].take()
        head = (head &+ 1) & (storage.count &- 1)
        filled &-= 1
        return element
    }

    /// Whether any element satisfies `condition`.
    @inlinable
    public func contains(where condition: (Element) -> Bool) -> Bool { count(where: condition) > 0 }

    /// The number of elements that satisfy `condition`.
    @inlinable
    public func count(where condition: (Element) -> Bool) -> Int {
        var count = 0
        for index in 0..<filled {
            if let element = storage[(head &+ index) & (storage.count &- 1)], condition(element) { count &+= 1 }
        }
        return count
    }

    /// Removes all elements that satisfy `isOut`; the others keep their order.
    @inlinable
    public mutating func removeAll(where isOut: (Element) -> Bool) {
        for _ in 0..<filled {
            guard let element = popFirst(), !isOut(element) else { continue }
            append(element)
        }
    }

    @usableFromInline
    mutating func grow() {
        let capacity = max(2, 2 * storage.count)
        var larger: [Element?] = []
        larger.reserveCapacity(capacity)
        for index in 0..<filled { larger.append(storage[(head &+ index) & (storage.count &- 1)].take()) }
        for _ in filled..<capacity { larger.append(nil) }
        storage = larger
        head = 0
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
