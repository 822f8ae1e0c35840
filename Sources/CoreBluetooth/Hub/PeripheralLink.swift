import BluetoothKernel
import BluetoothLE
import Foundation
import Logging
import Synchronization

/// What a program asks of a peripheral; each is answered by one callback, in the order they were asked.
enum PeripheralRequest: Sendable {
    case readRSSI
    case discoverServices([BluetoothUUID]?)
    case discoverIncludedServices([BluetoothUUID]?, Handed<CBService>)
    case discoverCharacteristics([BluetoothUUID]?, Handed<CBService>)
    case discoverDescriptors(Handed<CBCharacteristic>)
    case read(Handed<CBCharacteristic>)
    case readDescriptor(Handed<CBDescriptor>)
    case write(Handed<CBCharacteristic>, [UInt8])
    /// Not answered.
    case writeCommand(RemoteCharacteristic, [UInt8])
    case writeDescriptor(Handed<CBDescriptor>, [UInt8])
    case setNotify(Bool, Handed<CBCharacteristic>)
    /// The program has not taken its values in time, so no more are wanted.
    case stopNotifying(Handed<CBCharacteristic>)
    case openChannel(CBL2CAPPSM)
}

/// How to connect to a peripheral.
struct PeripheralConnectOptions: Sendable {
    var startDelay: Duration?
    var reconnects = false
}

/// A peripheral's connection, behind ``CBPeripheral``: attempts, requests in order, values, flow control.
///
/// It lives on the loop. What the program sees is in ``shared``, which changes on the callback queue, just before the
/// program is told.
actor PeripheralLink: LoopActor {
    struct Shared {
        var state = CBPeripheralState.disconnected
        /// Counts the program's wishes to be connected; what belongs to an earlier one is of no interest any more.
        var attempt = 0
        /// Whether the program has taken back the wish.
        var isCancelled = false
        /// Whether the program was told that the last connection to end is made again.
        var isReconnecting = false
        var name: String?
        /// Whether the name is what its attribute says, whatever it advertises.
        var isNameRead = false
        var rssi: Int?
        /// The services it advertised last.
        var advertisedServices: [BluetoothUUID] = []
        /// The services discovered so far.
        var services: [CBService]?
        /// All services there are, discovered or not, by their handles.
        var known: [AttributeHandle: CBService] = [:]
        /// The characteristics whose values are wanted.
        var notifying: [AttributeHandle: Handed<CBCharacteristic>] = [:]
        /// Takes requests while it is connected.
        var requests: RequestQueue<PeripheralRequest>?
        /// How many requests have not been answered.
        var requestCount = 0
        var commandLength = 20
        var flow: WriteFlow
        /// How many values wait to be taken by the program.
        var valueCount = 0
        /// The channels that were opened, which end with the connection.
        var channels: [WeakReference<ConnectionOrientedChannel>] = []
    }

    /// How many requests may wait.
    static let requestLimit = 1024
    /// How many values may wait for the program.
    static let valueLimit = 8192
    /// How often a link that fails to be established is tried.
    private static let connectAttempts = 8

    nonisolated let loop: EventLoop
    nonisolated let address: BluetoothAddress
    nonisolated let hub: CentralHub
    nonisolated let shared: Locked<Shared>
    private var task: Task<Void, Never>?

    init(_ address: BluetoothAddress, of hub: CentralHub) {
        self.address = address
        self.hub = hub
        loop = hub.loop
        shared = Locked(Shared(flow: WriteFlow(credits: hub.configuration.writeCredits)))
    }

    private nonisolated var log: Logger { coreBluetoothLog }

    // MARK: The program's wishes, from any thread

    /// Begins to connect, unless that has begun; a connection that is up is reported once more.
    nonisolated func connect(_ options: PeripheralConnectOptions) {
        let (state, attempt, isTaken) = shared { shared -> (CBPeripheralState, Int, Bool) in
            let state = shared.state
            switch state {
            case .connecting: break
            case .connected:
                guard shared.requestCount < Self.requestLimit else { return (state, shared.attempt, false) }
                shared.requestCount += 1
            case .disconnected, .disconnecting:
                shared.attempt += 1
                shared.state = .connecting
                shared.isCancelled = false
            }
            return (state, shared.attempt, true)
        }
        switch state {
        case .connecting: break
        case .connected:
            guard isTaken else {
                return misuse("connect(_:options:) was dropped: \(Self.requestLimit) requests are waiting already.")
            }
            answer(attempt) { [hub] peripheral, _ in
                guard let manager = hub.manager, peripheral.state == .connected else { return }
                manager.delegate?.centralManager(manager, didConnect: peripheral)
            }
        case .disconnected, .disconnecting:
            loop.execute { self.assumeIsolated { $0.begin(attempt, options) } }
        }
    }

    /// Ends the connection, or the attempt at one.
    /// - Parameter peripheral: the program's object for it, which lives until the program has received the end, though the
    ///   program lets go of it before.
    nonisolated func cancel(_ peripheral: CBPeripheral) {
        let isDue = shared { shared -> Bool in
            guard shared.state == .connecting || shared.state == .connected else { return false }
            shared.state = .disconnecting
            shared.isCancelled = true
            return true
        }
        guard isDue else { return }
        let kept = Handed(peripheral)
        loop.execute { self.assumeIsolated { $0.end(keeping: kept) } }
    }

    private func end(keeping peripheral: Handed<CBPeripheral>) {
        task?.cancel()
        Task(executorPreference: loop) { [task, hub] in
            await task?.value
            // Behind the report of the end.
            hub.callbacks.post { withExtendedLifetime(peripheral) {} }
        }
    }

    /// The program has let go of the peripheral: ends the connection, or the attempt at one, which the program has not
    /// cancelled.
    nonisolated func drop(_ description: @autoclosure () -> String) {
        let isInUse = shared { $0.state == .connecting || $0.state == .connected }
        if isInUse, hub.isOpen {
            hub.configuration.reportMisuse(
                "Cancelling connection for unused peripheral \(description()), Did you forget to keep a reference to it?"
            )
        }
        abandon()
    }

    /// Ends the connection, or the attempt at one, without a report.
    nonisolated func abandon() {
        loop.execute { self.assumeIsolated { $0.task?.cancel() } }
    }

    /// Asks something of the peripheral, or logs that it is not connected.
    nonisolated func request(_ request: PeripheralRequest, _ call: String) {
        let (isConnected, isTaken) = shared { shared -> (Bool, Bool) in
            guard shared.state == .connected, let requests = shared.requests else { return (false, false) }
            // One of the link's own always has room.
            var isOwn = false
            if case .stopNotifying = request { isOwn = true }
            guard isOwn || shared.requestCount < Self.requestLimit, requests.append(request) else {
                return (true, false)
            }
            shared.requestCount += 1
            return (true, true)
        }
        guard isConnected else {
            return misuse("\(call) has no effect while the peripheral is not connected.")
        }
        if !isTaken { misuse("\(call) was dropped: \(Self.requestLimit) requests are waiting already.") }
    }

    /// Writes a value, or logs why not.
    nonisolated func write(_ value: [UInt8], to characteristic: CBCharacteristic, _ type: CBCharacteristicWriteType) {
        guard type == .withoutResponse else {
            return request(.write(Handed(characteristic), value), "writeValue(_:for:type:)")
        }
        guard let remote = characteristic.remote, remote.properties.contains(.writeWithoutResponse) else {
            return misuse("\(characteristic.uuid) takes no writes without response; its value is not written.")
        }
        let problem = shared { shared -> String? in
            guard shared.state == .connected, let requests = shared.requests else {
                return "has no effect while the peripheral is not connected."
            }
            guard shared.flow.begin() else {
                return "was dropped: \(WriteFlow.limit) writes are waiting. Mind canSendWriteWithoutResponse."
            }
            if requests.append(.writeCommand(remote, value)) { return nil }
            shared.flow.cancel()
            return "was dropped: too much is waiting."
        }
        if let problem { misuse("writeValue(_:for:type:) \(problem)") }
    }

    nonisolated var canSend: Bool { shared { $0.state == .connected && $0.flow.canSend } }

    // MARK: Connecting

    private func begin(_ attempt: Int, _ options: PeripheralConnectOptions) {
        let before = task
        task = Task(executorPreference: loop) { [self] in
            await before?.value
            await run(attempt, options)
        }
        // Another thread may have cancelled it before it began.
        if shared({ $0.attempt != attempt || $0.isCancelled }) { task?.cancel() }
    }

    private func run(_ attempt: Int, _ options: PeripheralConnectOptions) async {
        if let delay = options.startDelay, await !sleep(for: delay) { return ended(attempt, nil) }
        repeat {
            let held: (link: SharedLink, connection: Connection)
            do throws(BluetoothError) {
                var socket = L2CAPOptions(receiveBuffer: 1 << 20)
                socket.sendBuffer = hub.configuration.sendBuffer
                held = try await hub.radio.join(
                    address, ObjectIdentifier(self),
                    ConnectionOptions(timeout: nil, attempts: Self.connectAttempts, socket: socket)
                ) { [weak self] handle, value in self?.take(value, of: handle, attempt) }
            } catch {
                await hub.radio.settle()
                return error.code == .cancelled ? ended(attempt, nil) : failed(attempt, error)
            }
            let reason = await serve(held.connection, held.link, attempt)
            await held.link.leave(ObjectIdentifier(self))
            await hub.radio.settle()
            let isReconnecting = options.reconnects && reason != nil && !Task.isCancelled
            ended(attempt, reason, isReconnecting: isReconnecting)
            guard isReconnecting else { return }
            // A device that comes and goes is told of at the program's pace.
            await isTold()
            // The program may have cancelled before it was told, and then that was the end.
            guard shared({ $0.attempt == attempt && $0.isReconnecting }) else { return }
        } while true
    }

    /// Waits; false when it was cancelled meanwhile.
    private func sleep(for duration: Duration) async -> Bool {
        let nap = OneShot<Bool>()
        let timer = loop.makeTimer { nap.resolve(true) }
        timer.set(after: duration)
        defer { timer.cancel() }
        return await nap.value(ifCancelled: false)
    }

    /// Does what the program asks over a connection until it ends; tells why it ended, nil when the program wanted it.
    private func serve(_ connection: Connection, _ link: SharedLink, _ attempt: Int) async -> BluetoothError? {
        let requests = RequestQueue<PeripheralRequest>(capacity: 2 * Self.requestLimit + WriteFlow.limit)
        let length = await connection.maximumCommandLength
        let advertised = shared { $0.advertisedServices }
        hub.radio.connected.withLock { $0[address]?.formUnion(advertised) }
        post { link, peripheral, manager in
            let isWanted = link.shared { shared -> Bool in
                guard shared.attempt == attempt, !shared.isCancelled, shared.state == .connecting else { return false }
                shared.state = .connected
                shared.isReconnecting = false
                shared.requests = requests
                shared.requestCount = 0
                shared.valueCount = 0
                shared.commandLength = length
                shared.flow.reset()
                return true
            }
            guard isWanted else { return }
            manager.delegate?.centralManager(manager, didConnect: peripheral)
            link.hub.tellConnectionEvent(.peerConnected, peripheral)
        }
        let reason = await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await readName(connection, attempt) }
            group.addTask { [self] in await work(requests, on: connection, link, attempt) }
            group.addTask { [self] in await followServices(of: connection, attempt) }
            var reason = await connection.closed()
            if reason.code == .cancelled { reason.disconnectReason = .local }
            requests.finish()
            group.cancelAll()
            return reason
        }
        let channels = shared { shared in
            defer { shared.channels = [] }
            return shared.channels.compactMap(\.object)
        }
        guard reason.disconnectReason == .local else { return reason }
        // They would keep the link up.
        for channel in channels { await channel.close() }
        return nil
    }

    // MARK: Telling the program

    /// Calls back with the peripheral and its manager, if the program still has both.
    nonisolated func post(
        _ body: @escaping @Sendable (PeripheralLink, CBPeripheral, CBCentralManager) -> Void
    ) {
        hub.callbacks.post { [self] in
            guard let manager = hub.manager, let peripheral = hub.peripheral(of: self) else { return }
            body(self, peripheral, manager)
        }
    }

    /// Waits until the program has been told everything so far.
    private nonisolated func isTold() async {
        let isTold = OneShot<Void>()
        hub.callbacks.post { isTold.resolve(()) }
        await isTold.value(ifCancelled: ())
    }

    /// Calls the delegate back, if the connection it is about is still up as far as the program knows.
    nonisolated func tell(
        _ attempt: Int, _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        hub.callbacks.post { [self] in deliver(attempt, body) }
    }

    /// The same, on the callback queue.
    nonisolated func deliver(_ attempt: Int, _ body: (CBPeripheral, (any CBPeripheralDelegate)?) -> Void) {
        guard hub.manager != nil, let peripheral = hub.peripheral(of: self) else { return }
        let isUp = shared { shared in
            shared.attempt == attempt && (shared.state == .connected || shared.state == .disconnecting)
                && shared.requests != nil
        }
        if isUp { body(peripheral, peripheral.delegate) }
    }

    /// Calls the delegate back with the answer to a request.
    nonisolated func answer(
        _ attempt: Int, _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        tell(attempt) { peripheral, delegate in
            peripheral.link.shared { $0.requestCount -= 1 }
            body(peripheral, delegate)
        }
    }

    private nonisolated func failed(_ attempt: Int, _ error: BluetoothError?) {
        post { link, peripheral, manager in
            guard link.takeEnd(attempt, state: .disconnected) else { return }
            let error = error?.coreBluetooth ?? CBError(.notConnected)
            manager.delegate?.centralManager(manager, didFailToConnect: peripheral, error: error)
        }
    }

    private nonisolated func ended(_ attempt: Int, _ reason: BluetoothError?, isReconnecting: Bool = false) {
        let time = Date().timeIntervalSinceReferenceDate
        post { link, peripheral, manager in
            let (isCancelled, isCurrent) = link.shared { ($0.isCancelled, $0.attempt == attempt) }
            let isReconnecting = isReconnecting && !isCancelled && isCurrent
            guard link.takeEnd(attempt, state: isReconnecting ? .connecting : .disconnected) else { return }
            manager.delegate?.centralManager(
                manager, didDisconnectPeripheral: peripheral, timestamp: time, isReconnecting: isReconnecting,
                error: isCancelled ? nil : reason?.coreBluetooth)
            link.hub.tellConnectionEvent(.peerDisconnected, peripheral)
        }
    }

    /// Takes in the end of a connection or an attempt; says whether the program is to be told.
    private nonisolated func takeEnd(_ attempt: Int, state: CBPeripheralState) -> Bool {
        let (isCurrent, gone, notifying) = shared { shared in
            // What the program has begun meanwhile has a state of its own.
            let isCurrent = shared.attempt == attempt
            defer {
                if isCurrent {
                    shared.state = state
                    shared.isReconnecting = state == .connecting
                    shared.requests = nil
                }
                shared.services = nil
                shared.known = [:]
                shared.notifying = [:]
                shared.flow.reset()
            }
            return (isCurrent, shared.known, shared.notifying)
        }
        for characteristic in notifying.values { characteristic.object.contents { $0.isNotifying = false } }
        withExtendedLifetime(gone) {}
        // The end of what the program itself has ended is told though it has begun anew.
        return isCurrent || shared { $0.attempt == attempt + 1 }
    }
}
