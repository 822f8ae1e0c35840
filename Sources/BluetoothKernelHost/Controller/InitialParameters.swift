import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import Logging

/// The connection parameters with which the kernel creates links to certain devices (Load Connection Parameters).
///
/// The command replaces the kernel's whole list, with the entries of other programs, and nothing reads it. So the
/// entries of all of this process's objects for the adapter are loaded together, each only for as long as a link to its
/// device is being created, and the adapter's defaults are put back after.
//
// Lives on the loop, with the controller.
final class InitialParameters {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let log: Logger
    private let adapter: AdapterTable<InitialParameterList>.Key
    /// This object's entries.
    private var own: Set<ObjectIdentifier> = []
    private var loading = SerializedChange<Promise<Void, BluetoothError>>()
    /// The adapter's defaults, as last read.
    private var defaults = LEConnectionParameters.kernelDefaults
    /// Whether the kernel's refusal has been logged.
    private var isRefused = false

    private static let lists = AdapterTable<InitialParameterList>()

    /// - Parameter address: the adapter's.
    init(of address: BluetoothAddress, _ commands: HCICommandQueue, _ management: ManagementClient, log: Logger) {
        loop = management.loop
        mark = loop.components.mark("InitialParameters")
        (self.commands, self.management, self.log) = (commands, management, log)
        adapter = .init(address, on: loop)
    }

    /// Adds an entry, until ``end(_:)``, and waits until the kernel has it. A refusal of the kernel's is logged: links to
    /// the device then begin with other parameters.
    nonisolated(nonsending) func begin(
        _ parameters: LEConnectionParameters, for peer: BluetoothAddress, as id: ObjectIdentifier, timeout: Duration?
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("preset connection parameters", peer: peer, adapter: commands.name)
        Self.lists.with(adapter) { $0.add(parameters, for: peer, as: id) }
        own.insert(id)
        let waiter = Promise<Void, BluetoothError>()
        load(for: [waiter])
        do {
            try await waiter.value(operation, timeout: timeout, on: loop)
        } catch {
            end(id)
            if error.code == .cancelled || error.code == .timedOut { throw error }
            report(error)
        }
    }

    /// Removes an entry.
    func end(_ id: ObjectIdentifier) {
        guard own.remove(id) != nil else { return }
        Self.lists.with(adapter) { $0.remove([id]) }
        load(for: [])
    }

    /// Removes this object's entries, while commands can still be sent: their answers will not be received.
    func close() {
        guard !own.isEmpty || Self.lists.with(adapter, { !$0.ended.isEmpty }) else { return }
        Self.lists.with(adapter) { $0.remove(own) }
        own = []
        // The second takes what has replaced the entries from the list.
        for _ in 0..<2 {
            let list = Self.lists.with(adapter) { lists in
                defer { lists.replaced(lists.ended) }
                return lists.whole(defaults: defaults)
            }
            management.sendLast(ManagementLoadConnectionParameters(list), to: commands.index)
        }
    }

    deinit { Self.lists.with(adapter) { $0.forget(own) } }

    // MARK: Loading

    /// Loads the list as it is now, or after the one being loaded.
    private func load(for waiters: [Promise<Void, BluetoothError>]) {
        if loading.request(for: waiters) { readDefaults() }
    }

    private func readDefaults() {
        management.post(ManagementReadDefaultSystemConfiguration(), to: commands.index) { [self] answer in
            if case .success(let all) = answer, let read = LEConnectionParameters(all.parameters) {
                defaults = read
            }
            loadNow()
        }
    }

    private func loadNow() {
        let (list, ended) = Self.lists.with(adapter) { ($0.whole(defaults: defaults), $0.ended) }
        management.perform(ManagementLoadConnectionParameters(list), on: commands.index) { [self] error in
            loaded(error.map { .failure($0) } ?? .success(()), replaced: ended)
        }
    }

    private func loaded(_ result: Result<Void, BluetoothError>, replaced: [BluetoothAddress]) {
        Self.lists.with(adapter) { $0.replaced(replaced) }
        let (waiters, beginsAgain) = loading.finish()
        for waiter in waiters { waiter.resolve(result) }
        if beginsAgain {
            readDefaults()
        } else if !replaced.isEmpty, case .success = result {
            // Takes what has replaced the entries from the list.
            load(for: [])
        }
    }

    /// Logs a refusal: the first at a level that is shown.
    private func report(_ error: BluetoothError) {
        log.log(
            level: isRefused ? .debug : .notice,
            "links begin with the host's connection parameters instead of the requested ones: \(error)")
        isRefused = true
    }
}
