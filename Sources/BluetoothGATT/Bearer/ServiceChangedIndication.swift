import BluetoothATT
import BluetoothPrimitives

/// The Service Changed indication to the peer's client (Core Vol 3 Part G §7.1).
///
/// While it is pending it also covers later changes, so that at most one is pending.
struct ServiceChangedIndication: Sendable {
    /// The affected range and the handle of the characteristic; nil when no indication is pending.
    private(set) var pending: (range: AttributeHandleRange, handle: AttributeHandle)?
    /// The change count at the time the outstanding indication was sent.
    private var changeCount: UInt64 = 0

    /// Extends the pending indication by `range`.
    mutating func include(_ range: AttributeHandleRange, at handle: AttributeHandle) {
        let joined = pending.map { $0.range.joined(with: range) } ?? range
        pending = (joined, handle)
    }

    /// The value of the characteristic: the first and the last affected handle.
    var value: [UInt8] {
        guard let range = pending?.range else { return [] }
        return encoded(range.start) + encoded(range.end)
    }

    /// Drops the pending indication, when the client has not subscribed or its link lacks the required protection.
    mutating func cancel() { pending = nil }

    /// Records that the pending indication was sent.
    mutating func didSend(to client: GATTClientState) {
        changeCount = client.changeCount
        pending = nil
    }

    /// Records that the client confirmed the outstanding indication.
    func confirm(by client: inout GATTClientState) { client.confirmedServiceChanged(changeCount) }
}

extension AttributeHandleRange {
    /// The smallest range that contains both.
    package func joined(with other: AttributeHandleRange) -> AttributeHandleRange {
        AttributeHandleRange(start: min(start, other.start), end: max(end, other.end))
    }
}
