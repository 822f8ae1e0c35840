import BluetoothKernel
import BluetoothLE

/// The link to a device, which all managers of the program share: it is made when the first wants it, and ends when the
/// last has let it go.
///
/// It lives on the loop, as those do who hold it.
actor SharedLink: LoopActor {
    typealias ValueHandler = @Sendable (AttributeHandle, [UInt8]) -> Void

    private struct Holder {
        let takeValue: ValueHandler
        /// Resolved when the link is up, or will not be.
        let call: Promise<Connection, BluetoothError>
        /// The values it wants to be told, and the descriptors that ask the device for them.
        var wanted: [AttributeHandle: RemoteDescriptor] = [:]
    }

    nonisolated let loop: EventLoop
    nonisolated let address: BluetoothAddress
    private var holders: [ObjectIdentifier: Holder] = [:]
    private var attempt: Task<Void, Never>?
    private var connection: Connection?
    /// Whether the link ends with its last holder; not so when it was the device that made it.
    private var isOurs = true
    /// Whether nobody can join any more.
    private var isOver = false
    /// Takes back what a holder that has gone had asked the device for.
    private var silencing: Task<Void, Never>?
    private let onUp: @Sendable (SharedLink) -> Void
    private let onEnd: @Sendable (SharedLink) -> Void

    /// - Parameters:
    ///   - onUp: called on the loop when the link is up.
    ///   - onEnd: called on the loop when the last holder has let it go.
    init(
        to address: BluetoothAddress, on loop: EventLoop, onUp: @escaping @Sendable (SharedLink) -> Void,
        onEnd: @escaping @Sendable (SharedLink) -> Void
    ) {
        self.address = address
        self.loop = loop
        self.onUp = onUp
        self.onEnd = onEnd
    }

    /// Whether another may join: it is up, or being made.
    var isOpen: Bool { !isOver && connection.map { $0.assumeIsolated { $0.isConnected } } ?? true }

    /// Whether it leads to `peer`, and was made here.
    func isOurs(_ peer: BluetoothAddress) -> Bool {
        guard isOurs, !isOver, let connection else { return false }
        return address == peer || connection.assumeIsolated { $0.identity } == peer
    }

    // MARK: Holding

    /// Takes a link that is up already, made by the device.
    func adopt(_ connection: Connection) {
        isOurs = false
        up(connection)
    }

    /// Holds the link, and waits until it is up; the first has it made. Who throws does not hold it.
    /// - Parameter takeValue: told every value that comes, on the loop.
    func join(
        _ id: ObjectIdentifier, _ adapter: Adapter, _ options: ConnectionOptions, takeValue: @escaping ValueHandler
    ) async throws(BluetoothError) -> Connection {
        let call = Promise<Connection, BluetoothError>()
        holders[id] = Holder(takeValue: takeValue, call: call)
        if let connection {
            return connection
        }
        if attempt == nil {
            attempt = Task(executorPreference: loop) { [self] in
                do throws(BluetoothError) {
                    let connection = try await adapter.connect(to: address, options: options)
                    if await !take(connection) { await connection.disconnect() }
                } catch {
                    await fail(error)
                }
            }
        }
        let cancelled = BluetoothError(.cancelled, .init("connect", peer: address), "It was cancelled.")
        do throws(BluetoothError) {
            return try await call.value(ifCancelled: cancelled)
        } catch {
            await leave(id)
            throw error
        }
    }

    /// Lets go of the link; it ends when nobody else holds it.
    func leave(_ id: ObjectIdentifier) async {
        guard let holder = holders.removeValue(forKey: id) else { return }
        guard holders.isEmpty else { return silence(holder.wanted) }
        isOver = true
        attempt?.cancel()
        if isOurs {
            await connection?.disconnect()
        } else {
            await connection?.observeValues(nil)
            silence(holder.wanted)
        }
        onEnd(self)
    }

    /// Takes the link that was made; false when nobody wants it any more.
    private func take(_ connection: Connection) -> Bool {
        guard !isOver else { return false }
        up(connection)
        for holder in holders.values { holder.call.succeed(connection) }
        return true
    }

    private func up(_ connection: Connection) {
        self.connection = connection
        connection.assumeIsolated {
            $0.observeValues { [weak self] handle, value in self?.assumeIsolated { $0.tell(value, of: handle) } }
        }
        onUp(self)
    }

    private func fail(_ error: BluetoothError) {
        isOver = true
        for holder in holders.values { holder.call.fail(error) }
    }

    private func tell(_ value: [UInt8], of handle: AttributeHandle) {
        for holder in holders.values { holder.takeValue(handle, value) }
    }

    // MARK: Values

    /// Takes note that a holder wants to be told a value; returns when the device may be asked for it.
    func want(_ handle: AttributeHandle, by descriptor: RemoteDescriptor, _ id: ObjectIdentifier) async {
        holders[id]?.wanted[handle] = descriptor
        await silencing?.value
    }

    /// Takes note that a holder does not want to be told a value any more; says whether nobody does.
    func unwant(_ handle: AttributeHandle, _ id: ObjectIdentifier) -> Bool {
        holders[id]?.wanted[handle] = nil
        return !isWanted(handle)
    }

    private func isWanted(_ handle: AttributeHandle) -> Bool {
        holders.values.contains { $0.wanted[handle] != nil }
    }

    /// Asks the device no more for what nobody wants.
    private func silence(_ wanted: [AttributeHandle: RemoteDescriptor]) {
        let unwanted = wanted.filter { !isWanted($0.key) }.sorted { $0.key < $1.key }
        guard !unwanted.isEmpty, let connection else { return }
        silencing = Task(executorPreference: loop) { [self, before = silencing] in
            await before?.value
            for (handle, descriptor) in unwanted where await !isWanted(handle) {
                // A device that refuses goes on sending, and nobody is told.
                try? await connection.write([0, 0], to: descriptor)
            }
        }
    }
}
