import ArgumentParser
import BluetoothLE
import ExampleSupport

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with a device.",
        discussion: """
            Asks on the terminal whether the numbers match (numeric comparison), or for the passkey that the device shows. \
            --passkey gives the passkey; without it and without a terminal, only Just Works is possible.

            Needs CAP_NET_ADMIN. BlueZ's daemon must not run, since it owns pairing while it does.

            EXAMPLES:
              ble pair -n Pulse-Z1
              ble pair C0:98:E5:12:34:58 --security authenticated --passkey 123456
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The device's address, like -a.")
    var device: String?

    func run() async throws {
        let (common, device) = (common, device)
        try await common.run("ble pair") { console in
            let chosen = try common.naming(device)
            try chosen.validateDevice()
            if chosen.security == .low {
                throw ProgramError(
                    .usage, "Pairing protects the link: --security is encrypted, authenticated or secure-connections.")
            }
            try await chosen.withConnection(console, isPairing: true) { connection in
                let level = (chosen.security ?? .encrypted).level
                let outcome = try await pair(connection, to: level, chosen, console)
                // What it is called is kept with the bond.
                if outcome.isBonded { _ = try? await connection.readValues(of: .deviceName, timeout: .seconds(5)) }
                console.show(outcome, with: connection.peer)
            }
        }
    }
}

/// Pairs; where numbers are wanted and there is nobody to enter or compare them, the error says how there would be.
private func pair(
    _ connection: Connection, to level: SecurityLevel, _ options: CommonOptions, _ console: Console
) async throws -> PairingOutcome {
    do throws(BluetoothError) {
        return try await connection.pair(to: level, timeout: options.timeout(or: .seconds(60)))
    } catch {
        guard error.pairingFailure == .insufficientLevel, options.pairingAgent(console) == nil else { throw error }
        var error = error
        error.remedy = "Run it in a terminal, or give the number that the device shows with --passkey."
        throw error
    }
}

extension CommonOptions {
    /// The options with the device that was given beside them.
    fileprivate func naming(_ device: String?) throws -> CommonOptions {
        guard let device else { return self }
        guard address == nil, name == nil else { throw ProgramError(.usage, "Give the device once.") }
        guard BluetoothAddress(device) != nil else {
            throw ProgramError(.usage, "'\(device)' is no address.", remedy: "A name goes with -n.")
        }
        var common = self
        common.address = device
        return common
    }
}

extension Console {
    fileprivate func show(_ outcome: PairingOutcome, with peer: BluetoothAddress) {
        let security = outcome.security
        guard isJSON else {
            return result("paired with \(peer): \(security), \(outcome.isBonded ? "bonded" : "not bonded")")
        }
        result([
            ("event", .string("paired")), ("addr", .string("\(peer)")),
            ("addrType", .string("\(peer.kind)")),
            ("security", .string("\(security.level)")), ("keySize", .integer(Int(security.keySize))),
            ("bonded", .bool(outcome.isBonded)),
        ])
    }
}
