import ArgumentParser
import BluetoothLE

/// A security level as given on the command line.
public enum SecurityOption: String, ExpressibleByArgument, CaseIterable, Comparable, Sendable {
    /// Not encrypted.
    case low
    /// Encrypted, with an unauthenticated peer.
    case encrypted
    /// Encrypted and authenticated, by numeric comparison or passkey.
    case authenticated
    /// Authenticated, with LE Secure Connections.
    case secureConnections = "secure-connections"

    /// Whether `left` is the lower level.
    public static func < (left: SecurityOption, right: SecurityOption) -> Bool { left.level < right.level }

    /// The library's security level.
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
    /// The passkey from the command line; nil without the option.
    /// - Throws: ``ProgramError``; its message does not contain the passkey.
    public func pairingPasskey() async throws -> Passkey? {
        guard let passkey else { return nil }
        if let passkey = Passkey(sixDigits: passkey) { return passkey }
        let bytes = try await SecretArgument.contents(of: passkey, "--passkey takes six digits")
        guard let found = SecretArgument.text(bytes).flatMap({ Passkey(sixDigits: $0) }) else {
            let source = passkey == "-" ? "Standard input" : printable(passkey)
            throw ProgramError(.badData, "\(source) is not a passkey, which has six digits.")
        }
        return found
    }

    /// The pairing agent: it uses the passkey from the command line, else asks at the terminal; nil without either.
    public func pairingAgent(_ console: Console) async throws -> (any PairingAgent)? {
        if let passkey = try await pairingPasskey() {
            return FixedPasskeyAgent(passkey, acceptsJustWorks: acceptsJustWorks)
        }
        guard Self.hasTerminal else { return nil }
        if let terminal = console.terminal {
            return TextPairingAgent(show: console.message) { question in
                guard case .line(let answer) = await terminal.readLine(question + " ", for: .answer) else { return nil }
                return answer
            }
        }
        let input = StandardInput()
        return TextPairingAgent(show: console.message) { question in
            // Discard keys typed before the question. Input from a pipe is an answer.
            if Self.hasTerminal { tcflush(STDIN_FILENO, TCIFLUSH) }
            console.message(question)
            return await input.next().map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Whether there is a user at a terminal to ask.
    public static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Sets the adapter's pairing agent if the command line requests protection, or if a user can be asked when a device
    /// refuses an unprotected request.
    public func preparePairing(on adapter: Adapter, _ console: Console, always: Bool = false) async throws {
        let isWanted = always || asksForProtection
        guard isWanted || Self.hasTerminal && asksToPair else { return }
        let agent = try await pairingAgent(console)
        do throws(BluetoothError) {
            try await adapter.setPairingAgent(agent)
        } catch {
            // Without the capability, or while bluetoothd owns pairing, everything else works.
            guard !isWanted, error.code != .cancelled else { throw error }
            console.detail("pairing questions are off: \(error.message)")
        }
    }

    /// As ``preparePairing(on:_:always:)-(Adapter,_,_)``, on each adapter.
    func preparePairing(on radio: ChosenRadio, _ console: Console, always: Bool = false) async throws {
        for adapter in await radio.allAdapters { try await preparePairing(on: adapter, console, always: always) }
    }

    /// Stops asking about pairing unless the command line requests protection: standard input is the program's again.
    public func endAskingToPair(on radio: ChosenRadio) async {
        guard !asksForProtection, Self.hasTerminal else { return }
        for adapter in await radio.allAdapters { try? await adapter.setPairingAgent(nil) }
    }

    private var asksForProtection: Bool { passkey != nil || (security ?? .low) != .low }

    /// Runs `body`, whose error names the command that pairs as ``namingPairing(_:on:)`` does.
    nonisolated(nonsending) func namingPairing<Value>(
        on connection: Connection? = nil, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        do { return try await body() } catch { throw await namingPairing(error, on: connection) }
    }

    /// The error with the command that pairs, if the device refused a request because the link is not protected, or with
    /// what authenticates it.
    /// - Parameter connection: the link, if there was one: refused although encrypted, a request needs authentication.
    public func namingPairing(_ error: any Error, on connection: Connection? = nil) async -> any Error {
        guard var error = error as? BluetoothError else { return error }
        if passkey == nil, error.pairingFailure == .insufficientLevel {
            error.remedy =
                Self.hasTerminal
                ? "A device that can neither show nor enter a number cannot be authenticated; without that: --security encrypted"
                : "Authentication needs a number, and nobody can enter or compare one here: run this command in a terminal, "
                    + "or give the passkey that the device shows with --passkey."
            return error
        }
        if passkey != nil, !acceptsJustWorks, let failure = error.pairingFailure,
            [.rejected, .notConfirmed, .insufficientLevel].contains(failure)
        {
            error.remedy = """
                Is it in its pairing mode? With --passkey a device must show a number, or have the passkey printed on it.
                If it cannot show one, pair without authentication: --just-works
                """
            return error
        }
        guard let peer = error.peer else { return error }
        let isEncrypted = (try? await connection?.security().level).map { $0 > .low } ?? false
        var level: SecurityOption?
        switch error.cause {
        case .attribute(.insufficientEncryption), .attribute(.insufficientEncryptionKeySize): level = .encrypted
        case .attribute(.insufficientAuthentication): level = isEncrypted ? .authenticated : .encrypted
        default: break
        }
        guard let level else { return error }
        let option = ["--security", level.rawValue]
        if !isStep, simulate || world != nil || (try? makeKernel()) != nil {
            // A simulated device loses its bonds with the process.
            var words = CommandLine.arguments
            words.insert(contentsOf: option, at: words.firstIndex(of: "--") ?? words.endIndex)
            // A key is not repeated.
            error.remedy = "Pair from this command: " + Self.quoted(identified.irk == nil ? words : option)
            return error
        }
        // Pairing stays with an adapter: of several, the one that has the link.
        error.remedy =
            (isStep ? "Pair with the step: " : "Pair with: ")
            + command("pair", on: peer, by: await connection?.adapterName, level > .encrypted ? option : [])
        if !isStep { error.remedy? += "\nOr pair from this command with: " + Self.quoted(option) }
        return error
    }

    /// A command of `ble` on a device, with the options that lead to it, ready to be copied; or the step of that name.
    /// - Parameter link: the adapter that has the link, for which one of several is chosen.
    func command(_ name: String, on peer: BluetoothAddress, by link: String?, _ options: [String] = []) -> String {
        guard !isStep else { return Self.quoted([name] + options) }
        var words = ["ble", name]
        if simulate { words.append("--simulate") }
        if let world { words += ["--world", world] }
        if let only = usesSeveralAdapters ? link : adapter { words += ["-i", only] }
        if let bonds { words += ["--bonds", bonds] }
        if let name = self.name {
            words += ["-n", name]
        } else if !simulate || address != nil {
            words += ["-a", peer.digits, "--address-type", "\(peer.kind)"]
        }
        if coded { words.append("--coded") }
        return Self.quoted(words + options)
    }

    private static func quoted(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    /// The word, quoted for a shell if necessary.
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
