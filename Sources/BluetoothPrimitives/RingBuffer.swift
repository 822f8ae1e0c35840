/// A first-in first-out buffer that grows as needed and is reused.
public struct RingBuffer<Element> {
    private var storage: [Element?] = []
    private var head = 0
    /// How many elements are in it.
    public private(set) var count = 0

    /// An empty buffer.
    public init() {}

    /// Whether nothing is in it.
    public var isEmpty: Bool { count == 0 }

    /// The element that comes out next.
    public var first: Element? { count == 0 ? nil : storage[head] }

    /// Puts an element in, behind all others.
    public mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) % storage.count] = element
        count += 1
    }

    /// Takes the oldest element out.
    public mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            storage[head] = nil
            head = (head + 1) % storage.count
            count -= 1
        }
        return storage[head]
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(8, 2 * storage.count))
        for index in 0..<count { larger.append(storage[(head + index) % storage.count]) }
        larger.append(contentsOf: repeatElement(nil, count: max(8, 2 * storage.count) - count))
        storage = larger
        head = 0
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
