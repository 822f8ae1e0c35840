import BluetoothSimulation

/// A simulated kernel with two adapters, for one test in virtual time.
struct SimulatedFixture: Sendable {
    private let radio: SimulatedRadio
    let kernel: SimulatedKernel

    init(privileged: Bool) {
        radio = SimulatedRadio(seed: 1)
        kernel = radio.makeKernel(adapters: [SimulatedController(), SimulatedController()])
        kernel.hasNetAdmin = privileged
        kernel.hasNetRaw = privileged
        kernel.hasNetBindService = privileged
    }

    /// Runs a test on it.
    func run(_ story: @escaping @Sendable () async throws -> Void) async throws {
        try await radio.run(limit: .seconds(600), story)
    }

    /// The means to unplug an adapter and plug in another.
    var hotplug: Hotplug {
        Hotplug(
            unplug: { [kernel] in kernel.unplug($0.index) }, plug: { [kernel] in _ = kernel.plug() },
            setBlocked: { [kernel] isBlocked in
                for adapter in try kernel.adapters() {
                    kernel.setRadioSwitch(adapter: adapter.index, isSoftBlocked: isBlocked)
                }
            }, setMaximumKeySize: { [kernel] in kernel.setMaximumKeySize(Int($0), adapter: $1.index) })
    }
}
