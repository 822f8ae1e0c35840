/// An LRU dictionary of limited size; every operation takes constant time.
package struct RecentlyUsed<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: UInt64
        var value: Value
        var older: Int32
        var newer: Int32
    }

    private static var none: Int { -1 }

    private var limit: Int
    private var entries: [Entry] = []
    private var indices: [UInt64: Int32] = [:]
    private var oldest = none
    private var newest = none

    /// A dictionary of at most `limit` values, at least one.
    package init(limit: Int) {
        self.limit = Self.clamped(limit)
    }

    private static func clamped(_ limit: Int) -> Int { min(max(1, limit), Int(Int32.max)) }

    /// Raises the maximum number of values; a lower limit has no effect.
    package mutating func raiseLimit(to limit: Int) {
        self.limit = max(self.limit, Self.clamped(limit))
    }

    package var count: Int { entries.count }

    /// The index of a key's value, without making it the most recently used.
    package func index(of key: UInt64) -> Int? { indices[key].map { Int($0) } }

    /// The value at an index from ``use(_:orInsert:)``; the index is constant until the key is removed.
    package subscript(index: Int) -> Value {
        get { entries[index].value }
        _modify { yield &entries[index].value }
    }

    /// Makes the value of `key` the most recently used, after inserting one if needed; returns its index and whether
    /// the least recently used value was removed for it.
    package mutating func use(_ key: UInt64, orInsert value: @autoclosure () -> Value) -> (
        index: Int, didEvict: Bool
    ) {
        if newest != Self.none, entries[newest].key == key { return (newest, false) }
        if let index = indices[key].map({ Int($0) }) {
            unlink(index)
            linkAsNewest(index)
            return (index, false)
        }
        let index: Int
        let isFull = entries.count >= limit
        if isFull {
            index = oldest
            unlink(index)
            indices[entries[index].key] = nil
            entries[index].key = key
            entries[index].value = value()
        } else {
            index = entries.count
            // By less than an array does by itself, since thousands of devices take most of the memory of a scan.
            if index == entries.capacity { entries.reserveCapacity(min(limit, index + index / 4 + 8)) }
            entries.append(Entry(key: key, value: value(), older: -1, newer: -1))
        }
        indices[key] = Int32(truncatingIfNeeded: index)
        linkAsNewest(index)
        return (index, isFull)
    }

    private mutating func unlink(_ index: Int) {
        let (older, newer) = (Int(entries[index].older), Int(entries[index].newer))
        if older == Self.none { oldest = newer } else { entries[older].newer = Int32(truncatingIfNeeded: newer) }
        if newer == Self.none { newest = older } else { entries[newer].older = Int32(truncatingIfNeeded: older) }
    }

    private mutating func linkAsNewest(_ index: Int) {
        entries[index].older = Int32(truncatingIfNeeded: newest)
        entries[index].newer = -1
        if newest == Self.none { oldest = index } else { entries[newest].newer = Int32(truncatingIfNeeded: index) }
        newest = index
    }

    /// The values of all keys, most recently used first.
    package var values: [Value] {
        var all: [Value] = []
        all.reserveCapacity(entries.count)
        var index = newest
        while index != Self.none {
            all.append(entries[index].value)
            index = Int(entries[index].older)
        }
        return all
    }
}
