import ArgumentParser
import BluetoothLE
import ExampleSupport

/// The power state to set.
enum PowerOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    case on, off
}

struct PowerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power", abstract: "Power an adapter on, with LE enabled, or off.",
        discussion: """
            on also enables LE on a dual-mode adapter that is on without it. off ends all links, scans and \
            advertisements on the adapter, including those of other programs. Needs CAP_NET_ADMIN, unless the adapter \
            is already in that state.

            EXAMPLES:
              ble power on
              ble power off -i hci0
            """)

    @OptionGroup var scoped: ScopedOptions<PowerScope>

    @Argument(help: "on or off.")
    var state: PowerOption

    func validate() throws {
        guard state == .off || scoped.common.powerOn else {
            throw ValidationError("--no-power-on contradicts power on.")
        }
        guard state == .on || scoped.common.trace == nil else {
            throw ValidationError("--trace has no meaning for power off, which exchanges no packets with a device.")
        }
    }

    func run() async throws {
        let (common, state) = (scoped.common, state)
        try await common.run("ble power") { console in
            switch state {
            case .on: try await common.withAdapter(console) { console.show($0.information) }
            case .off: console.show(try await powerOff(common))
            }
        }
    }
}

/// Powers off the adapter that -i selects, or the first one that is on; returns its resulting state.
private func powerOff(_ common: CommonOptions) async throws -> AdapterInformation {
    let kernel = try common.makeKernel()
    let selector = common.adapter.flatMap { AdapterSelector($0) }
    let adapters = try await Adapter.all(on: kernel).filter { selector?.matches($0) ?? $0.isLowEnergySupported }
    guard let chosen = adapters.first(where: \.isPowered) ?? adapters.first else {
        throw ProgramError.noAdapter(selector)
    }
    guard chosen.isPowered else { return chosen }
    // An adapter that is to be switched off needs no keys.
    let adapter = try await Adapter.open(.id(chosen.id), configuration: .init(bonds: .disabled), on: kernel)
    try await finishing {
        try await adapter.setPowered(false)
    } then: {
        await adapter.close()
    }
    return adapter.information
}

extension Console {
    fileprivate func show(_ adapter: AdapterInformation) {
        let fields = [("name", adapter.name), ("address", adapter.address.digits), ("state", "\(adapter.state)")]
        result(
            "power", "\(adapter.name) \(adapter.address.digits) is \(adapter.state)", fields.map { ($0, .string($1)) })
    }
}
