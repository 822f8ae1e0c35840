import BluetoothHost
import BluetoothManagement
import BluetoothPrimitives

/// The pairing settings that the kernel should have, the state of their transfer, and the next command to send.
///
/// One command is outstanding at a time. If the settings change meanwhile, sending starts again after the outstanding
/// one, so that the kernel never keeps a mixture.
package struct KernelPairingSettings: Hashable {
    package enum State: Hashable {
        /// Nothing was sent; the kernel needs the settings for the first pairing.
        case unsent
        /// A command is outstanding, and `rest` follows it.
        case sending(PairingSettings, rest: [AnyManagementCommand])
        /// A command is outstanding, but the adapter it was for is gone.
        case draining(thenSend: Bool)
        /// The kernel has these settings.
        case applied(PairingSettings)
        /// The kernel has only a part of them, or lost them with the adapter: they are sent at each change of the
        /// adapter, since peers initiate pairings too.
        case lost
    }

    package enum Action: Hashable {
        /// To be answered by ``answered(_:for:)``.
        case send(AnyManagementCommand)
        /// Resumes the callers that wait for the kernel to have the settings.
        case finish(BluetoothError?)
    }

    package var wanted = PairingSettings()
    package private(set) var state = State.unsent
    /// The commands that restore what was in force before, by opcode.
    private var former: [ManagementOpcode: AnyManagementCommand] = [:]
    /// Whether Secure Connections were made exclusive, which cannot be read.
    private var isExclusive = false
    /// The number of restoring commands without an answer: until then the adapter's settings are not those in force.
    private var restoring = 0

    /// Whether the kernel has the current settings.
    package var isApplied: Bool { state == .applied(wanted) }

    /// Starts sending the settings, also if the kernel has had them, since other programs change them; a transfer in
    /// progress is not repeated.
    package mutating func send(for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .lost, .applied: return begin(adapter)
        case .sending: return nil
        case .draining:
            state = .draining(thenSend: true)
            return nil
        }
    }

    /// Sends the settings again that the kernel had and has lost.
    package mutating func resend(for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .sending: nil
        case .applied(let settings): settings != wanted ? begin(adapter) : nil
        case .draining, .lost: send(for: adapter)
        }
    }

    /// Ends the use of the settings, unless somebody waits for them; returns the commands that restore the former ones, as
    /// far as no other program has changed them since.
    ///
    /// - Parameter isLast: whether no caller waits any longer.
    package mutating func release(for adapter: AdapterInformation, isLast: Bool) -> [AnyManagementCommand] {
        let isSending: Bool
        switch state {
        case .sending, .draining: isSending = true
        case .unsent, .applied, .lost: isSending = false
        }
        if isSending, !isLast { return [] }
        state = isSending ? .draining(thenSend: false) : .unsent
        let commands = former.values.filter { isSending || isNeeded($0, on: adapter) }
        (former, isExclusive) = ([:], false)
        restoring += commands.count
        return commands
    }

    /// Records the answer to a restoring command.
    package mutating func restored() { restoring -= 1 }

    private func isNeeded(_ command: AnyManagementCommand, on adapter: AdapterInformation) -> Bool {
        command.isNeeded(on: adapter) || restoring > 0 || isExclusive && command.opcode == .setSecureConnections
    }

    /// Records the kernel's answer to the outstanding command.
    package mutating func answered(_ error: BluetoothError?, for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .applied, .lost: return nil
        case .draining(thenSend: true): return begin(adapter)
        case .draining(thenSend: false):
            state = .lost
            return nil
        case .sending(let settings, var rest):
            guard settings == wanted else { return begin(adapter) }
            if let error {
                state = .lost
                return .finish(error)
            }
            guard !rest.isEmpty else {
                state = .applied(settings)
                return .finish(nil)
            }
            let next = rest.removeFirst()
            state = .sending(settings, rest: rest)
            return .send(next)
        }
    }

    /// Records that the adapter is gone, and its settings in the kernel with it.
    package mutating func adapterLost(_ reason: BluetoothError) -> Action? {
        former = [:]
        switch state {
        case .unsent, .lost: return nil
        case .applied:
            state = .lost
            return nil
        case .sending, .draining:
            state = .draining(thenSend: false)
            return .finish(reason)
        }
    }

    private mutating func begin(_ adapter: AdapterInformation) -> Action {
        var commands = wanted.commands(for: adapter).filter { isNeeded($0, on: adapter) }
        if wanted.secureConnections == .only { isExclusive = true }
        for command in commands where former[command.opcode] == nil {
            former[command.opcode] = command.opposite(on: adapter)
        }
        let first = commands.removeFirst()
        state = .sending(wanted, rest: commands)
        return .send(first)
    }
}

extension PairingSettings {
    /// The commands that apply the settings, of which the last is always needed: it cannot be read. LE-only adapters have no
    /// Secure Simple Pairing, and dual-mode ones need it.
    package func commands(for adapter: AdapterInformation) -> [AnyManagementCommand] {
        var commands: [AnyManagementCommand] = [.init(ManagementSetBondable(isBondable))]
        if adapter.supportedFeatures.contains(.secureSimplePairing), adapter.activeFeatures.contains(.brEDR) {
            commands.append(.init(ManagementSetSecureSimplePairing(true)))
        }
        if adapter.supportedFeatures.contains(.secureConnections) || secureConnections == .only {
            commands.append(.init(ManagementSetSecureConnections(secureConnections)))
        }
        return commands + [.init(ManagementSetIOCapability(ioCapability))]
    }
}

extension AnyManagementCommand {
    /// Whether the command changes a setting of the adapter, as far as it can be read: who wants Secure Connections leaves
    /// them exclusive.
    fileprivate func isNeeded(on adapter: AdapterInformation) -> Bool {
        let now = adapter.activeFeatures
        return switch base {
        case let command as ManagementSetBondable: now.contains(.bondable) != command.value
        case let command as ManagementSetSecureSimplePairing: now.contains(.secureSimplePairing) != command.value
        case let command as ManagementSetSecureConnections:
            command.value == .only || now.contains(.secureConnections) != (command.value == .on)
        default: true
        }
    }

    /// The command that restores what this one replaces; nil if nothing is to be restored.
    fileprivate func opposite(on adapter: AdapterInformation) -> AnyManagementCommand? {
        switch base {
        case let command as ManagementSetBondable: .init(ManagementSetBondable(!command.value))
        case is ManagementSetSecureConnections:
            .init(
                ManagementSetSecureConnections(adapter.activeFeatures.contains(.secureConnections) ? .on : .off))
        // The kernel's default.
        case let command as ManagementSetIOCapability where command.value != .noInputNoOutput:
            .init(ManagementSetIOCapability(.noInputNoOutput))
        default: nil
        }
    }
}
