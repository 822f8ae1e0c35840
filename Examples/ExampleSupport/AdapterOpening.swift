import BluetoothGateway
import BluetoothLE
import BluetoothSimulation
import Logging

/// How the adapters of a command are opened.
struct AdapterOpening: Sendable {
    private let power: PowerPolicy
    private let privacy: PrivacyMode?
    private let bonds: BondStorage
    private let kernel: (any AdapterSource)?
    private let log: Logger
    private let trace: PacketTrace?

    init(_ options: CommonOptions, bonds: BondStorage, on kernel: (any AdapterSource)?, _ trace: PacketTrace?) {
        power = options.powerOn ? .powerOn : .leave
        privacy = options.privacy
        (self.bonds, self.kernel, self.trace) = (bonds, kernel, trace)
        log = options.makeLog()
    }

    /// Opens an adapter; waits for one that is absent, off or blocked, without a limit if `timeout` is nil.
    func open(_ selector: AdapterSelector, timeout: Duration?) async throws(BluetoothError) -> Adapter {
        try await Adapter.open(
            selector, power: power,
            configuration: .init(timeout: timeout, bonds: bonds, privacy: privacy, log: log, trace: trace), on: kernel)
    }
}

extension ProgramError {
    /// The error of an adapter that -i names and that is not there, or of a machine without any.
    public static func noAdapter(_ selector: AdapterSelector?) -> ProgramError {
        ProgramError(
            .noBluetooth, selector.map { "There is no such adapter: \($0)." } ?? "No Bluetooth adapter found.",
            remedy: selector == nil
                ? "Plug one in; look for what is missing with: ble doctor; sudo dmesg | grep -i bluetooth"
                : "List the adapters with: ble adapters")
    }
}

extension BluetoothError {
    /// Whether an adapter is absent, off or blocked, and may be waited for.
    var isAdapterAbsent: Bool { [.noAdapter, .adapterOff, .adapterBlocked].contains(code) }
}

extension CommonOptions {
    /// As ``withAdapterGroup(_:_:)``, but waits for adapters that are absent, off or blocked; `absence` runs while there is
    /// none, with the reason of the first, and is then cancelled. Those that come later are added to the group.
    func withAdapterGroup<Value: Sendable>(
        _ console: Console, whileAbsent absence: @escaping @Sendable (BluetoothError) async -> Void,
        _ body: @escaping @Sendable (AdapterGroup) async throws -> Value
    ) async throws -> Value {
        let kernel = try makeKernel()
        return try await withTrace(console, on: kernel) { trace in
            let opening = AdapterOpening(self, bonds: BondStorage.store(try bondStore()), on: kernel, trace)
            var selectors = try await selectors(on: kernel)
            // Of all adapters, the first that comes.
            if selectors.isEmpty { selectors = [.first] }
            var adapters: [Adapter] = []
            return try await finishing {
                var absent = try await openPresent(selectors, opening, &adapters)
                if adapters.isEmpty {
                    let (index, adapter) = try await firstToCome(absent, opening, absence)
                    adapters.append(adapter)
                    absent.remove(at: index)
                }
                let group = try await AdapterGroup(adapters)
                return try await finishing { [absent] in
                    try await use(group, whileWaitingFor: absent, opening, console, body)
                } then: {
                    adapters = await group.adapters
                }
            } then: {
                for adapter in adapters { await adapter.close() }
            }
        }
    }

    private typealias Absence = (selector: AdapterSelector, reason: BluetoothError)

    /// Opens those adapters that can be used; returns the others.
    private func openPresent(
        _ selectors: [AdapterSelector], _ opening: AdapterOpening, _ adapters: inout [Adapter]
    ) async throws -> [Absence] {
        var absent: [Absence] = []
        for selector in selectors {
            do throws(BluetoothError) {
                adapters.append(try await opening.open(selector, timeout: .zero))
            } catch {
                guard error.isAdapterAbsent else { throw error }
                absent.append((selector, error))
            }
        }
        return absent
    }

    /// Waits until one of the adapters can be used; `absence` runs meanwhile.
    private func firstToCome(
        _ absent: [Absence], _ opening: AdapterOpening,
        _ absence: @escaping @Sendable (BluetoothError) async -> Void
    ) async throws -> (index: Int, adapter: Adapter) {
        let waiting = absent.enumerated().map { index, adapter in
            { @Sendable () async throws -> (index: Int, adapter: Adapter)? in
                (index, try await opening.open(adapter.selector, timeout: nil))
            }
        }
        return try await firstResult(
            of: waiting + [
                {
                    if let reason = absent.first?.reason { await absence(reason) }
                    return nil
                }
            ])
    }

    /// Runs `body` with a group, and adds the absent adapters to it when they come.
    private func use<Value: Sendable>(
        _ group: AdapterGroup, whileWaitingFor absent: [Absence], _ opening: AdapterOpening, _ console: Console,
        _ body: @escaping @Sendable (AdapterGroup) async throws -> Value
    ) async throws -> Value {
        for (selector, reason) in absent { console.message("waiting for \(selector): \(reason.message)") }
        let waiting = absent.map { selector, _ in
            { @Sendable () async throws -> Value? in
                do {
                    let adapter = try await opening.open(selector, timeout: nil)
                    try await preparePairing(on: adapter, console)
                    try await group.add(adapter)
                } catch let error as BluetoothError {
                    if error.code != .cancelled { console.message("skipping \(selector): \(error.message)") }
                }
                return nil
            }
        }
        return try await firstResult(of: waiting + [{ try await body(group) }])
    }
}
