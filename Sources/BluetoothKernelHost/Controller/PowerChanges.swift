/// What the sessions of this process do to the power of an adapter, which another session of it must not take for another
/// program's doing.
struct PowerChanges: AdapterTableValue, Sendable {
    /// An adapter; one without a public address is told from others by its index.
    typealias Adapter = AdapterTable<PowerChanges>.Key

    private static let table = AdapterTable<PowerChanges>()

    /// The number of steps under way.
    private var steps = 0
    private var isSwitchedOff = false

    var isEmpty: Bool { steps == 0 && !isSwitchedOff }

    // MARK: Steps of a recovery

    static func beginStep(on adapter: Adapter) { table.with(adapter) { $0.steps += 1 } }

    static func endStep(on adapter: Adapter) { table.with(adapter) { $0.steps = max(0, $0.steps - 1) } }

    /// Whether a step is under way, which powers the adapter on again.
    static func hasStep(on adapter: Adapter) -> Bool { table.with(adapter) { $0.steps > 0 } }

    // MARK: Switching off

    /// Records that this process switches an adapter off, or that it is on.
    static func setSwitchedOff(_ isOff: Bool, _ adapter: Adapter) { table.with(adapter) { $0.isSwitchedOff = isOff } }

    /// Whether this process has switched an adapter off, which has not been on since.
    static func isSwitchedOff(_ adapter: Adapter) -> Bool { table.with(adapter) { $0.isSwitchedOff } }
}
