import BluetoothLE
import BluetoothLoop

// The components of a radio for each central manager and each peripheral in use. They live on the loop, and end with the
// manager or the peripheral. Tasks that they start retain the handles alone.

extension Radio {
    /// The component of a manager; nil when the manager has been released.
    func hub(of handle: CentralHandle) -> CentralHub? { hub(for: handle) as? CentralHub }
}

/// The component of a central manager: its scan, and the connections of its peripherals.
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

    /// A central manager does not receive the links that centrals create.
    let isServing = false
    func receive(_ connection: Connection) {}

    func beginScan(_ options: ScanOptions, _ number: Int) {
        scan?.cancel()
        scan = Task(executorPreference: handle.radio.loop) { [handle] in
            await handle.scan(options, number)
        }
    }

    func endScan() {
        scan?.cancel()
    }

    /// The connections of a peripheral, from its first attempt until the program releases it.
    func link(of peripheral: PeripheralHandle) -> PeripheralLink {
        if let link = links[ObjectIdentifier(peripheral)] { return link }
        let link = PeripheralLink(peripheral)
        links[ObjectIdentifier(peripheral)] = link
        return link
    }

    /// Removes a peripheral that the program has released.
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
    /// The last attempt, which waits for the earlier ones.
    private var attempt: Task<Void, Never>?
    private let mark: ComponentCount.Mark

    init(_ handle: PeripheralHandle) {
        self.handle = handle
        mark = handle.radio.components.mark()
    }

    /// Starts to connect when the earlier attempts have ended.
    func begin(_ new: ConnectionAttempt) {
        let radio = handle.radio
        attempt = Task(executorPreference: radio.loop) { [before = attempt] in
            await before?.value
            await new.run(on: radio)
        }
        // Another thread may have cancelled it before it began.
        if !new.isWanted { cancel() }
    }

    /// Ends the connection, or cancels the attempt.
    func cancel() {
        attempt?.cancel()
    }

    /// The same; the program's object lives until the end was reported.
    func cancel(keeping peripheral: CBPeripheral) {
        cancel()
        Task(executorPreference: handle.radio.loop) { [attempt, handle] in
            await attempt?.value
            // Queued behind the report of the end.
            handle.central.callbacks.post(from: .device(handle.address)) { withExtendedLifetime(peripheral) {} }
        }
    }
}
