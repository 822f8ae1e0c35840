import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import Logging
import Synchronization

/// The connection parameters with which the kernel creates links to certain devices (Load Connection Parameters).
///
/// The command replaces the kernel's whole list, with the entries of other programs, and nothing reads it. So the
/// entries of all of this process's objects for the adapter are loaded together, and each only for as long as a link to
/// its device is being created.
//
// Lives on the loop, with the controller.
final class InitialParameters {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let log: Logger
    private let adapter: ParameterLists.Adapter
    /// The numbers of this object's entries.
    private var own: Set<UInt64> = []
    private var loading = Loading.idle
    /// Whether the kernel's refusal has been logged.
    private var isRefused = false

    private typealias Waiter = Promise<Void, BluetoothError>

    private enum Loading {
        case idle
        /// A list is being loaded, for these callers.
        case running([Waiter])
        /// As ``running(_:)``, and the list has changed since, for the other callers.
        case outdated([Waiter], next: [Waiter])
    }

    /// - Parameter address: the adapter's.
    init(of address: BluetoothAddress, _ commands: HCICommandQueue, _ management: ManagementClient, log: Logger) {
        loop = management.loop
        mark = loop.components.mark("InitialParameters")
        (self.commands, self.management, self.log) = (commands, management, log)
        adapter = ParameterLists.Adapter(loop: ObjectIdentifier(loop), address: address)
    }

    deinit { ParameterLists.remove(own, of: adapter) }

    /// Adds an entry and waits until the kernel has it. Nil if the kernel refuses it, which is logged: links to the
    /// device then begin with other parameters.
    nonisolated(nonsending) func begin(
        _ parameters: LEConnectionParameters, for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64? {
        let operation = BluetoothError.Operation("preset connection parameters", peer: peer, adapter: commands.name)
        let entry = DeviceConnectionParameters(
            address: peer, intervalMinimum: parameters.intervalMinimum, intervalMaximum: parameters.intervalMaximum,
            latency: parameters.latency, supervisionTimeout: parameters.supervisionTimeout)
        let number = ParameterLists.add(entry, of: adapter)
        own.insert(number)
        let waiter = Waiter()
        load(for: [waiter])
        do {
            try await waiter.value(operation, timeout: timeout, on: loop)
            return number
        } catch {
            end(number)
            if error.code == .cancelled || error.code == .timedOut { throw error }
            report(error)
            return nil
        }
    }

    /// Removes an entry.
    func end(_ number: UInt64) {
        guard own.remove(number) != nil else { return }
        ParameterLists.remove([number], of: adapter)
        load(for: [])
    }

    /// Loads the list as it is now, or after the one being loaded.
    private func load(for waiters: [Waiter]) {
        switch loading {
        case .idle:
            loading = .running(waiters)
            let list = Self.whole(ParameterLists.merged(of: adapter))
            management.post(.loadConnectionParameters(list), to: commands.index) { [weak self] answer in
                self?.loaded(answer.map { _ in })
            }
        case .running(let current): loading = .outdated(current, next: waiters)
        case .outdated(let current, let next): loading = .outdated(current, next: next + waiters)
        }
    }

    // The kernel keeps the entry of a device to which a link was created, whatever is loaded (Docs/LinuxKernel.md).
    /// A list that replaces the kernel's: one with fewer than two entries does not, so entries for no device are added.
    private static func whole(_ list: [DeviceConnectionParameters]) -> [DeviceConnectionParameters] {
        let nobody = DeviceConnectionParameters(
            address: .zero, intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42)
        return list + Array(repeating: nobody, count: max(0, 2 - list.count))
    }

    private func loaded(_ result: Result<Void, BluetoothError>) {
        let (current, next): ([Waiter], [Waiter]?) =
            switch loading {
            case .idle: ([], nil)
            case .running(let current): (current, nil)
            case .outdated(let current, let next): (current, next)
            }
        loading = .idle
        for waiter in current { waiter.resolve(result) }
        if let next { load(for: next) }
    }

    /// Logs a refusal: the first at a level that is shown.
    private func report(_ error: BluetoothError) {
        log.log(
            level: isRefused ? .debug : .notice,
            "links begin with the host's connection parameters instead of the requested ones: \(error)")
        isRefused = true
    }
}

/// The entries of this process for the adapters, by the loop of the objects that add them.
///
/// Thread-safe.
private enum ParameterLists {
    struct Adapter: Hashable {
        let loop: ObjectIdentifier
        let address: BluetoothAddress
    }

    private struct State {
        var nextNumber: UInt64 = 0
        var entries: [Adapter: [(number: UInt64, entry: DeviceConnectionParameters)]] = [:]
    }

    private static let state = Mutex(State())

    static func add(_ entry: DeviceConnectionParameters, of adapter: Adapter) -> UInt64 {
        state.withLock { state in
            state.nextNumber += 1
            state.entries[adapter, default: []].append((state.nextNumber, entry))
            return state.nextNumber
        }
    }

    static func remove(_ numbers: Set<UInt64>, of adapter: Adapter) {
        state.withLock { state in
            state.entries[adapter]?.removeAll { numbers.contains($0.number) }
            if state.entries[adapter]?.isEmpty == true { state.entries[adapter] = nil }
        }
    }

    /// The entries of an adapter, one for each device: the newest.
    static func merged(of adapter: Adapter) -> [DeviceConnectionParameters] {
        state.withLock { state in
            var list: [DeviceConnectionParameters] = []
            for (_, entry) in state.entries[adapter] ?? [] {
                list.removeAll { $0.address == entry.address }
                list.append(entry)
            }
            return list
        }
    }
}
