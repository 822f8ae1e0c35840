import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

/// The pairing settings that the kernel should have, the state of their transfer, and the next command to send.
///
/// One command is outstanding at a time. If the settings change meanwhile, sending starts again after the outstanding
/// one, so that the kernel never keeps a mixture.
package struct KernelPairingSettings: Hashable {
    package enum State: Hashable {
        /// Nothing was sent; the kernel needs the settings for the first pairing.
        case unsent
        /// A command is outstanding, and `rest` follows it.
        case sending(PairingSettings, rest: [ManagementCommand])
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
        case send(ManagementCommand)
        /// Resumes the callers that wait for the kernel to have the settings.
        case finish(BluetoothError?)
    }

    package var wanted = PairingSettings()
    package private(set) var state = State.unsent

    /// Whether the kernel has the current settings.
    package var isApplied: Bool { state == .applied(wanted) }

    /// Starts sending the settings, also if the kernel has them but another program may have changed them; a transfer
    /// in progress is not repeated.
    package mutating func send(again: Bool, for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .lost: return begin(adapter)
        case .applied(let settings): return again || settings != wanted ? begin(adapter) : nil
        case .sending: return nil
        case .draining:
            state = .draining(thenSend: true)
            return nil
        }
    }

    /// Sends the settings again that the kernel had and has lost.
    package mutating func resend(for adapter: AdapterInformation) -> Action? {
        if case .unsent = state { nil } else { send(again: false, for: adapter) }
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
        var commands = wanted.commands(for: adapter)
        let first = commands.removeFirst()
        state = .sending(wanted, rest: commands)
        return .send(first)
    }
}

extension PairingSettings {
    /// The commands that apply the settings. LE-only adapters have no Secure Simple Pairing, and dual-mode ones need
    /// it.
    package func commands(for adapter: AdapterInformation) -> [ManagementCommand] {
        var commands: [ManagementCommand] = [.setBondable(isBondable)]
        if adapter.supportedSettings.contains(.secureSimplePairing), adapter.currentSettings.contains(.brEDR) {
            commands.append(.setSecureSimplePairing(true))
        }
        if adapter.supportedSettings.contains(.secureConnections) || secureConnections == .only {
            commands.append(.setSecureConnections(secureConnections))
        }
        return commands + [.setIOCapability(ioCapability)]
    }
}
