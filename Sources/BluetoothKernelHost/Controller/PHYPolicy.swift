import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import Logging

/// The PHYs with which the kernel scans for devices and connects to them (Set PHY Configuration).
///
/// The setting is the adapter's. While links are being created for which this process needs LE Coded, that is selected
/// as well, if it was not, and is deselected again afterwards; other selections are left alone.
//
// Lives on the loop, with the controller.
final class PHYPolicy {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let log: Logger
    private let adapter: AdapterTable<PHYHolds>.Key
    /// This object's needs.
    private var own: Set<ObjectIdentifier> = []
    private var change = SerializedChange<Promise<Void, BluetoothError>>()
    /// Whether a refusal of the kernel's has been logged.
    private var isRefused = false

    private static let holds = AdapterTable<PHYHolds>()

    /// - Parameter address: the adapter's.
    init(of address: BluetoothAddress, _ commands: HCICommandQueue, _ management: ManagementClient, log: Logger) {
        loop = management.loop
        mark = loop.components.mark("PHYPolicy")
        (self.commands, self.management, self.log) = (commands, management, log)
        adapter = .init(address, on: loop)
    }

    deinit { Self.holds.with(adapter) { $0.remove(own) } }

    /// The PHYs of the adapter.
    nonisolated(nonsending) func configuration(
        _ operation: BluetoothError.Operation, timeout: Duration? = nil
    ) async throws(BluetoothError) -> PHYConfiguration {
        do {
            return try await management.send(
                ManagementGetPHYConfiguration(), to: commands.index, timeout: timeout ?? ManagementClient.answerLimit)
        } catch {
            throw error.about(operation)
        }
    }

    // MARK: Connecting

    /// Has the kernel connect on LE Coded as well if that is among `phys`, until ``end(_:)``. A kernel that does not permit
    /// it is logged.
    /// - Throws: `.unsupported` if the controller lacks one of the PHYs; `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func begin(
        _ phys: LEPHYSet, as id: ObjectIdentifier, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        do {
            let configuration = try await configuration(operation, timeout: timeout)
            try phys.check(against: configuration, operation)
            guard phys.contains(.leCoded) else { return }
            Self.holds.with(adapter) { $0.add(id) }
            own.insert(id)
            let waiter = Promise<Void, BluetoothError>()
            update(for: [waiter])
            try await waiter.value(operation, timeout: timeout, on: loop)
        } catch {
            end(id)
            try goOn(without: error, isNeeded: phys.contains(.leCoded))
        }
    }

    /// Ends one ``begin(_:as:_:timeout:)``.
    func end(_ id: ObjectIdentifier) {
        guard own.remove(id) != nil else { return }
        Self.holds.with(adapter) { $0.remove([id]) }
        update(for: [])
    }

    /// Ends this object's needs, while commands can still be sent: their answers will not be received.
    func close() {
        let undone = Self.holds.with(adapter) { holds in
            holds.remove(own)
            return holds.takeUndone()
        }
        own = []
        if let undone { management.sendLast(ManagementSetPHYConfiguration(undone), to: commands.index) }
    }

    /// Goes on without the selection after a refusal of the kernel's, which is logged: the first at a level that is shown.
    /// - Throws: the error if the caller has given up, or if the controller lacks a PHY.
    private func goOn(without error: BluetoothError, isNeeded: Bool) throws(BluetoothError) {
        switch error.code {
        case .cancelled, .timedOut: throw error
        case .unsupported where error.cause == nil: throw error
        default: break
        }
        let level: Logger.Level = isNeeded && !isRefused ? .notice : .debug
        log.log(level: level, "the adapter's PHYs are unchanged: \(error)")
        if isNeeded { isRefused = true }
    }

    // MARK: Changing the selection

    /// Changes the selection to what is needed, or once the present change is over.
    private func update(for waiters: [Promise<Void, BluetoothError>]) {
        guard !waiters.isEmpty || !change.isIdle || Self.holds.with(adapter, \.isToBeUndone) else { return }
        if change.request(for: waiters) { read() }
    }

    private func read() {
        management.post(ManagementGetPHYConfiguration(), to: commands.index) { [self] in select($0) }
    }

    private func select(_ answer: Result<PHYConfiguration, BluetoothError>) {
        let present: ManagementPHYs
        switch answer {
        case .success(let configuration): present = configuration.selected
        case .failure(let error): return finish(error)
        }
        let needed = Self.holds.with(adapter) { $0.selection(from: present) }
        guard needed != present else { return finish(nil) }
        let command = ManagementSetPHYConfiguration(needed)
        management.perform(command, on: commands.index, whenIdle: true) { [self] failure in
            if failure == nil { Self.holds.with(adapter) { $0.changed(from: present, to: needed) } }
            finish(failure)
        }
    }

    private func finish(_ failure: BluetoothError?) {
        let (waiters, beginsAgain) = change.finish()
        if let failure {
            if waiters.isEmpty { log.debug("LE Coded stays selected: \(failure)") }
            Self.holds.with(adapter) { $0.giveUpUndoing() }
        }
        for waiter in waiters { waiter.resolve(failure.map { .failure($0) } ?? .success(())) }
        if beginsAgain { read() }
    }

    // MARK: The adapter's selection

    /// Selects PHYs of LE; those of BR/EDR stay as they are.
    nonisolated(nonsending) func select(
        _ phys: LEPHYSet, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let configuration = try await configuration(operation)
        try phys.check(against: configuration, operation)
        Self.holds.with(adapter) { $0.giveUpUndoing() }
        let selection = configuration.selecting(phys)
        guard selection != configuration.selected else { return }
        do {
            _ = try await management.sendWhenIdle(ManagementSetPHYConfiguration(selection), to: commands.index)
        } catch {
            throw error.about(operation)
        }
    }

    /// Selects PHYs again: the kernel selects all that the controller has when it powers an adapter on.
    func restore(_ phys: LEPHYSet) {
        management.post(ManagementGetPHYConfiguration(), to: commands.index) { [self] answer in
            guard case .success(let configuration) = answer else { return }
            let selection = configuration.selecting(phys.intersection(configuration.supported.lePHYs))
            guard selection != configuration.selected else { return }
            let command = ManagementSetPHYConfiguration(selection)
            management.perform(command, on: commands.index, whenIdle: true) { [log] error in
                if let error { log.notice("the adapter's PHYs are lost: \(error)") }
            }
        }
    }
}

extension PHYConfiguration {
    /// The selection with other PHYs of LE.
    fileprivate func selecting(_ phys: LEPHYSet) -> ManagementPHYs {
        ManagementPHYs(phys).union(selected.intersection(.brEDR))
    }
}

extension LEPHYSet {
    /// - Throws: `.unsupported` if the adapter lacks one of the PHYs.
    fileprivate func check(
        against configuration: PHYConfiguration, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        let missing = subtracting(configuration.supported.lePHYs)
        guard missing.isEmpty else {
            throw BluetoothError(
                .unsupported, operation,
                "The controller does not support \(missing); it has \(configuration.supported.lePHYs).",
                remedy: "Use another adapter, or other PHYs. A controller's features: ble selftest")
        }
    }
}
