import BluetoothATT

/// Walks through a range of handles with requests that each ask from where the last answer ended.
///
/// It holds the one rule that keeps discovery finite: only what lies in the range asked for and leads forward is taken,
/// and an answer that has nothing of the kind ends the walk.
struct HandleWalk: Hashable, Sendable {
    /// What is still to be asked.
    private(set) var range: AttributeHandleRange
    /// Whether the whole range has been walked.
    private(set) var isAtEnd: Bool
    /// Whether the answer has led forward.
    private var hasAdvanced = false

    init(_ range: AttributeHandleRange) {
        self.range = range
        isAtEnd = !range.isValid
    }

    /// The range that the next request asks for.
    ///
    /// - Throws: ``TransactionFailure/invalid(_:)`` when the caller's range holds no handle.
    func checkedRange() throws(TransactionFailure) -> AttributeHandleRange {
        guard range.isValid else { throw .invalid("no attribute can be in the range \(range)") }
        return range
    }

    /// Takes an entry at `handle` and goes on behind it; returns false for one that was not asked for, or that goes back.
    mutating func advance(over handle: AttributeHandle) -> Bool {
        guard !isAtEnd, range.contains(handle) else { return false }
        advance(behind: handle)
        return true
    }

    /// Goes on behind `last`, which has been asked for.
    mutating func advance(behind last: AttributeHandle) {
        hasAdvanced = true
        guard let next = last.next, next <= range.end else { return end() }
        range.start = next
    }

    /// Ends the walk when the answer just taken has not led forward: the next would not either.
    mutating func endOfAnswer() {
        if !hasAdvanced { end() }
        hasAdvanced = false
    }

    /// Passes over what lies before `handle`: nothing there is worth asking for.
    mutating func skip(to handle: AttributeHandle) {
        guard handle <= range.end else { return end() }
        range.start = max(range.start, handle)
    }

    /// Ends the walk: the server has nothing more.
    mutating func end() {
        isAtEnd = true
    }
}
