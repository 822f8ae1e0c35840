public import BluetoothLE
import BluetoothKernelHost
import BluetoothSimulation
import BluetoothSystem

/// The configuration of Core Bluetooth on Linux: adapter, simulation and pairing. Apple's systems have no counterpart,
/// and no program requires it.
///
/// By default all managers use the first adapter of the machine that works, and power it on if it is off. Without a
/// change of the program, the environment chooses: `BLUETOOTH_ADAPTER=hci1`, or an adapter's address, selects the
/// adapter; `BLUETOOTH_SIMULATION=FILE` runs the program on a simulated radio with the devices that the file describes,
/// see Docs/Guide/Simulation.md; `BLUETOOTH_PAIRING` selects the pairing agent, see ``use(pairingAgent:)``;
/// `BLUETOOTH_TRACE=FILE` records packets in a new file, see Docs/Guide/Capture.md. A
/// program that has privileges its caller does not have, such as file capabilities, ignores all of them (`AT_SECURE`). A
/// call of one of these functions has precedence over the environment; it applies to managers that are created
/// afterwards.
public enum CBLinux {
    /// Selects an adapter of this machine.
    /// - Parameters:
    ///   - adapter: `hci1`, `1` or an address; anything else stops the program.
    ///   - powersOn: whether an adapter that is off is powered on, which needs CAP_NET_ADMIN.
    public static func use(adapter: String, powersOn: Bool = true) {
        guard let selector = AdapterSelector(adapter) else {
            preconditionFailure("\"\(adapter)\" is neither an adapter's name nor an address.")
        }
        chosen.replace(\.base, with: Configuration(selector: selector, power: powersOn ? .powerOn : .leave))
    }

    /// Selects a source of adapters, such as a simulated kernel.
    ///
    /// The virtual time of a `SimulatedKernel` stands still while a callback is queued or running.
    /// - Parameters:
    ///   - kernel: the source of the adapters.
    ///   - powersOn: whether an adapter that is off is powered on.
    public static func use(kernel: any AdapterSource, powersOn: Bool = true) {
        chosen.replace(\.base, with: Configuration(power: powersOn ? .powerOn : .leave, kernel: kernel))
    }

    /// Sets the agent that answers the questions of pairing, instead of the system's dialogs on Apple's systems. It
    /// applies to an adapter's managers if their first is created afterwards.
    ///
    /// Instead of this call the environment variable `BLUETOOTH_PAIRING` can be `terminal` (the user is asked on
    /// standard error and answers on standard input), a passkey of six digits (which is entered; a device that shows
    /// none is accepted), `accept` (every device, without authentication) or `refuse` (no device that initiates
    /// pairing).
    ///
    /// Without either, no question is asked: an attribute that the program reads, writes or subscribes to causes
    /// pairing if that takes no user (Just Works), a connected peripheral may initiate pairing as well, and centrals
    /// that try to pair with a `CBPeripheralManager` are refused, which is logged. Needs CAP_NET_ADMIN; while BlueZ's
    /// daemon runs, the daemon is responsible for pairing.
    /// - Parameter pairingAgent: the agent, such as a `JustWorksPairingAgent` or a `FixedPasskeyAgent` of BluetoothLE.
    public static func use(pairingAgent: any PairingAgent) {
        chosen.replace(\.agent, with: pairingAgent)
    }

    /// Whether peripherals show their services Generic Access and Generic Attribute (1800 and 1801), which Apple's
    /// systems hide; false by default. Applies to managers that are created afterwards.
    public static var showsGenericServices: Bool {
        get { chosen { $0.showsGenericServices } }
        set { chosen { $0.showsGenericServices = newValue } }
    }

    /// Runs `body`, whose managers use a kernel of the program's own: those that `body` creates in its own task, whatever
    /// other tasks select. For tests, which run at the same time, and with several machines.
    /// - Parameters:
    ///   - kernel: the source of the adapters.
    ///   - powersOn: whether an adapter that is off is powered on.
    ///   - body: the test.
    public static func withKernel<Result: Sendable>(
        _ kernel: any AdapterSource, powersOn: Bool = true, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await withKernel(kernel, powersOn: powersOn, hold: nil, body)
    }

    /// Runs `body`, whose managers use a simulated kernel.
    /// - Parameters:
    ///   - kernel: the source of the adapters.
    ///   - powersOn: whether an adapter that is off is powered on.
    ///   - hold: pauses the kernel's time while callbacks are queued; nil for the usual.
    ///   - writeCredits: the number of writes without response before a program has to wait.
    ///   - sendBuffer: the send buffer of connections in bytes; nil leaves the kernel's default.
    ///   - agent: the pairing agent.
    ///   - bonds: the store of bonds.
    ///   - reportMisuse: receives the log message when the program releases a peripheral in use.
    ///   - showsGenericServices: see ``showsGenericServices``.
    ///   - body: the test.
    package static func withKernel<Result: Sendable>(
        _ kernel: any AdapterSource, powersOn: Bool = true, hold: (any SimulationHold)? = nil, writeCredits: Int = 64,
        sendBuffer: Int? = nil, agent: (any PairingAgent)? = nil, bonds: BondStorage = .standard,
        reportMisuse: (@Sendable (String) -> Void)? = nil, showsGenericServices: Bool = false,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let configuration = Configuration(
            power: powersOn ? .powerOn : .leave, kernel: kernel, hold: hold, writeCredits: writeCredits,
            sendBuffer: sendBuffer, agent: agent, bonds: bonds, reportMisuse: reportMisuse ?? { misuse($0) },
            showsGenericServices: showsGenericServices)
        return try await $scoped.withValue(configuration, operation: body)
    }

    @TaskLocal private static var scoped: Configuration?
    private struct Choices {
        var base: Configuration?
        var agent: (any PairingAgent)?
        var showsGenericServices = false
    }

    private static let chosen = Locked(Choices())

    /// The configuration of a manager that is created now.
    static var configuration: Configuration {
        if let scoped { return scoped }
        let choices = chosen { $0 }
        var configuration = Configuration(base: choices.base, agent: choices.agent, environment: environment)
        configuration.showsGenericServices = choices.showsGenericServices
        return configuration
    }

    private static let environment = Configuration(
        environment: { name in
            SystemFiles.trustedEnvironment(name) { coreBluetoothLog.logger.warning("\($0)") }
        }, simulation: EnvironmentRadio.kernel)
}

extension CBLinux {
    struct Configuration: Sendable {
        var selector = AdapterSelector.first
        var power = PowerPolicy.powerOn
        /// Nil means the machine's own kernel.
        var kernel: (any AdapterSource)?
        /// Nil means the time of a simulated kernel's radio.
        var hold: (any SimulationHold)?
        /// The error of the environment's selection of an adapter.
        var problem: BluetoothError?
        /// The error of the environment's selection of a pairing agent.
        var pairingProblem: BluetoothError?
        var writeCredits = 64
        var sendBuffer: Int?
        /// Nil means the default, ``UnattendedPairingAgent``.
        var agent: (any PairingAgent)?
        var bonds = BondStorage.standard
        /// Receives the log message when the program releases a peripheral in use.
        var reportMisuse: @Sendable (String) -> Void = { misuse($0) }
        /// Whether peripherals show the services that Apple's systems hide.
        var showsGenericServices = false

        /// Pauses the kernel's time while callbacks are queued.
        var timeHold: (any SimulationHold)? { hold ?? (kernel as? SimulatedKernel)?.radio }

        func makeSource() throws(BluetoothError) -> any AdapterSource {
            if let problem = problem ?? pairingProblem { throw problem }
            return try chosenSource(kernel, .init("use Bluetooth"))
        }
    }
}

extension CBLinux.Configuration {
    /// Combines the program's choices with the environment's for the rest.
    init(base: Self?, agent: (any PairingAgent)?, environment: Self) {
        self = base ?? environment
        self.agent = agent ?? environment.agent
        pairingProblem = agent == nil ? environment.pairingProblem : nil
    }

    /// Reads the environment's choices.
    ///
    /// - Parameters:
    ///   - environment: the value of a variable; nil for none.
    ///   - simulation: the kernel on the simulated radio that the environment chooses; nil for none.
    init(environment: (String) -> String?, simulation: Result<SimulatedKernel?, BluetoothError> = .success(nil)) {
        self.init()
        let operation = BluetoothError.Operation("use Bluetooth")
        if let name = environment("BLUETOOTH_ADAPTER") {
            if let selector = AdapterSelector(name) {
                self.selector = selector
            } else {
                problem = .init(
                    .noAdapter, operation, "BLUETOOTH_ADAPTER is \"\(name)\", which is not an adapter.",
                    remedy: "Use hci0, hci1 … or an adapter's address.")
            }
        }
        if let word = environment("BLUETOOTH_PAIRING") {
            switch word {
            case "terminal": agent = TextPairingAgent(on: Terminal())
            case "accept": agent = JustWorksPairingAgent()
            case "refuse": agent = RefusingPairingAgent()
            default:
                // The value is not logged, as it may be a mistyped secret.
                guard let passkey = Passkey(sixDigits: word) else {
                    pairingProblem = .init(
                        .invalidArgument, operation, "BLUETOOTH_PAIRING is invalid.",
                        remedy: "Use terminal, accept, refuse or a passkey of six digits.")
                    break
                }
                agent = FixedPasskeyAgent(passkey)
            }
        }
        // Reported if it is ignored; `simulation` has it already.
        _ = environment(EnvironmentRadio.variable)
        do throws(BluetoothError) {
            kernel = try simulation.get()
        } catch {
            problem = .init(.noAdapter, operation, error.message, remedy: error.remedy)
        }
    }
}

/// A hold on a simulation's time while callbacks are queued, of which virtual time does not know.
package protocol SimulationHold: Sendable {
    /// Pauses time.
    func pauseTime()
    /// Balances one ``pauseTime()``.
    func resumeTime()
}

extension SimulatedRadio: SimulationHold {}
