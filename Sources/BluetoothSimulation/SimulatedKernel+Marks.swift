import BluetoothSockets

extension SimulatedKernel: ProgramMarks {
    package func hold(_ mark: String) -> (any AnyObject & Sendable)? {
        withHost { $0.marks.insert(mark).inserted } ? SimulatedMark(mark, on: self) : nil
    }

    package func isHeld(_ mark: String) -> Bool { withHost { $0.marks.contains(mark) } }
}

/// A mark that a program holds; dropping it ends it.
private final class SimulatedMark: Sendable {
    private let mark: String
    private let kernel: SimulatedKernel

    init(_ mark: String, on kernel: SimulatedKernel) { (self.mark, self.kernel) = (mark, kernel) }

    deinit { kernel.withHost { [mark] in _ = $0.marks.remove(mark) } }
}
