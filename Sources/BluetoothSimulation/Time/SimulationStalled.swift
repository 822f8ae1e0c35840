import BluetoothLoop

/// A simulation has stalled: the event that the program waits for will never happen.
public struct SimulationStalled: Error, Sendable, CustomStringConvertible {
    /// The reason for stalling.
    public enum Reason: Sendable, Equatable {
        /// Nothing is ready and nothing has a deadline.
        case nothingScheduled
        /// The limit of virtual time was reached.
        case limitReached
    }

    /// The reason for stalling.
    public var reason: Reason
    /// The virtual moment at which the simulation stalled.
    public var moment: KernelInstant
    /// The open sockets and listeners of the simulated kernels, one line each.
    public var open: [String]

    /// The moment, the reason and the open sockets.
    public var description: String {
        let time = Duration.nanoseconds(moment.nanoseconds)
        let what =
            reason == .nothingScheduled
            ? "an await would never end: nothing is ready and nothing has a deadline" : "the time limit was reached"
        let list = open.isEmpty ? "nothing is open" : "open: " + open.joined(separator: "; ")
        return "simulation stalled at \(time): \(what); \(list)"
    }
}
