import BluetoothLE
import BluetoothLoop
import Logging
import Synchronization

/// The adapter that all managers of the program share, with its state in Core Bluetooth's terms.
///
/// It is the one actor, and owns the objects on the loop: the managers' components and the links. The program's objects
/// retain handles, which schedule work by ``LoopActor/soon(_:)``.
///
/// The adapter is opened for the first manager, followed through every change, and closed when the last manager has
/// been released.
//
// Holds more than ten variables: the one adapter of all managers, from its opening to its closing.
actor Radio: LoopActor {
    nonisolated let loop: EventLoop
    nonisolated let source: any AdapterSource
    nonisolated let log: Logger
    nonisolated let devices = Mutex(KnownDevices())
    /// The number of components and handles.
    nonisolated let components: ComponentCount
    private let mark: ComponentCount.Mark
    private let configuration: CBLinux.Configuration
    /// Whether the controller receives extended advertising PDUs; false until it has reported that.
    nonisolated let isExtended = Mutex(false)
    /// The links that managers hold; see Radio+Links.
    let links: SharedLinks
    /// The managers' components, by their handles.
    private var managers: [ObjectIdentifier: any ManagerHub] = [:]
    private var acceptance = Acceptance()
    private var following = Following()

    /// The acceptance of incoming links, while there is a manager for them.
    private struct Acceptance {
        var task: Task<Void, Never>?
        var incoming: IncomingConnections?
    }

    /// The following of the adapter, while there is a manager.
    private struct Following {
        var adapter: Adapter?
        var state = CBManagerState.unknown
        var task: Task<Void, Never>?
        /// The privileges that the program lacks.
        var obstacles = HostObstacles()
        var absenceTimer: LoopTimer?
        /// Resolved when the adapter is no longer followed.
        var missing: Promise<Bool, Never>?
    }

    /// The time within which an absent adapter must return before another is used.
    private static let absenceLimit = Duration.seconds(10)

    private struct Key: Hashable {
        let source: ObjectIdentifier
        let selector: AdapterSelector
    }

    private static let all = Mutex<[Key: WeakReference<Radio>]>([:])

    /// The radio of `configuration`.
    static func shared(_ configuration: CBLinux.Configuration, log: Logger) throws(BluetoothError) -> Radio {
        let source = try configuration.makeSource()
        let key = Key(source: ObjectIdentifier(source), selector: configuration.selector)
        return all.withLock { all in
            if let radio = all[key]?.object { return radio }
            let radio = Radio(source, configuration, log)
            all[key] = WeakReference(to: radio)
            return radio
        }
    }

    /// Whether the adapter of `configuration` receives extended advertising PDUs, as far as a manager has found out.
    static func isExtended(_ configuration: CBLinux.Configuration) -> Bool {
        guard let source = try? configuration.makeSource() else { return false }
        let key = Key(source: ObjectIdentifier(source), selector: configuration.selector)
        let radio = all.withLock { $0[key]?.object }
        return radio?.isExtended.withLock { $0 } ?? false
    }

    private init(_ source: any AdapterSource, _ configuration: CBLinux.Configuration, _ log: Logger) {
        self.source = source
        self.configuration = configuration
        self.log = log
        loop = source.loop
        components = ComponentCount()
        mark = components.mark()
        links = SharedLinks(components)
    }

    deinit {
        let key = Key(source: ObjectIdentifier(source), selector: configuration.selector)
        // There may be another by now, whose last reference must not be released while the lock is held.
        let other = Self.all.withLock { all in
            let other = all[key]?.object
            if other == nil { all[key] = nil }
            return other
        }
        withExtendedLifetime(other) {}
    }

    /// The adapter, once it is open.
    var adapter: Adapter? { following.adapter }

    /// The adapter for an operation, which fails while there is none.
    func adapter(for operation: BluetoothError.Operation) throws(BluetoothError) -> Adapter {
        guard let adapter else { throw BluetoothError(.adapterOff, operation, "There is no adapter now.") }
        return adapter
    }

    // MARK: Managers

    /// Adds a manager; reports the adapter's state to it, now if it is known, and whenever it changes.
    func open(_ hub: any ManagerHub, for handle: AnyObject) {
        managers[ObjectIdentifier(handle)] = hub
        if following.state != .unknown { notify(hub) }
        startFollowing()
    }

    /// The component of a manager; nil when the manager has been released.
    func hub(for handle: AnyObject) -> (any ManagerHub)? { managers[ObjectIdentifier(handle)] }

    /// Removes a manager that was released.
    func close(_ handle: AnyObject) {
        managers.removeValue(forKey: ObjectIdentifier(handle))?.close()
        stopIfUnused()
    }

    private func notify(_ hub: any ManagerHub) {
        hub.radioChanged(following.state, mayAdvertise: following.obstacles.peripheral == nil)
    }

    private var isUsed: Bool { !managers.isEmpty }

    private func stopIfUnused() {
        if servers.isEmpty { acceptance.task?.cancel() }
        guard !isUsed else { return }
        // A new manager opens the adapter anew, while this one may still be being opened or closed.
        following.task?.cancel()
        following = Following()
    }

    private func set(_ state: CBManagerState) {
        guard state != following.state, isUsed else { return }
        following.state = state
        if state == .poweredOn { accept() }
        for hub in managers.values { notify(hub) }
    }

    /// Removes published services.
    func withdraw(_ services: [PublishedServices]) async {
        for services in services { await services.close() }
    }

    // MARK: Centrals

    /// Reports the links that centrals create to a manager that requests it: present and future ones.
    func serve(_ hub: any ManagerHub) {
        for connection in acceptance.incoming?.connections ?? [] { hub.receive(connection) }
        accept()
    }

    /// The newest link that a central has created from an address: an earlier one may still exist.
    func central(_ address: BluetoothAddress) -> Connection? {
        acceptance.incoming?.connections.last { $0.peer == address }
    }

    /// Accepts the links that centrals create, as long as a manager receives them and there is an adapter.
    private func accept() {
        guard acceptance.task == nil, !servers.isEmpty, let adapter else { return }
        acceptance.task = Task(executorPreference: loop) { [weak self] in
            do throws(BluetoothError) {
                let incoming = try await adapter.incomingConnections()
                await self?.accepting(incoming)
                for try await connection in incoming { await self?.notify(connection) }
            } catch {
                if error.code != .cancelled { coreBluetoothLog.warning("no links are accepted: \(error)") }
            }
            await self?.acceptorEnded()
        }
    }

    /// The managers that receive the links that centrals create.
    private var servers: [any ManagerHub] { managers.values.filter(\.isServing) }

    private func accepting(_ incoming: IncomingConnections) { acceptance.incoming = incoming }

    private func notify(_ connection: Connection) {
        for hub in servers { hub.receive(connection) }
    }

    private func acceptorEnded() {
        let isWanted = acceptance.task?.isCancelled == true
        acceptance.task = nil
        acceptance.incoming = nil
        // A manager was added while it was ending.
        if isWanted { accept() }
    }

    // MARK: Following the adapter

    private func startFollowing() {
        guard following.task == nil else { return }
        following.task = Task(executorPreference: loop) { [weak self] in await self?.run() }
    }

    private func run() async {
        do throws(BluetoothError) {
            while true {
                let adapter = try await open()
                await preparePairing(on: adapter)
                let obstacles = await adapter.obstacles()
                guard !Task.isCancelled else { return await adapter.close() }
                (following.adapter, following.obstacles) = (adapter, obstacles)
                let isMissing = await follow(adapter)
                if following.adapter === adapter { following.adapter = nil }
                await adapter.close()
                // It has been absent for long; the next present adapter is used.
                guard isMissing, !Task.isCancelled else { return }
            }
        } catch {
            if error.code != .cancelled { report(error) }
        }
    }

    /// Opens the adapter, as soon as there is a usable one.
    private func open() async throws(BluetoothError) -> Adapter {
        let changes = try await Adapter.changes(on: source)
        var iterator = changes.makeAsyncIterator()
        var last: BluetoothError?
        repeat {
            do throws(BluetoothError) {
                let selector = configuration.selector
                return try await Adapter.open(
                    selector, power: configuration.power, configuration: .init(bonds: configuration.bonds, log: log),
                    on: source)
            } catch {
                if error.code == .cancelled { throw error }
                // The same error for each present adapter is reported once.
                if error.code != last?.code { report(error) }
                last = error
            }
        } while try await iterator.next() != nil
        throw last ?? BluetoothError(.noAdapter, .init("follow the adapters"), "There is no adapter.")
    }

    /// Follows an adapter until it has been absent for too long, which returns true, or it can no longer be followed.
    private func follow(_ adapter: Adapter) async -> Bool {
        let end = Promise<Bool, Never>()
        following.missing = end
        let isMissing = await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                do throws(BluetoothError) {
                    for try await state in adapter.states() {
                        await settle()
                        if state == .poweredOn { await readFeatures(of: adapter) }
                    }
                } catch {
                    if error.code != .cancelled { await report(error) }
                }
                end.succeed(false)
            }
            defer { group.cancelAll() }
            return await end.value(ifCancelled: false)
        }
        if following.missing === end { (following.missing, following.absenceTimer) = (nil, nil) }
        return isMissing
    }

    /// Sets the pairing agent, if this program is responsible for pairing.
    private func preparePairing(on adapter: Adapter) async {
        do throws(BluetoothError) {
            try await adapter.setPairingAgent(configuration.agent ?? UnattendedPairingAgent(self))
        } catch {
            // BlueZ's daemon is responsible, or the program lacks the privilege.
            log.debug("\(error)")
        }
    }

    private func readFeatures(of adapter: Adapter) async {
        do throws(BluetoothError) {
            let isExtended = try await adapter.hasExtendedAdvertising()
            self.isExtended.withLock { $0 = isExtended }
        } catch {
            log.debug("\(error)")
        }
    }

    private func isMissingForLong() {
        set(.unsupported)
        following.missing?.succeed(true)
    }

    /// Derives the state from the adapter's now.
    func settle() {
        guard let adapter else { return }
        if adapter.state != .absent { following.absenceTimer = nil }
        switch adapter.state.kind {
        case .poweredOn:
            if let obstacle = following.obstacles.central { log.warning("\(obstacle)") }
            set(following.obstacles.central == nil ? .poweredOn : .unauthorized)
        case .absent:
            set(.resetting)
            guard following.absenceTimer == nil else { break }
            let timer = loop.makeLocalTimer { self.isMissingForLong() }
            timer.set(after: Self.absenceLimit)
            following.absenceTimer = timer
        case .lowEnergyOff, .poweredOff, .blocked: set(.poweredOff)
        case .unsupported: set(.unsupported)
        }
    }

    private func report(_ error: BluetoothError) {
        log.warning("\(error)")
        switch error.code {
        case .adapterOff, .adapterBlocked: set(.poweredOff)
        case .notPermitted: set(.unauthorized)
        case .busy, .timedOut: set(.resetting)
        default: set(.unsupported)
        }
    }
}

/// A manager's component at the radio, which owns it.
//
// Lives on the loop.
protocol ManagerHub: AnyObject {
    /// Reports a change of the adapter's state.
    func radioChanged(_ state: CBManagerState, mayAdvertise: Bool)

    /// Whether the manager receives the links that centrals create.
    var isServing: Bool { get }

    /// Receives a link that a central has created.
    func receive(_ connection: Connection)

    /// Ends everything: the manager was released.
    func close()
}

extension CBManager {
    /// Opens the radio, for which `make` creates the manager's handle; without a radio the manager is unsupported.
    func open(
        _ queue: DispatchQueue?, _ make: (Radio, CallbackQueue, CBLinux.Configuration) -> any ManagerHandle
    ) {
        let configuration = CBLinux.configuration
        do throws(BluetoothError) {
            let radio = try Radio.shared(configuration, log: coreBluetoothLog.logger)
            let callbacks = CallbackQueue(queue, from: radio.loop, hold: configuration.timeHold)
            let made = make(radio, callbacks, configuration)
            opened { $0 = made }
            made.begin()
        } catch {
            coreBluetoothLog.logger.error("\(error)")
            let manager = WeakReference(to: self)
            CallbackQueue(queue, hold: configuration.timeHold).post {
                manager.object?.shared { $0 = .unsupported }
                manager.object?.reportState()
            }
        }
    }
}
