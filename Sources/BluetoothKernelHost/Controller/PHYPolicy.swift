import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import Logging
import Synchronization

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
    private let adapter: PHYHolds.Adapter
    /// The numbers of this object's holds.
    private var own: Set<UInt64> = []
    private var work = Work.idle
    /// Whether a refusal of the kernel's has been logged.
    private var isRefused = false

    private typealias Waiter = Promise<Void, BluetoothError>

    private enum Work {
        case idle
        /// The selection is being changed, for these callers.
        case running([Waiter])
        /// As ``running(_:)``, and the holds have changed since; these callers wait for the next change.
        case outdated([Waiter], next: [Waiter])
    }

    /// - Parameter address: the adapter's.
    init(of address: BluetoothAddress, _ commands: HCICommandQueue, _ management: ManagementClient, log: Logger) {
        loop = management.loop
        mark = loop.components.mark("PHYPolicy")
        (self.commands, self.management, self.log) = (commands, management, log)
        adapter = PHYHolds.Adapter(loop: ObjectIdentifier(loop), address: address)
    }

    deinit { PHYHolds.remove(own, of: adapter) }

    /// The PHYs of the adapter.
    nonisolated(nonsending) func configuration(
        _ operation: BluetoothError.Operation, timeout: Duration? = nil
    ) async throws(BluetoothError) -> PHYConfiguration {
        do {
            let reply = try await management.send(
                .getPHYConfiguration, to: commands.index, timeout: timeout ?? ManagementClient.answerLimit)
            if case .phyConfiguration(let configuration) = reply { return configuration }
        } catch {
            throw error.about(operation)
        }
        throw .unreadable(operation)
    }

    // MARK: Connecting

    /// Has the kernel connect on LE Coded as well if that is among `phys`, until ``end(_:)`` of the result. Nil if the
    /// kernel does not permit it, which is logged.
    /// - Throws: `.unsupported` if the controller lacks one of the PHYs; `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func begin(
        _ phys: LEPHYSet, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64? {
        do {
            let configuration = try await configuration(operation, timeout: timeout)
            try phys.check(against: configuration, operation)
        } catch {
            return try without(error, isNeeded: phys.contains(.leCoded))
        }
        guard phys.contains(.leCoded) else { return nil }
        let number = PHYHolds.add(to: adapter)
        own.insert(number)
        let waiter = Waiter()
        update(for: [waiter])
        do {
            try await waiter.value(operation, timeout: timeout, on: loop)
            return number
        } catch {
            end(number)
            return try without(error, isNeeded: true)
        }
    }

    /// Ends one ``begin(_:_:timeout:)``.
    func end(_ number: UInt64) {
        guard own.remove(number) != nil else { return }
        PHYHolds.remove([number], of: adapter)
        update(for: [])
    }

    /// Goes on without the selection after a refusal of the kernel's, which is logged: the first at a level that is shown.
    /// - Throws: the error if the caller has given up, or if the controller lacks a PHY.
    private func without(_ error: BluetoothError, isNeeded: Bool) throws(BluetoothError) -> UInt64? {
        switch error.code {
        case .cancelled, .timedOut: throw error
        case .unsupported where error.cause == nil: throw error
        default: break
        }
        let level: Logger.Level = isNeeded && !isRefused ? .notice : .debug
        log.log(level: level, "the adapter's PHYs stay as they are: \(error)")
        if isNeeded { isRefused = true }
        return nil
    }

    /// Changes the selection to what the holds require, or once the present change is over.
    private func update(for waiters: [Waiter]) {
        switch work {
        case .idle:
            guard !waiters.isEmpty || PHYHolds.isToBeUndone(of: adapter) else { return }
            work = .running(waiters)
            management.post(.getPHYConfiguration, to: commands.index) { [weak self] in self?.read($0) }
        case .running(let current): work = .outdated(current, next: waiters)
        case .outdated(let current, let next): work = .outdated(current, next: next + waiters)
        }
    }

    private func read(_ answer: ManagementClient.Answer) {
        guard case .success(.phyConfiguration(let configuration)) = answer else { return finish(answer) }
        let selected = configuration.selected
        let change = PHYHolds.change(of: adapter, selected: selected)
        guard change != selected else { return finish(answer) }
        management.postWhenIdle(.setPHYConfiguration(change), to: commands.index) { [weak self] answer in
            guard let self else { return }
            if case .success = answer { PHYHolds.changed(adapter, from: selected, to: change) }
            finish(answer)
        }
    }

    private func finish(_ answer: ManagementClient.Answer) {
        let (current, next): ([Waiter], [Waiter]?) =
            switch work {
            case .idle: ([], nil)
            case .running(let current): (current, nil)
            case .outdated(let current, let next): (current, next)
            }
        work = .idle
        if case .failure(let error) = answer {
            if current.isEmpty { log.debug("LE Coded stays selected: \(error)") }
            PHYHolds.giveUpUndoing(of: adapter)
        }
        for waiter in current { waiter.resolve(answer.map { _ in }) }
        if let next { update(for: next) }
    }

    // MARK: The adapter's selection

    /// Selects PHYs of LE; those of BR/EDR stay as they are.
    nonisolated(nonsending) func select(
        _ phys: LEPHYSet, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let configuration = try await configuration(operation)
        try phys.check(against: configuration, operation)
        PHYHolds.giveUpUndoing(of: adapter)
        let selection = configuration.selecting(phys)
        guard selection != configuration.selected else { return }
        do {
            _ = try await management.sendWhenIdle(.setPHYConfiguration(selection), to: commands.index)
        } catch {
            throw error.about(operation)
        }
    }

    /// Selects PHYs again: the kernel selects all that the controller has when it powers an adapter on.
    func restore(_ phys: LEPHYSet) {
        management.post(.getPHYConfiguration, to: commands.index) { [weak self] answer in
            guard let self, case .success(.phyConfiguration(let configuration)) = answer else { return }
            let selection = configuration.selecting(phys.intersection(configuration.supported.lePHYs))
            guard selection != configuration.selected else { return }
            management.postWhenIdle(.setPHYConfiguration(selection), to: commands.index) { [log] answer in
                if case .failure(let error) = answer { log.notice("the adapter's PHYs are lost: \(error)") }
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

/// The need of this process's objects for LE Coded, and what they have selected for it, for each adapter.
///
/// Thread-safe.
private enum PHYHolds {
    struct Adapter: Hashable {
        let loop: ObjectIdentifier
        let address: BluetoothAddress
    }

    private struct Holds {
        var numbers: Set<UInt64> = []
        /// What was selected in addition, and is deselected at the end.
        var added: ManagementPHYs = []
    }

    private struct State {
        var nextNumber: UInt64 = 0
        var holds: [Adapter: Holds] = [:]

        mutating func forgetIfUnused(_ adapter: Adapter) {
            if let entry = holds[adapter], entry.numbers.isEmpty, entry.added.isEmpty { holds[adapter] = nil }
        }
    }

    private static let state = Mutex(State())
    private static let coded = ManagementPHYs(.leCoded)

    static func add(to adapter: Adapter) -> UInt64 {
        state.withLock { state in
            state.nextNumber += 1
            state.holds[adapter, default: Holds()].numbers.insert(state.nextNumber)
            return state.nextNumber
        }
    }

    static func remove(_ numbers: Set<UInt64>, of adapter: Adapter) {
        state.withLock { state in
            state.holds[adapter]?.numbers.subtract(numbers)
            state.forgetIfUnused(adapter)
        }
    }

    /// Whether what was selected is needed no more.
    static func isToBeUndone(of adapter: Adapter) -> Bool {
        state.withLock { $0.holds[adapter].map { $0.numbers.isEmpty && !$0.added.isEmpty } ?? false }
    }

    /// The selection that is needed, given the present one.
    static func change(of adapter: Adapter, selected: ManagementPHYs) -> ManagementPHYs {
        state.withLock { state in
            guard let holds = state.holds[adapter] else { return selected }
            return holds.numbers.isEmpty ? selected.subtracting(holds.added) : selected.union(coded)
        }
    }

    /// Records a change of the selection.
    static func changed(_ adapter: Adapter, from old: ManagementPHYs, to new: ManagementPHYs) {
        state.withLock { state in
            state.holds[adapter]?.added = new.subtracting(old)
            state.forgetIfUnused(adapter)
        }
    }

    /// Leaves the selection as it is.
    static func giveUpUndoing(of adapter: Adapter) {
        state.withLock { state in
            state.holds[adapter]?.added = []
            state.forgetIfUnused(adapter)
        }
    }
}
