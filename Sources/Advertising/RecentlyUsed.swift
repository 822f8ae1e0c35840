/// A bounded dictionary that forgets what was not used for the longest time; every operation takes constant time.
struct RecentlyUsed<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: UInt64
        var value: Value
        var older: Int
        var newer: Int
    }

    private static var none: Int { -1 }

    private let limit: Int
    private var entries: [Entry] = []
    private var indices: [UInt64: Int] = [:]
    private var oldest = none
    private var newest = none

    /// Holds at most `limit` values, at least one.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var count: Int { entries.count }

    /// The value at an index that ``use(_:orInsert:)`` returned last.
    subscript(index: Int) -> Value {
        get { entries[index].value }
        _modify { yield &entries[index].value }
    }

    /// Makes the value of `key` the newest, inserting one if there is none, and says where it is and whether the
    /// oldest had to go for it.
    mutating func use(_ key: UInt64, orInsert value: @autoclosure () -> Value) -> (index: Int, hadToForget: Bool) {
        if newest != Self.none, entries[newest].key == key { return (newest, false) }
        if let index = indices[key] {
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
            entries.append(Entry(key: key, value: value(), older: Self.none, newer: Self.none))
        }
        indices[key] = index
        linkAsNewest(index)
        return (index, isFull)
    }

    private mutating func unlink(_ index: Int) {
        let (older, newer) = (entries[index].older, entries[index].newer)
        if older == Self.none { oldest = newer } else { entries[older].newer = newer }
        if newer == Self.none { newest = older } else { entries[newer].older = older }
    }

    private mutating func linkAsNewest(_ index: Int) {
        entries[index].older = newest
        entries[index].newer = Self.none
        if newest == Self.none { oldest = index } else { entries[newest].newer = index }
        newest = index
    }
}
