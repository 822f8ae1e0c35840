import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothHCI
import BluetoothPrimitives
import BluetoothManagement

/// The health of a controller that the kernel drives: its problems, and the steps that may help.
//
// Lives on the loop, with the controller.
final class KernelHealth: HostHealth, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let scanner: KernelScanner
    private let address: BluetoothAddress
    /// The steps of this object that are under way; a driver that is bound again brings the adapter back a moment later.
    private var steps: [PowerChanges.Adapter] = []
    private lazy var rebindTimer = kernel.loop.makeTimer(of: self) { $0.endSteps() }
    weak var receiver: (any HostReceiver)?

    private static let rebindTime = Duration.seconds(10)

    /// - Parameter address: the adapter's public address.
    init(
        of address: BluetoothAddress, _ commands: HCICommandQueue, _ management: ManagementClient,
        _ scanner: KernelScanner, on kernel: any BluetoothKernel
    ) {
        mark = kernel.loop.components.mark("KernelHealth")
        (self.commands, self.management, self.kernel) = (commands, management, kernel)
        (self.address, self.scanner) = (address, scanner)
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        try? management.follow(self)
    }

    func receive(_ notice: AdapterNotice) {
        guard case .unanswered(commands.index, let opcode) = notice else { return }
        report(.init(.unanswered(command: "\(opcode)")), isCertain: false)
    }

    deinit { for step in steps { PowerChanges.endStep(on: step) } }

    /// Reports a problem that the controller shows.
    func report(_ problem: RadioProblem, isCertain: Bool) {
        receiver?.receive(.problem(problem, isCertain: isCertain))
    }

    nonisolated(nonsending) func controllerProperties(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties {
        try await ControllerReader(commands: commands, management: management).read(operation)
    }

    func probe(then completion: @escaping (Bool) -> Void) {
        commands.send(HCIReadLocalVersionInformation()) { answer in
            // A refusal is an answer, and a command that this program could not send shows nothing.
            switch answer {
            case .success: completion(true)
            case .failure(let error):
                if error.cause?.controllerStatus != nil { return completion(true) }
                completion([.busy, .notPermitted].contains(error.code))
            }
        }
    }

    func showsHang(_ failure: BluetoothError) -> Bool {
        guard failure.operation.name == "\(ManagementOpcode.setPowered)" else { return false }
        // The kernel may have waited for the controller no longer than this program for the kernel.
        return failure.code == .timedOut || failure.cause == .management(.timeout)
    }

    func countLinks() -> Int? {
        // The kernel lists its attempts, too, with handles that no link has (Core Vol 4 Part E §5.4.2).
        (try? kernel.linkHandles(ofAdapter: commands.index))?.count { $0 <= 0x0EFF }
    }

    // MARK: Steps

    var isRecoveredElsewhere: Bool {
        steps.isEmpty && PowerChanges.hasStep(on: .init(commands.index, address, on: kernel.loop))
    }

    func perform(_ step: RecoveryStep, then completion: @escaping (BluetoothError?) -> Void) {
        guard step > .restartScan else {
            scanner.restart()
            return completion(nil)
        }
        let adapter = PowerChanges.Adapter(commands.index, address, on: kernel.loop)
        endSteps()
        steps.append(adapter)
        PowerChanges.beginStep(on: adapter)
        intervene(step) { [self] failure in
            if step == .rebind, failure == nil { rebindTimer.set(after: Self.rebindTime) } else { endSteps() }
            completion(failure)
        }
    }

    private func endSteps() {
        rebindTimer.cancel()
        for step in steps { PowerChanges.endStep(on: step) }
        steps = []
    }

    private func intervene(_ step: RecoveryStep, then completion: @escaping (BluetoothError?) -> Void) {
        let operation = BluetoothError.Operation("\(step)", adapter: commands.name)
        switch step.kind {
        case .restartScan: completion(nil)
        case .powerCycle: setPowered(false) { [self] _ in setPowered(true, then: completion) }
        case .reset:
            control(.reset, operation) { [self] failure in
                if let failure { return completion(failure) }
                // The kernel does not know what the controller has forgotten; after power-on it declares it again.
                setPowered(false) { [self] _ in setPowered(true, then: completion) }
            }
        case .restart:
            control(.down, operation) { [self] failure in
                if let failure { return completion(failure) }
                control(.up, operation) { [self] failure in
                    if let failure { return completion(failure) }
                    // An adapter that was taken up this way has LE switched off, and is not powered for the management
                    // interface.
                    post(ManagementSetLowEnergy(true)) { [self] _ in setPowered(true, then: completion) }
                }
            }
        case .rebind: control(.rebind, operation, then: completion)
        }
    }

    private func setPowered(_ isOn: Bool, then completion: @escaping (BluetoothError?) -> Void) {
        post(ManagementSetPowered(isOn), then: completion)
    }

    private func post(_ command: some ManagementCommand, then completion: @escaping (BluetoothError?) -> Void) {
        management.perform(command, on: commands.index, whenIdle: true, completion: completion)
    }

    private func control(
        _ control: AdapterControl, _ operation: BluetoothError.Operation,
        then completion: @escaping (BluetoothError?) -> Void
    ) {
        kernel.control(control, adapter: commands.index) { [kernel] failure in
            completion(failure.map { .controller(operation, $0, kernel.environment()) })
        }
    }
}
