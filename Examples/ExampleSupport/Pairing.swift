import ArgumentParser
import BluetoothLE
import Glibc

/// How well a link has to be protected, in the words of the command line.
public enum SecurityOption: String, ExpressibleByArgument, CaseIterable, Comparable, Sendable {
    /// Not encrypted.
    case low
    /// Encrypted, whoever is at the other end.
    case encrypted
    /// Encrypted, after numbers were compared or entered.
    case authenticated
    /// As authenticated, with LE Secure Connections.
    case secureConnections = "secure-connections"

    /// Whether `left` asks for less than `right`.
    public static func < (left: SecurityOption, right: SecurityOption) -> Bool { left.level < right.level }

    /// The level of the link.
    public var level: SecurityLevel {
        switch self {
        case .low: .low
        case .encrypted: .medium
        case .authenticated: .high
        case .secureConnections: .fips
        }
    }
}

extension CommonOptions {
    /// Who answers what pairing asks: the passkey from the command line, the user at the terminal, or nobody.
    public func pairingAgent(_ console: Console) -> (any PairingAgent)? {
        if let passkey, let passkey = Passkey(digits: passkey) {
            return FixedPasskeyAgent(passkey, acceptsJustWorks: true)
        }
        return isatty(STDIN_FILENO) == 1 ? TerminalPairingAgent(console) : nil
    }

    /// Sets the adapter's agent where the command line asks for protection.
    public func preparePairing(on adapter: Adapter, _ console: Console, always: Bool = false) async throws {
        guard always || passkey != nil || (security ?? .low) != .low else { return }
        try await adapter.setPairingAgent(pairingAgent(console))
    }
}

/// Shows numbers on the terminal, and has the user compare and enter them.
public actor TerminalPairingAgent: PairingAgent {
    /// Everything can be seen and entered.
    public nonisolated var ioCapability: IOCapability { .keyboardDisplay }

    private let console: Console
    private let input = StandardInput()

    /// An agent that asks on standard error and reads standard input.
    public init(_ console: Console) {
        self.console = console
    }

    /// Asks whether to pair at all.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        await confirm("Pair with \(request.peer)?")
    }

    /// Asks whether the device shows the same number.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        await confirm("Does \(request.peer) show \(number.digits)?")
    }

    /// Asks for the number that the device shows.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        await answer(to: "The number that \(request.peer) shows:").flatMap { Passkey(digits: $0) }
    }

    /// Shows the number to be entered at the device.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        console.message("Enter \(passkey.digits) at \(request.peer).")
    }

    private func confirm(_ question: String) async -> Bool {
        await answer(to: question + " [y/N]").map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    private func answer(to question: String) async -> String? {
        console.message(question)
        guard let bytes = await input.next() else { return nil }
        return String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
    }
}
