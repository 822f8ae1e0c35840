import BluetoothATT

/// An iteration over a handle range in which each request begins after the last response.
///
/// It enforces the rule that keeps discovery finite: only ascending handles in the requested range count, and a
/// response without any ends the iteration.
struct HandleWalk: Hashable, Sendable {
    /// The remaining range.
    private(set) var range: AttributeHandleRange
    /// Whether the end of the range has been reached.
    private(set) var isAtEnd: Bool
    /// Whether the response advanced the iteration.
    private var hasAdvanced = false

    init(_ range: AttributeHandleRange) {
        self.range = range
        isAtEnd = !range.isValid
    }

    /// The range of the next request.
    ///
    /// - Throws: ``TransactionFailure/invalid(_:)`` when the caller's range holds no handle.
    func checkedRange() throws(TransactionFailure) -> AttributeHandleRange {
        guard range.isValid else { throw .invalid("the handle range \(range) is invalid") }
        return range
    }

    /// Advances over an entry at `handle`; returns false when the handle is out of range or out of order.
    mutating func advance(over handle: AttributeHandle) -> Bool {
        guard !isAtEnd, range.contains(handle) else { return false }
        advance(behind: handle)
        return true
    }

    /// Advances to the handle after `last`.
    mutating func advance(behind last: AttributeHandle) {
        hasAdvanced = true
        guard let next = last.next, next <= range.end else { return end() }
        range.start = next
    }

    /// Ends the iteration if the response did not advance it, since the next one would not either.
    mutating func endOfAnswer() {
        if !hasAdvanced { end() }
        hasAdvanced = false
    }

    /// Skips the handles before `handle`.
    mutating func skip(to handle: AttributeHandle) {
        guard handle <= range.end else { return end() }
        range.start = max(range.start, handle)
    }

    /// Ends the iteration: the server has no more entries.
    mutating func end() {
        isAtEnd = true
    }
}
