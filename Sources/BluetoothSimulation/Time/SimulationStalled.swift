import BluetoothLoop

/// A simulation has stalled: the event that the program waits for will never happen.
public struct SimulationStalled: Error, Sendable, CustomStringConvertible {
    /// The reason for stalling. An open set: switch with a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        package enum Kind: Hashable, Sendable {
            case nothingScheduled, limitReached
        }

        package let kind: Kind

        /// Nothing is ready and nothing has a deadline.
        public static let nothingScheduled = Self(kind: .nothingScheduled)
        /// The limit of virtual time was reached.
        public static let limitReached = Self(kind: .limitReached)

        /// The reason: `the time limit was reached`.
        public var description: String {
            kind == .nothingScheduled
                ? "an await would never end: nothing is ready and nothing has a deadline" : "the time limit was reached"
        }
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
        let list = open.isEmpty ? "nothing is open" : "open: " + open.joined(separator: "; ")
        return "simulation stalled at \(time): \(reason); \(list)"
    }
}
