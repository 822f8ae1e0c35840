/// Holds a simulation's time while callbacks are on their way, which virtual time cannot see.
package protocol SimulationHold: Sendable {
    /// Time stands still from now on.
    func begin()
    /// Takes back one ``begin()``.
    func end()
}
