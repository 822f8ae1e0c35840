import BluetoothKernel
import SimulatedKernel

/// A simulated kernel with two adapters, for one story in virtual time.
struct SimulatedRig: Sendable {
    /// Whether the simulated kernel has all that the stories ask for.
    static let isComplete = true

    private let radio: SimulatedRadio
    let kernel: SimulatedKernel

    init() {
        radio = SimulatedRadio(seed: 1)
        kernel = radio.makeKernel(adapters: [SimulatedController(), SimulatedController()])
    }

    /// Runs a story on it.
    func run(_ story: @escaping @Sendable () async throws -> Void) async throws {
        try await radio.run(limit: .seconds(600), story)
    }

    /// How its second adapter is taken away and put back; nil where that cannot be done.
    var hotplug: Hotplug? {
        Hotplug(unplug: { [kernel] in kernel.unplug($0.index) }, plug: { [kernel] in kernel.plug() })
    }
}
