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
    /// - Parameter acceptsJustWorks: whether the passkey lets in devices that can neither show nor enter it.
    public func pairingAgent(_ console: Console, acceptsJustWorks: Bool = true) -> (any PairingAgent)? {
        if let passkey, let passkey = Passkey(digits: passkey) {
            return FixedPasskeyAgent(passkey, acceptsJustWorks: acceptsJustWorks)
        }
        guard Self.hasTerminal else { return nil }
        let input = StandardInput()
        return TextPairingAgent(show: console.message) { question in
            // What was typed before is no answer to it. What comes through a pipe is.
            if Self.hasTerminal { tcflush(STDIN_FILENO, TCIFLUSH) }
            console.message(question)
            return await input.next().map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Whether there is a user to be asked.
    public static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Sets the adapter's agent where the command line asks for protection.
    public func preparePairing(on adapter: Adapter, _ console: Console, always: Bool = false) async throws {
        guard always || passkey != nil || (security ?? .low) != .low else { return }
        try await adapter.setPairingAgent(pairingAgent(console))
    }
}
