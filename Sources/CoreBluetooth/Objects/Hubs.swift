import BluetoothLE
import BluetoothLoop

// What a radio owns for each manager and each peripheral that is used. All of it lives on the loop, and goes with the
// manager or the peripheral. Tasks that it begins know the handles alone.

extension Radio {
    func open(_ handle: CentralHandle) { open(CentralHub(handle), for: handle) }
    func open(_ handle: PeripheralManagerHandle) { open(PeripheralHub(handle), for: handle) }

    /// What a manager has here; nil when it has gone.
    func hub(of handle: CentralHandle) -> CentralHub? { hub(for: handle) as? CentralHub }
    func hub(of handle: PeripheralManagerHandle) -> PeripheralHub? { hub(for: handle) as? PeripheralHub }

    /// Has the links that centrals make told to a manager: those that are up, and those to come.
    func serve(_ handle: PeripheralManagerHandle) {
        if let hub = hub(of: handle), hub.beginServing() { serve(hub) }
    }
}

/// A central manager's work: its scan, and the connections of its peripherals.
final class CentralHub: ManagerHub {
    let handle: CentralHandle
    private var scan: Task<Void, Never>?
    private var links: [ObjectIdentifier: PeripheralLink] = [:]
    private let mark: ComponentCount.Mark

    init(_ handle: CentralHandle) {
        self.handle = handle
        mark = handle.radio.components.mark()
    }

    func radioChanged(_ state: CBManagerState, mayAdvertise: Bool) { handle.radioChanged(state) }

    /// A central manager is not told of the links that centrals make.
    let isServing = false
    func take(_ connection: Connection) {}

    func beginScan(_ request: ScanRequest) {
        scan?.cancel()
        scan = Task(executorPreference: handle.radio.loop) { [handle] in await handle.scan(request) }
    }

    func endScan() {
        scan?.cancel()
    }

    /// The connections of a peripheral, which has them from its first attempt until the program lets go of it.
    func link(of peripheral: PeripheralHandle) -> PeripheralLink {
        if let link = links[ObjectIdentifier(peripheral)] { return link }
        let link = PeripheralLink(peripheral)
        links[ObjectIdentifier(peripheral)] = link
        return link
    }

    /// The program has let go of a peripheral.
    func remove(_ peripheral: PeripheralHandle) {
        links.removeValue(forKey: ObjectIdentifier(peripheral))?.cancel()
    }

    /// Ends everything.
    func close() {
        for link in links.values { link.cancel() }
        scan?.cancel()
    }
}

/// A peripheral's connections, one after the other.
final class PeripheralLink {
    private let handle: PeripheralHandle
    /// The last attempt, which waits for those before it.
    private var attempt: Task<Void, Never>?
    private let mark: ComponentCount.Mark

    init(_ handle: PeripheralHandle) {
        self.handle = handle
        mark = handle.radio.components.mark()
    }

    /// Begins to connect when what went before has ended.
    func begin(_ new: ConnectionAttempt) {
        let radio = handle.radio
        attempt = Task(executorPreference: radio.loop) { [before = attempt] in
            await before?.value
            await new.run(on: radio)
        }
        // Another thread may have cancelled it before it began.
        if !new.isWanted { cancel() }
    }

    /// Ends the connection, or the attempt at one.
    func cancel() {
        attempt?.cancel()
    }

    /// The same; the program's object lives until the end was reported.
    func cancel(keeping peripheral: Handed<CBPeripheral>) {
        cancel()
        Task(executorPreference: handle.radio.loop) { [attempt, callbacks = handle.central.callbacks] in
            await attempt?.value
            // Behind the report of the end.
            callbacks.post { withExtendedLifetime(peripheral) {} }
        }
    }
}

/// A peripheral manager's work: who follows the centrals, and who advertises.
final class PeripheralHub: ManagerHub {
    let handle: PeripheralManagerHandle
    /// The links that centrals have made and that are not followed yet.
    private let incoming = RequestQueue<Connection>(capacity: 1024)
    /// Follows the centrals, and sends them values.
    private var worker: Task<Void, Never>?
    /// The last that was to be done about advertising, which waits for what was to be done before.
    private var advertiser: Task<Void, Never>?
    private let mark: ComponentCount.Mark

    init(_ handle: PeripheralManagerHandle) {
        self.handle = handle
        mark = handle.radio.components.mark()
    }

    func radioChanged(_ state: CBManagerState, mayAdvertise: Bool) {
        handle.radioChanged(state == .poweredOn && !mayAdvertise ? .unauthorized : state)
    }

    var isServing: Bool { worker != nil }

    /// Begins to follow the links that centrals make; false when it does already.
    func beginServing() -> Bool {
        guard worker == nil else { return false }
        worker = Task(executorPreference: handle.radio.loop) { [handle, incoming] in await handle.follow(incoming) }
        return true
    }

    /// Takes a link that a central has made.
    func take(_ connection: Connection) {
        if !incoming.append(connection) {
            coreBluetoothLog.warning("\(connection.peer) is not told of: too many links wait.")
        }
    }

    /// Does something about advertising, after what was to be done before.
    func advertise(_ step: @escaping @Sendable () async -> Void) {
        advertiser = Task(executorPreference: handle.radio.loop) { [before = advertiser] in
            await before?.value
            await step()
        }
    }

    /// Ends everything.
    func close() {
        incoming.finish()
        worker?.cancel()
        advertise { [handle] in await handle.takeBack() }
    }
}
