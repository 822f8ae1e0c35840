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

    /// Sets the adapter's agent: where the command line asks for protection, and where a user can be asked when a device
    /// refuses what is not protected.
    public func preparePairing(on adapter: Adapter, _ console: Console, always: Bool = false) async throws {
        let isWanted = always || asksForProtection
        guard isWanted || Self.hasTerminal else { return }
        do throws(BluetoothError) {
            try await adapter.setPairingAgent(pairingAgent(console))
        } catch {
            // Without the capability, or while BlueZ's daemon pairs, all else works.
            guard !isWanted, error.code != .cancelled else { throw error }
            console.detail("nobody will be asked about pairing: \(error.message)")
        }
    }

    /// Has nobody asked any more where protection was not asked for: what is typed belongs to the program then.
    func endAskingToPair(on adapter: Adapter) async {
        guard !asksForProtection, Self.hasTerminal else { return }
        try? await adapter.setPairingAgent(nil)
    }

    private var asksForProtection: Bool { passkey != nil || (security ?? .low) != .low }

    /// The error of what a device has refused because the link is not protected, with the command that pairs.
    /// - Parameter connection: the link, where there was one: what was encrypted when it was refused is to be authenticated.
    func namingPairing(_ error: any Error, on connection: Connection? = nil) async -> any Error {
        guard var error = error as? BluetoothError, let peer = error.peer else { return error }
        let isEncrypted = (try? await connection?.security().level).map { $0 > .low } ?? false
        var level: SecurityOption?
        switch error.cause {
        case .attribute(.insufficientEncryption), .attribute(.insufficientEncryptionKeySize): level = .encrypted
        case .attribute(.insufficientAuthentication): level = isEncrypted ? .authenticated : .encrypted
        default: break
        }
        guard let level else { return error }
        var words = ["ble", "pair"]
        if simulate { words.append("--simulate") }
        if let adapter { words += ["-i", adapter] }
        if let bonds { words += ["--bonds", bonds] }
        if let name {
            words += ["-n", name]
        } else {
            words += ["-a", "\(peer)", "--address-type", "\(peer.kind)"]
        }
        if level > .encrypted { words += ["--security", level.rawValue] }
        let command = words.map(Self.quoted).joined(separator: " ")
        error.remedy = """
            Pair with it once: \(command)
            Or have this command do it: --security \(level.rawValue)
            """
        return error
    }

    /// A word as a shell reads it.
    private static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:".utf8.contains(byte)
            }
        }
        return plain && !word.isEmpty ? word : "'" + printable(word).replacing("'", with: #"'\''"#) + "'"
    }
}
