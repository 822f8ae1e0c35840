import BluetoothSockets

extension SimulatedKernel: ProgramMarks {
    package func hold(_ mark: String) -> (any AnyObject & Sendable)? {
        guard withHost({ $0.marks.insert(mark).inserted }) else { return nil }
        return SimulatedHold { [self] in withHost { _ = $0.marks.remove(mark) } }
    }

    package func isHeld(_ mark: String) -> Bool { withHost { $0.marks.contains(mark) } }
}

/// What a program holds of a kernel; dropping it ends it.
final class SimulatedHold: RadioSwitchWatch {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
