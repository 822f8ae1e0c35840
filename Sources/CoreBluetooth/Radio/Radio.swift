import BluetoothSockets
import BluetoothLE
import BluetoothLoop
import Logging
import Synchronization

/// The adapter that all managers of the program share, and how it stands in Core Bluetooth's terms.
///
/// It is the one actor, and owns what lives on the loop: the managers' work and the links. What a program's objects keep are
/// handles, which say ``LoopActor/soon(_:)`` what they want.
///
/// The adapter is opened when the first manager wants it, followed through everything that happens to it, and closed when the
/// last manager has gone.
actor Radio: LoopActor {
    nonisolated let loop: EventLoop
    nonisolated let kernel: any BluetoothKernel
    nonisolated let log: Logger
    /// Who is connected by whichever manager, and with which services as far as they are known.
    nonisolated let connected = Mutex<[BluetoothAddress: Set<BluetoothUUID>]>([:])
    /// How many components and handles there are.
    nonisolated let components: ComponentCount
    private let mark: ComponentCount.Mark
    private let configuration: CBLinux.Configuration
    /// Whether the controller hears extended advertisements; not so until it has told.
    nonisolated let isExtended = Mutex(false)
    /// The links that managers hold; see Radio+Links.
    let links: LinkTable
    /// What the managers have here, by their handles.
    private var managers: [ObjectIdentifier: any ManagerHub] = [:]
    private var acceptance = Acceptance()
    private var following = Following()

    /// Takes the links that centrals make, while there is a manager to tell of them.
    private struct Acceptance {
        var task: Task<Void, Never>?
        var incoming: IncomingConnections?
    }

    /// Follows the adapter, while there is a manager.
    private struct Following {
        var adapter: Adapter?
        var state = CBManagerState.unknown
        var task: Task<Void, Never>?
        /// What rights the program lacks.
        var obstacles = HostObstacles()
        var absenceTimer: LoopTimer?
        /// Resolved when the adapter is not followed any more.
        var missing: Promise<Bool, Never>?
    }

    /// How long an adapter that has gone may take to come back before there is none.
    private static let absenceLimit = Duration.seconds(10)

    private struct Key: Hashable {
        let kernel: ObjectIdentifier
        let selector: AdapterSelector
    }

    private static let all = Mutex<[Key: WeakReference<Radio>]>([:])

    /// The one for the adapter of `configuration`.
    static func shared(_ configuration: CBLinux.Configuration, log: Logger) throws(BluetoothError) -> Radio {
        let kernel = try configuration.makeKernel()
        let key = Key(kernel: ObjectIdentifier(kernel), selector: configuration.selector)
        return all.withLock { all in
            if let radio = all[key]?.object { return radio }
            let radio = Radio(kernel, configuration, log)
            all[key] = WeakReference(radio)
            return radio
        }
    }

    /// Whether the adapter of `configuration` hears extended advertisements, as far as a manager has found out.
    static func isExtended(_ configuration: CBLinux.Configuration) -> Bool {
        guard let kernel = try? configuration.makeKernel() else { return false }
        let key = Key(kernel: ObjectIdentifier(kernel), selector: configuration.selector)
        let radio = all.withLock { $0[key]?.object }
        return radio?.isExtended.withLock { $0 } ?? false
    }

    private init(_ kernel: any BluetoothKernel, _ configuration: CBLinux.Configuration, _ log: Logger) {
        self.kernel = kernel
        self.configuration = configuration
        self.log = log
        loop = kernel.loop
        components = ComponentCount()
        mark = components.mark()
        links = LinkTable(components)
    }

    deinit {
        let key = Key(kernel: ObjectIdentifier(kernel), selector: configuration.selector)
        // There may be another by now, whose last reference must not go while the lock is held.
        let other = Self.all.withLock { all in
            let other = all[key]?.object
            if other == nil { all[key] = nil }
            return other
        }
        withExtendedLifetime(other) {}
    }

    /// The adapter, once it is open.
    var adapter: Adapter? { following.adapter }

    // MARK: Managers

    /// A manager begins; it is told how the adapter stands, now if that is known, and whenever it changes.
    func open(_ hub: any ManagerHub, for handle: AnyObject) {
        managers[ObjectIdentifier(handle)] = hub
        if following.state != .unknown { tell(hub) }
        beginToFollow()
    }

    /// What a manager has here; nil when it has gone.
    func hub(for handle: AnyObject) -> (any ManagerHub)? { managers[ObjectIdentifier(handle)] }

    /// A manager has gone.
    func close(_ handle: AnyObject) {
        managers.removeValue(forKey: ObjectIdentifier(handle))?.close()
        stopIfUnused()
    }

    private func tell(_ hub: any ManagerHub) {
        hub.radioChanged(following.state, mayAdvertise: following.obstacles.peripheral == nil)
    }

    private var isUsed: Bool { !managers.isEmpty }

    private func stopIfUnused() {
        if servers.isEmpty { acceptance.task?.cancel() }
        guard !isUsed else { return }
        // Whoever comes next follows an adapter that is opened anew, while this one is still being opened or closed.
        following.task?.cancel()
        following = Following()
    }

    private func set(_ state: CBManagerState) {
        guard state != following.state, isUsed else { return }
        following.state = state
        if state == .poweredOn { accept() }
        for hub in managers.values { tell(hub) }
    }

    /// Takes services back.
    func withdraw(_ services: [PublishedServices]) async {
        for services in services { await services.withdraw() }
    }

    // MARK: Centrals

    /// Has the links that centrals make told to a manager that asks for it: those that are up, and those to come.
    func serve(_ hub: any ManagerHub) {
        for connection in acceptance.incoming?.connections ?? [] { hub.take(connection) }
        accept()
    }

    /// The newest link that a central has made from an address: one before it may still be here.
    func central(_ address: BluetoothAddress) -> Connection? {
        acceptance.incoming?.connections.last { $0.peer == address }
    }

    /// Takes the links that centrals make, for as long as somebody wants them and there is an adapter.
    private func accept() {
        guard acceptance.task == nil, !servers.isEmpty, let adapter else { return }
        acceptance.task = Task(executorPreference: loop) { [weak self] in
            do throws(BluetoothError) {
                let incoming = try await adapter.incomingConnections()
                await self?.accepting(incoming)
                for try await connection in incoming { await self?.tell(connection) }
            } catch {
                if error.code != .cancelled { coreBluetoothLog.warning("no links are taken: \(error)") }
            }
            await self?.acceptorEnded()
        }
    }

    /// The managers that are told of the links that centrals make.
    private var servers: [any ManagerHub] { managers.values.filter(\.isServing) }

    private func accepting(_ incoming: IncomingConnections) { acceptance.incoming = incoming }

    private func tell(_ connection: Connection) {
        for hub in servers { hub.take(connection) }
    }

    private func acceptorEnded() {
        let isWanted = acceptance.task?.isCancelled == true
        acceptance.task = nil
        acceptance.incoming = nil
        // Somebody has come while it was ending.
        if isWanted { accept() }
    }

    // MARK: Following the adapter

    private func beginToFollow() {
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
                // It has been away for long; whichever is there next will do.
                guard isMissing, !Task.isCancelled else { return }
            }
        } catch {
            if error.code != .cancelled { report(error) }
        }
    }

    /// Opens the adapter, as soon as there is one that can be used.
    private func open() async throws(BluetoothError) -> Adapter {
        let changes = try await Adapter.changes(on: kernel)
        var iterator = changes.makeAsyncIterator()
        var last: BluetoothError?
        repeat {
            do throws(BluetoothError) {
                let selector = configuration.selector
                return try await Adapter.open(
                    selector, power: configuration.power, bonds: configuration.bonds, on: kernel, log: log)
            } catch {
                if error.code == .cancelled { throw error }
                // The same for each adapter that is there already.
                if error.code != last?.code { report(error) }
                last = error
            }
        } while try await iterator.next() != nil
        throw last ?? BluetoothError(.noAdapter, .init("follow the adapters"), "There is no adapter.")
    }

    /// Follows an adapter until it has been away for too long, which is true, or nothing can be told of it any more.
    private func follow(_ adapter: Adapter) async -> Bool {
        let end = Promise<Bool, Never>()
        following.missing = end
        let isMissing = await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                do throws(BluetoothError) {
                    for try await state in adapter.states {
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

    /// Chooses who answers what pairing asks, as far as that is this program's business.
    private func preparePairing(on adapter: Adapter) async {
        do throws(BluetoothError) {
            try await adapter.setPairingAgent(configuration.agent ?? UnattendedPairingAgent(self))
        } catch {
            // Pairing is the daemon's, or nobody's.
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

    /// Takes in how the adapter stands at this moment.
    func settle() {
        guard let adapter else { return }
        switch adapter.state {
        case .poweredOn:
            following.absenceTimer = nil
            if let obstacle = following.obstacles.central { log.warning("\(obstacle)") }
            set(following.obstacles.central == nil ? .poweredOn : .unauthorized)
        case .absent:
            set(.resetting)
            guard following.absenceTimer == nil else { break }
            let timer = loop.makeLocalTimer { self.isMissingForLong() }
            timer.set(after: Self.absenceLimit)
            following.absenceTimer = timer
        case .lowEnergyOff, .poweredOff, .blocked:
            following.absenceTimer = nil
            set(.poweredOff)
        case .unsupported:
            following.absenceTimer = nil
            set(.unsupported)
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

/// What a manager has at the radio, which owns it.
//
// Lives on the loop.
protocol ManagerHub: AnyObject {
    /// The adapter stands otherwise.
    func radioChanged(_ state: CBManagerState, mayAdvertise: Bool)

    /// Whether it is told of the links that centrals make.
    var isServing: Bool { get }

    /// Takes a link that a central has made.
    func take(_ connection: Connection)

    /// Ends everything: the manager has gone.
    func close()
}
