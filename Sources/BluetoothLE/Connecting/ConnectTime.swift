import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The remaining time of a connect, over all its attempts. Time spent waiting for a slot counts against `slotTimeout`
/// only, and postpones the end of the time for connecting.
struct ConnectTime: Sendable {
    private var deadline: KernelInstant?
    /// The end of the attempts at one address.
    private var sliceEnd: KernelInstant?
    /// The remaining time to wait for room; nil if the connect does not wait for it.
    private(set) var room: Duration?

    init(_ timeout: Duration?, room: Duration?, from now: KernelInstant) {
        deadline = timeout.map { now.advanced(by: $0) }
        self.room = room
    }

    /// The end of the time for connecting; nil for none.
    var end: KernelInstant? {
        guard let deadline, let sliceEnd else { return deadline ?? sliceEnd }
        return min(deadline, sliceEnd)
    }

    /// The remaining time for connecting; nil for no limit.
    func remaining(at now: KernelInstant) -> Duration? { end.map { max(.zero, now.duration(to: $0)) } }

    func isOver(at now: KernelInstant) -> Bool { end.map { now >= $0 } ?? false }

    /// Records the time for which the connect has waited for room.
    mutating func waitedForRoom(from start: KernelInstant, to now: KernelInstant) {
        let time = start.duration(to: now)
        deadline = deadline?.advanced(by: time)
        sliceEnd = sliceEnd?.advanced(by: time)
        room = room.map { max(.zero, $0 - time) }
    }

    /// Limits the time until ``endSlice()``.
    mutating func beginSlice(_ length: Duration, at now: KernelInstant) { sliceEnd = now.advanced(by: length) }

    mutating func endSlice() { sliceEnd = nil }
}
