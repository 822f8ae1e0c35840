import ATT

/// Walks through a range of handles with requests that each ask from where the last answer ended.
///
/// It holds the one rule that keeps discovery finite: every answer must lie in the range asked for and lead forward.
struct HandleWalk: Hashable, Sendable {
    /// What is still to be asked.
    private(set) var range: AttributeHandleRange
    /// Whether the whole range has been walked.
    private(set) var isAtEnd: Bool

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

    /// Takes an entry that covers `first` to `last` and goes on behind it.
    mutating func advance(over first: AttributeHandle, to last: AttributeHandle) throws(TransactionFailure) {
        guard !isAtEnd, first >= range.start, last <= range.end, first <= last else {
            throw .violation("handles \(first)-\(last) in an answer to a request for \(range)")
        }
        guard let next = last.next, next <= range.end else {
            isAtEnd = true
            return
        }
        range.start = next
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
