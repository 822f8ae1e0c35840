import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The remaining time of a connect, over all its attempts. Time spent waiting for a slot counts against `slotTimeout`
/// only, and postpones the end of the time for connecting.
package struct ConnectTime: Sendable {
    /// The time for one address of a device that changes it: longer than its longest advertising interval, and than a turn
    /// of an attempt.
    static let slice = Duration.seconds(11)

    /// The end of the time for connecting; nil for none.
    package private(set) var end: KernelInstant?
    /// The remaining time to wait for room; nil if the connect does not wait for it.
    package private(set) var room: Duration?

    package init(_ timeout: Duration?, room: Duration?, from now: KernelInstant) {
        end = timeout.map { now.advanced(by: $0) }
        self.room = room
    }

    /// The remaining time for connecting; nil for no limit.
    func remaining(at now: KernelInstant) -> Duration? { end?.remaining(at: now) }

    package func isOver(at now: KernelInstant) -> Bool { end.map { now >= $0 } ?? false }

    /// Records the time for which the connect has waited for room.
    package mutating func waitedForRoom(from start: KernelInstant, to now: KernelInstant) {
        let time = start.duration(to: now)
        end = end?.advanced(by: time)
        room = room.map { max(.zero, $0 - time) }
    }
}
