import BluetoothSockets

/// A simulation came to a stand: what the program waits for will never happen.
public struct SimulationStalled: Error, Sendable, CustomStringConvertible {
    /// Why it is known that nothing more will happen.
    public enum Reason: Sendable, Equatable {
        /// Nothing is ready and nothing has a deadline.
        case nothingScheduled
        /// The virtual time that was allowed has passed.
        case limitReached
    }

    /// Why it is known.
    public var reason: Reason
    /// The virtual moment at which the simulation stood.
    public var moment: KernelInstant
    /// What is still open in the simulated kernels, one line each.
    public var open: [String]

    /// Names the moment and what is still open.
    public var description: String {
        let time = Duration.nanoseconds(moment.nanoseconds)
        let what =
            reason == .nothingScheduled
            ? "an await would never end: nothing is ready and nothing has a deadline" : "the time allowed has passed"
        let list = open.isEmpty ? "nothing is open" : "open: " + open.joined(separator: "; ")
        return "simulation stalled at \(time): \(what); \(list)"
    }
}
