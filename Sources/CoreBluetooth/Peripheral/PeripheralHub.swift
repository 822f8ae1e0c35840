import BluetoothLE
import BluetoothLoop

extension Radio {
    /// The component of a manager; nil when the manager has been released.
    func hub(of handle: PeripheralManagerHandle) -> PeripheralHub? { hub(for: handle) as? PeripheralHub }

    /// Reports the links that centrals create to a manager: present and future ones.
    func serve(_ handle: PeripheralManagerHandle) {
        if let hub = hub(of: handle), hub.beginServing() { serve(hub) }
    }
}

/// The component of a peripheral manager: the tasks that follow the centrals and advertise. It lives on the loop and
/// ends with the manager; its tasks retain the handle alone.
final class PeripheralHub: ManagerHub {
    let handle: PeripheralManagerHandle
    /// The links that centrals have created and that are not followed yet.
    private let incoming = BoundedQueue<Connection>(capacity: 1024)
    /// The task that follows the centrals and sends them values.
    private var worker: Task<Void, Never>?
    /// The last advertising step, which waits for the earlier ones.
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

    /// Starts to follow the links that centrals create; false when it does already.
    func beginServing() -> Bool {
        guard worker == nil else { return false }
        worker = Task(executorPreference: handle.radio.loop) { [handle, incoming] in await handle.follow(incoming) }
        return true
    }

    /// Receives a link that a central has created.
    func receive(_ connection: Connection) {
        if !incoming.append(connection) {
            coreBluetoothLog.warning("\(connection.peer.digits) is not reported: too many links are queued.")
        }
    }

    /// Performs an advertising step after the earlier ones.
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
