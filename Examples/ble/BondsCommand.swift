import ArgumentParser
import BluetoothLE
import ExampleSupport

struct BondsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bonds", abstract: "List, show and remove bonds.",
        discussion: """
            Keys are never printed. Listing and showing require only read access to the files. With CAP_NET_ADMIN, \
            removing a bond deletes the kernel's copy of its keys immediately; without it, the kernel keeps them until \
            a program next loads the bonds.

            EXAMPLES:
              ble bonds
              ble bonds show C0:98:E5:12:34:60
            """,
        subcommands: [List.self, Show.self, Remove.self], defaultSubcommand: List.self)

    @OptionGroup var scoped: ScopedOptions<BondsScope>

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the bonds of the adapters.",
            discussion: """
                EXAMPLES:
                  ble bonds list
                  ble bonds list -i 00:AA:01:00:00:01 --json
                """)

        @OptionGroup var scoped: ScopedOptions<BondsScope>

        func run() async throws {
            let common = scoped.common
            try await common.run("ble bonds list") { console in
                let bonds = try await keptBonds(common)
                if console.isJSON {
                    for (adapter, bond) in bonds { console.result(fields(bond, adapter)) }
                } else if bonds.isEmpty {
                    console.message("No bonds are stored.")
                } else {
                    var table = Table([
                        .init("ADDRESS"), .init("TYPE", omission: 1), .init("NAME"), .init("PAIRED", omission: 3),
                        .init("ADAPTER", omission: 2), .init("PROTECTION", minimum: 10),
                    ])
                    for (adapter, bond) in bonds {
                        table.add([
                            bond.identity.digits, "\(bond.identity.kind)", printable(bond.name ?? ""),
                            console.date(bond.time), adapter.digits, protection(bond),
                        ])
                    }
                    console.result(table)
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the bond with a device, without the keys.",
            discussion: """
                EXAMPLES:
                  ble bonds show C0:98:E5:12:34:60
                """)

        @OptionGroup var scoped: ScopedOptions<BondsScope>

        @Argument(help: "The device's identity address, as shown by ble bonds list.")
        var device: String

        func run() async throws {
            let (common, device) = (scoped.common, device)
            try await common.run("ble bonds show") { console in
                for (adapter, bond) in try await keptBonds(common, with: device) {
                    guard !console.isJSON else {
                        console.result(fields(bond, adapter))
                        continue
                    }
                    for (title, text) in rows(bond, adapter, console) {
                        console.result(title + String(repeating: " ", count: max(1, 15 - title.count)) + text)
                    }
                }
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a device's bond: its keys, subscriptions and cached attributes.",
            discussion: """
                The device keeps its own keys, so remove the bond there as well. Programs that use other bonds \
                (--bonds) keep theirs, and links that are up stay up.

                EXAMPLES:
                  ble bonds remove C0:98:E5:12:34:60
                """)

        @OptionGroup var scoped: ScopedOptions<BondsScope>

        @Argument(help: "The device's identity address, as shown by ble bonds list.")
        var device: String

        func run() async throws {
            let (common, device) = (scoped.common, device)
            try await common.run("ble bonds remove") { console in
                for (adapter, bond) in try await keptBonds(common, with: device) {
                    try await remove(bond, of: adapter, common, console)
                    console.result(
                        "removed", "removed \(bond.identity.digits)",
                        [("address", .string(bond.identity.digits)), ("adapter", .string(adapter.digits))])
                }
            }
        }
    }
}

/// The stored bonds of the adapters that -i selects; an address also selects an adapter that is not plugged in.
private func keptBonds(_ common: CommonOptions) async throws -> [(adapter: BluetoothAddress, bond: Bond)] {
    let selector = common.adapter.flatMap { AdapterSelector($0) }
    var adapters: [BluetoothAddress] = []
    if case .address(let address)? = selector {
        adapters = [address]
    } else {
        let found = try await Adapter.all(bonds: .store(common.bondStore()), on: try common.makeKernel())
        adapters = found.filter { selector?.matches($0) ?? true }.map(\.address)
        guard !adapters.isEmpty else {
            var failure = ProgramError.noAdapter(selector)
            failure.remedy = "Select an adapter that is not plugged in by its address: -i 00:1A:7D:DA:71:13"
            throw failure
        }
    }
    let store = try common.bondStore()
    var all: [(BluetoothAddress, Bond)] = []
    for adapter in adapters {
        for bond in try await store.bonds(of: adapter) { all.append((adapter, bond)) }
    }
    return all
}

/// The stored bonds with a device, at least one.
private func keptBonds(
    _ common: CommonOptions, with device: String
) async throws -> [(adapter: BluetoothAddress, bond: Bond)] {
    guard let address = BluetoothAddress(device, kind: .public) else {
        throw ProgramError(.usage, "'\(printable(device))' is not an address such as C0:98:E5:12:34:60.")
    }
    let bonds = try await keptBonds(common).filter { _, bond in
        bond.identity.value == address.value
            && (common.addressType.kind.map { $0 == bond.identity.kind } ?? true)
    }
    guard !bonds.isEmpty else {
        throw ProgramError(
            .notFound, "There is no bond with \(address.digits).", remedy: "List the bonds with: ble bonds list")
    }
    return bonds
}

/// Removes the bond from the store, and from the kernel if that is possible now.
private func remove(
    _ bond: Bond, of address: BluetoothAddress, _ common: CommonOptions, _ console: Console
) async throws {
    let (store, kernel) = (try common.bondStore(), try common.makeKernel())
    do throws(BluetoothError) {
        let adapter = try await Adapter.open(.address(address), configuration: .init(bonds: .store(store)), on: kernel)
        try await adapter.removeBond(with: bond.identity)
        await adapter.close()
    } catch {
        // Otherwise the kernel keeps the keys until those of other bonds replace them.
        let unreached: [BluetoothError.Code] = [
            .adapterOff, .adapterBlocked, .noAdapter, .notPermitted, .noBluetooth,
        ]
        guard unreached.contains(error.code) else { throw error }
        try await store.removeBond(with: bond.identity, of: address)
        console.detail("the kernel keeps the keys for now: \(error)")
    }
}

private func protection(_ bond: Bond) -> String {
    (bond.usesSecureConnections ? "Secure Connections" : "legacy")
        + (bond.isAuthenticated ? ", authenticated" : ", not authenticated")
}

private func rows(_ bond: Bond, _ adapter: BluetoothAddress, _ console: Console) -> [(String, String)] {
    var rows = [
        ("device", "\(bond.identity.digits) (\(bond.identity.kind))"), ("name", printable(bond.name ?? "-")),
        ("adapter", adapter.digits), ("paired", console.date(bond.time)), ("protection", protection(bond)),
        ("key size", bond.encryptionKeySize.map { "\($0) bytes" } ?? "no key"),
        ("addresses", bond.identityResolvingKey == nil ? "identity address only" : "private addresses are resolved"),
    ]
    for subscription in bond.client?.subscriptions ?? [] {
        rows.append(
            ("subscribed", "\(subscription.characteristic) \(subscription.type), \(subscription.configuration)"))
    }
    return rows
}

private func fields(_ bond: Bond, _ adapter: BluetoothAddress) -> [(String, JSONValue)] {
    [
        ("event", .string("bond")), ("address", .string(bond.identity.digits)),
        ("addressType", .string("\(bond.identity.kind)")), ("name", JSONValue(bond.name)),
        ("adapter", .string(adapter.digits)), ("paired", .string(timestamp(of: bond.time))),
        ("secureConnections", .bool(bond.usesSecureConnections)), ("authenticated", .bool(bond.isAuthenticated)),
        ("keySize", JSONValue(bond.encryptionKeySize)), ("resolvesAddresses", .bool(bond.identityResolvingKey != nil)),
        ("subscriptions", .array((bond.client?.subscriptions ?? []).map { .integer(Int($0.characteristic.rawValue)) })),
    ]
}
