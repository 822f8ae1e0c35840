/// A kernel through which the programs of a machine see each other: a program holds marks, which all can ask for by name.
///
/// Needs no privilege. On a kernel without marks, and where a process may make none, a program is alone.
package protocol ProgramMarks: BluetoothKernel {
    /// Holds a mark until the value is released or the process ends; nil if another holds it, or it cannot be made.
    func hold(_ mark: String) -> (any AnyObject & Sendable)?

    /// Whether a mark is held by any program, this one included.
    func isHeld(_ mark: String) -> Bool
}
