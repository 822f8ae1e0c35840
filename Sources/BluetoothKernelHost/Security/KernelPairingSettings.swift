import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

/// The pairing settings that the kernel should have, how far it has them, and the command it must be sent next.
///
/// One command is outstanding at a time. A settings change while commands are being sent begins anew after the
/// outstanding one, so the kernel never keeps a mixture.
package struct KernelPairingSettings: Hashable {
    package enum State: Hashable {
        /// The kernel was sent none, and needs them for the first pairing.
        case unsent
        /// A command is outstanding, and `rest` follows it.
        case sending(PairingSettings, rest: [ManagementCommand])
        /// A command is outstanding, but the adapter it was for is gone.
        case draining(thenSend: Bool)
        /// The kernel has these.
        case applied(PairingSettings)
        /// The kernel has only a part of them, or none as it has lost the adapter: they are sent whenever the adapter
        /// changes, as the devices begin pairings too.
        case lost
    }

    package enum Action: Hashable {
        /// To be answered by ``answered(_:for:)``.
        case send(ManagementCommand)
        /// Resumes those who wait for the kernel to have the settings.
        case finish(BluetoothError?)
    }

    package var wanted = PairingSettings()
    package private(set) var state = State.unsent

    /// Whether the kernel has what it should have.
    package var isApplied: Bool { state == .applied(wanted) }

    /// Has the kernel get the settings, also if it has them where another program may have changed them; what is being
    /// sent already is not sent twice.
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

    /// Sends again what the kernel had and has no more.
    package mutating func resend(for adapter: AdapterInformation) -> Action? {
        if case .unsent = state { nil } else { send(again: false, for: adapter) }
    }

    /// Records how the kernel answered the outstanding command.
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

    /// Records that the adapter is gone, and with it what its kernel was sent.
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
    /// What tells the kernel so. LE-only adapters have no Secure Simple Pairing, and dual-mode ones need it.
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
