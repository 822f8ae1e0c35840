import ArgumentParser
import BluetoothLE
import BluetoothSimulation
import ExampleSupport

struct AdaptersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapters", abstract: "List the Bluetooth adapters, or watch them change.",
        discussion: """
            Needs no privilege, and changes nothing. Prints the number of links, and the number of advertising sets in \
            use, which needs CAP_NET_ADMIN. With --watch, prints a line for each adapter that is added, removed or \
            changed, until Ctrl-C or for the time of --for. Exits with 69 if there is none.

            EXAMPLES:
              ble adapters
              ble adapters --watch --json
            """)

    @OptionGroup var scoped: ScopedOptions<AdaptersScope>

    @Flag(help: "Print each change until Ctrl-C, or for the time of --for.")
    var watch = false

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    func run() async throws {
        let (common, counted, limit) = (scoped.common, counted, runTime.duration)
        let watch = watch || limit != nil || counted.count != nil
        try await common.run("ble adapters") { console in
            let selector = common.adapter.flatMap { AdapterSelector($0) }
            let kernel = try common.makeKernel()
            if watch {
                try await counted.upTo(limit) { try await follow(selector, on: kernel, $0, console) }
            } else {
                try await list(selector, common, on: kernel, console)
            }
        }
    }
}

private func list(
    _ selector: AdapterSelector?, _ common: CommonOptions, on kernel: (any AdapterSource)?, _ console: Console
) async throws {
    let adapters = try await Adapter.all(on: kernel).filter { selector?.matches($0) ?? true }
    let health = await common.health(of: adapters, on: kernel)
    let capacities = await AdapterCapacity.all(of: adapters, on: kernel)
    if console.isJSON {
        for adapter in adapters {
            console.result(
                [("event", .string("adapter"))] + fields(adapter, adapter.state)
                    + [("health", JSONValue(health[adapter.id]))] + fields(of: capacities[adapter.id]))
        }
    } else if !adapters.isEmpty {
        var table = Table([
            .init("NAME"), .init("ADDRESS"), .init("STATE"), .init("HEALTH", omission: 4),
            .init("LINKS", .right, omission: 2), .init("SETS", .right, omission: 1), .init("BLUETOOTH", omission: 3),
            .init("MANUFACTURER", minimum: 12),
        ])
        for adapter in adapters {
            table.add([
                adapter.name, adapter.address.digits, "\(adapter.state)", health[adapter.id] ?? "-",
                capacities[adapter.id]?.otherLinks.map(String.init) ?? "-",
                capacities[adapter.id]?.advertisingText ?? "-",
                adapter.versionName + (adapter.isDualMode ? " dual" : ""), printable("\(adapter.manufacturer)"),
            ])
        }
        console.result(table)
    }
    guard adapters.isEmpty else { return }
    throw ProgramError.noAdapter(selector)
}

extension CommonOptions {
    /// The health of the adapters that are on, by their index: whether the controller answers a command.
    fileprivate func health(
        of adapters: [AdapterInformation], on kernel: (any AdapterSource)?
    ) async -> [AdapterID: String] {
        await withTaskGroup(of: (AdapterID, String)?.self) { group in
            for adapter in adapters where adapter.state.isReady {
                group.addTask {
                    let opened = try? await Adapter.open(
                        .id(adapter.id),
                        configuration: .init(
                            bonds: .disabled, recovery: RecoveryOptions(mode: .reportOnly), log: makeLog(quietly: true)),
                        on: kernel)
                    let health = try? await opened?.checkHealth()
                    await opened?.close()
                    if health == .good { return (adapter.id, "good") }
                    return health.map { _ in (adapter.id, "silent") }
                }
            }
            var all: [AdapterID: String] = [:]
            for await case let (index, text)? in group { all[index] = text }
            return all
        }
    }
}

private func follow(
    _ selector: AdapterSelector?, on kernel: (any AdapterSource)?, _ results: ResultCount, _ console: Console
) async throws {
    let changes = try await Adapter.changes(on: kernel).filter { selector?.matches($0.adapter) ?? true }
    for try await change in changes {
        console.show(change)
        if results.add() == 0 { return }
    }
}

extension Console {
    /// Prints the appearance, change or removal of an adapter.
    func show(_ change: AdapterChange) {
        let event = change.isAddition ? "added" : change.isRemoval ? "removed" : "changed"
        result(event, "\(time())  \(change)", fields(change.adapter, change.state))
    }
}

private func fields(_ adapter: AdapterInformation, _ state: AdapterState) -> [(String, JSONValue)] {
    [
        ("name", .string(adapter.name)), ("address", .string(adapter.address.digits)), ("state", .string("\(state)")),
        ("version", .string(adapter.versionName)), ("manufacturer", .string("\(adapter.manufacturer)")),
        ("dualMode", .bool(adapter.isDualMode)),
    ]
}
