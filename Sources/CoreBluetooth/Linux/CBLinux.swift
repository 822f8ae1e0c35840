public import BluetoothSockets
public import BluetoothLE
import BluetoothKernelHost
import Synchronization

/// What is beneath Core Bluetooth on Linux. Nothing here exists on Apple's systems, and no program needs it.
///
/// Without a word all managers use the first adapter of the machine that works, and switch it on if it is off. Without
/// touching the program, the environment chooses: `BLUETOOTH_ADAPTER=hci1`, or an adapter's address, names the adapter;
/// `BLUETOOTH_SIMULATION=FILE` puts the program on a simulated radio with the devices that the file describes, see
/// Docs/Guide/PortingCoreBluetooth.md; `BLUETOOTH_PAIRING` says who answers what pairing asks, see
/// ``use(pairingAgent:)``. A program that calls one of these functions has the last word; it counts for managers that are
/// created afterwards.
public enum CBLinux {
    /// Has managers use an adapter of this machine.
    /// - Parameters:
    ///   - adapter: `hci1`, `1` or an address; anything else stops the program.
    ///   - powersOn: whether an adapter that is off is switched on, which needs CAP_NET_ADMIN.
    public static func use(adapter: String, powersOn: Bool = true) {
        guard let selector = AdapterSelector(adapter) else {
            preconditionFailure("\"\(adapter)\" is neither an adapter's name nor an address.")
        }
        choose(Configuration(selector: selector, power: powersOn ? .powerOn : .leave))
    }

    /// Has managers use a kernel of the program's own, such as a simulated one.
    /// - Parameters:
    ///   - kernel: whose adapters.
    ///   - powersOn: whether an adapter that is off is switched on.
    public static func use(kernel: any BluetoothKernel, powersOn: Bool = true) {
        choose(Configuration(power: powersOn ? .powerOn : .leave, kernel: kernel))
    }

    private static func choose(_ configuration: Configuration) {
        let former = chosen.withLock { chosen in
            defer { chosen.base = configuration }
            return chosen.base
        }
        // The program's kernel is released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Has an agent answer what pairing asks, in place of the system's dialogs on Apple's systems. It holds for the managers
    /// of an adapter whose first is created afterwards.
    ///
    /// In place of this call the environment can say `BLUETOOTH_PAIRING=terminal` (the user is asked on standard error and
    /// answers on standard input), a passkey of six digits (which is entered; who has none to show is accepted),
    /// `accept` (everybody, without making sure who it is) or `refuse` (nobody who begins a pairing).
    ///
    /// Without either, nothing is asked: what this program reads, writes or subscribes to is paired for where that takes no
    /// user (Just Works), a peripheral that it has connected to may begin that as well, and centrals that want to pair with
    /// a `CBPeripheralManager` are refused, which is logged. Needs CAP_NET_ADMIN; while BlueZ's daemon runs, pairing is the
    /// daemon's.
    /// - Parameter pairingAgent: who answers, such as a `JustWorksPairingAgent` or a `FixedPasskeyAgent` of BluetoothLE.
    public static func use(pairingAgent: any PairingAgent) {
        let former = chosen.withLock { chosen in
            defer { chosen.agent = pairingAgent }
            return chosen.agent
        }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Whether peripherals show their services Generic Access and Generic Attribute (1800 and 1801), which Apple's systems
    /// hide; false by default. Applies to managers that are created afterwards.
    public static var showsGenericServices: Bool {
        get { chosen.withLock { $0.showsGenericServices } }
        set { chosen.withLock { $0.showsGenericServices = newValue } }
    }

    /// Has the managers that `body` creates use a simulated kernel.
    /// - Parameters:
    ///   - kernel: whose adapters.
    ///   - powersOn: whether an adapter that is off is switched on.
    ///   - hold: holds the kernel's time while callbacks are on their way.
    ///   - writeCredits: how many writes without response a program makes before it has to wait.
    ///   - sendBuffer: the send buffer of connections in bytes; nil leaves the kernel's choice.
    ///   - agent: who answers what pairing asks.
    ///   - bonds: where bonds are kept.
    ///   - reportMisuse: receives the log message when the program releases a peripheral in use.
    ///   - showsGenericServices: see ``showsGenericServices``.
    ///   - body: the story.
    package static func withKernel<Result: Sendable>(
        _ kernel: any BluetoothKernel, powersOn: Bool = true, hold: (any SimulationHold)?, writeCredits: Int = 64,
        sendBuffer: Int? = nil, agent: (any PairingAgent)? = nil, bonds: BondKeeping = .standard,
        reportMisuse: (@Sendable (String) -> Void)? = nil, showsGenericServices: Bool = false,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let configuration = Configuration(
            power: powersOn ? .powerOn : .leave, kernel: kernel, hold: hold, writeCredits: writeCredits,
            sendBuffer: sendBuffer, agent: agent, bonds: bonds, reportMisuse: reportMisuse ?? misuse,
            showsGenericServices: showsGenericServices)
        return try await $scoped.withValue(configuration, operation: body)
    }

    @TaskLocal private static var scoped: Configuration?
    private struct Choices {
        var base: Configuration?
        var agent: (any PairingAgent)?
        var showsGenericServices = false
    }

    private static let chosen = Mutex(Choices())

    /// What a manager that is created now has beneath it.
    static var configuration: Configuration {
        if let scoped { return scoped }
        let choices = chosen.withLock { $0 }
        var configuration = Configuration(base: choices.base, agent: choices.agent, environment: environment)
        configuration.showsGenericServices = choices.showsGenericServices
        return configuration
    }

    private static let environment = Configuration(environment: ProcessInfo.processInfo.environment)
}

extension CBLinux {
    struct Configuration: Sendable {
        var selector = AdapterSelector.first
        var power = PowerPolicy.powerOn
        /// Nil is the machine's own.
        var kernel: (any BluetoothKernel)?
        var hold: (any SimulationHold)?
        /// Why what the environment asks for cannot be had.
        var problem: BluetoothError?
        /// Why who the environment has answer what pairing asks cannot be had.
        var pairingProblem: BluetoothError?
        var writeCredits = 64
        var sendBuffer: Int?
        /// Nil is the usual one, ``UnattendedPairingAgent``.
        var agent: (any PairingAgent)?
        var bonds = BondKeeping.standard
        /// Receives what is logged when the program lets go of a peripheral in use.
        var reportMisuse: @Sendable (String) -> Void = misuse
        /// Whether peripherals show the services that Apple's systems keep to themselves.
        var showsGenericServices = false

        func makeKernel() throws(BluetoothError) -> any BluetoothKernel {
            if let problem = problem ?? pairingProblem { throw problem }
            return try chosenKernel(kernel, .init("use Bluetooth"))
        }
    }
}

extension CBLinux.Configuration {
    /// What the program has chosen, and what the environment says where it has not.
    init(base: Self?, agent: (any PairingAgent)?, environment: Self) {
        self = base ?? environment
        self.agent = agent ?? environment.agent
        pairingProblem = agent == nil ? environment.pairingProblem : nil
    }

    /// What the environment says.
    init(environment: [String: String]) {
        self.init()
        let operation = BluetoothError.Operation("use Bluetooth")
        if let name = environment["BLUETOOTH_ADAPTER"], !name.isEmpty {
            if let selector = AdapterSelector(name) {
                self.selector = selector
            } else {
                problem = .init(
                    .noAdapter, operation, "BLUETOOTH_ADAPTER is \"\(name)\", which is no adapter.",
                    remedy: "Use hci0, hci1 … or an adapter's address.")
            }
        }
        if let word = environment["BLUETOOTH_PAIRING"], !word.isEmpty {
            switch word {
            case "terminal": agent = TextPairingAgent(on: Terminal())
            case "accept": agent = JustWorksPairingAgent()
            case "refuse": agent = RefusingPairingAgent()
            default:
                // Never said aloud, as it may be a secret with a slip in it.
                guard let passkey = Passkey(digits: word) else {
                    pairingProblem = .init(
                        .invalidArgument, operation, "BLUETOOTH_PAIRING makes no sense.",
                        remedy: "It is terminal, accept, refuse or a passkey of six digits.")
                    break
                }
                agent = FixedPasskeyAgent(passkey, acceptsJustWorks: true)
            }
        }
        if let path = environment["BLUETOOTH_SIMULATION"], !path.isEmpty {
            do {
                kernel = try SimulatedWorld(contentsOf: path).makeKernel()
            } catch {
                problem = .init(.noAdapter, operation, "BLUETOOTH_SIMULATION=\(path) cannot be used: \(error)")
            }
        }
    }
}

/// Holds a simulation's time while callbacks are on their way, which virtual time cannot see.
package protocol SimulationHold: Sendable {
    /// Time stands still from now on.
    func begin()
    /// Takes back one ``begin()``.
    func end()
}
