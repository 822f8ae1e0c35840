import BluetoothATT
import BluetoothPrimitives

/// The indication that tells the peer's client which of our attributes have changed (Core Vol 3 Part G §7.1).
///
/// While one waits for its turn it covers all changes that follow, so that there is never more than one.
struct ServiceChangedIndication: Sendable {
    /// What is to be indicated, and where; nil when the client has been sent everything.
    private(set) var pending: (range: AttributeHandleRange, handle: AttributeHandle)?
    /// How many changes there had been when the one in flight was sent.
    private var changeCount: UInt64 = 0

    /// Covers `range` as well.
    mutating func include(_ range: AttributeHandleRange, at handle: AttributeHandle) {
        let joined = pending.map { $0.range.joined(with: range) } ?? range
        pending = (joined, handle)
    }

    /// The value of the characteristic: the first and the last handle that is affected.
    var value: [UInt8] {
        guard let range = pending?.range else { return [] }
        return [range.start.rawValue, range.end.rawValue].flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
        }
    }

    /// Nothing is pending any more, since the client has not subscribed or its link is not protected enough.
    mutating func cancel() { pending = nil }

    /// What is pending is on its way.
    mutating func didSend(to client: GATTClientState) {
        changeCount = client.changeCount
        pending = nil
    }

    /// The client has confirmed the one in flight.
    func confirm(by client: inout GATTClientState) { client.confirmedServiceChanged(changeCount) }
}

extension AttributeHandleRange {
    /// The range that covers both, and what is between them.
    package func joined(with other: AttributeHandleRange) -> AttributeHandleRange {
        AttributeHandleRange(start: min(start, other.start), end: max(end, other.end))
    }
}
