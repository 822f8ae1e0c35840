import BluetoothKernel
import BluetoothLE
import Foundation
import Logging

/// A peripheral manager's work, behind ``CBPeripheralManager``: the state, the services, the centrals, what is
/// advertised and what is sent.
actor PeripheralHub: LoopActor {
    /// A service that is offered.
    struct Offer {
        let service: Handed<CBMutableService>
        /// Nil until it is there.
        var published: PublishedServices?
        var handles: [AttributeHandle] = []
    }

    /// A central that is connected.
    struct Link {
        let central: Handed<CBCentral>
        let connection: Connection
        var subscriptions: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    }

    /// A value on its way to subscribers.
    struct Update: Sendable {
        let value: [UInt8]
        let handle: AttributeHandle
        /// To whom; nil for all.
        let addresses: Set<BluetoothAddress>?
    }

    struct Shared {
        var isAdvertising = false
        /// Counts what the program has advertised; what belongs to an earlier one is of no interest any more.
        var advertisingNumber = 0
        var offers: [Offer] = []
        var characteristics: [AttributeHandle: Handed<CBMutableCharacteristic>] = [:]
        var links: [BluetoothAddress: Link] = [:]
        var flow = WriteFlow(credits: 64)
        /// Whether the program was told that a value was not sent.
        var isWaiting = false
        var listeners: [CBL2CAPPSM: Task<Void, Never>] = [:]
    }

    nonisolated let loop: EventLoop
    nonisolated let radio: Radio
    nonisolated let callbacks: CallbackQueue
    nonisolated let shared = Locked(Shared())
    private nonisolated let updates = RequestQueue<Update>(capacity: WriteFlow.limit)
    private nonisolated let owner: WeakReference<CBPeripheralManager>
    private var acceptor: Task<Void, Never>?
    private var advertiser: Task<Void, Never>?
    private var advertised: AdvertisingSet?

    init(_ manager: WeakReference<CBPeripheralManager>, _ radio: Radio, _ callbacks: CallbackQueue) {
        owner = manager
        self.radio = radio
        self.callbacks = callbacks
        loop = radio.loop
    }

    nonisolated var manager: CBPeripheralManager? { owner.object }

    nonisolated func onLoop(_ body: @escaping @Sendable (isolated PeripheralHub) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    /// Calls back with the manager and its delegate, if the program still has them.
    nonisolated func post(
        _ body: @escaping @Sendable (CBPeripheralManager, (any CBPeripheralManagerDelegate)?) -> Void
    ) {
        callbacks.post { [self] in
            guard let manager else { return }
            body(manager, manager.delegate)
        }
    }

    // MARK: Life

    nonisolated func begin() {
        let id = ObjectIdentifier(self)
        loop.execute { [radio, weak self] in
            radio.assumeIsolated { [weak self] radio in radio.attach(id) { [weak self] in self?.radioChanged($0) } }
        }
    }

    nonisolated func close() {
        let id = ObjectIdentifier(self)
        removeServices { _ in true }
        let listeners = shared { $0.listeners.values.map { $0 } }
        for listener in listeners { listener.cancel() }
        updates.finish()
        onLoop { hub in
            hub.acceptor?.cancel()
            hub.stop()
            hub.radio.assumeIsolated { $0.detach(id) }
        }
    }

    private nonisolated func radioChanged(_ state: CBManagerState) {
        var state = state
        if state == .poweredOn, !radio.kernel.environment().hasNetAdmin { state = .unauthorized }
        post { [self, state] manager, delegate in
            manager.shared { $0 = state }
            if state != .poweredOn { shared { $0.isAdvertising = false } }
            delegate?.peripheralManagerDidUpdateState(manager)
        }
    }

    // MARK: Advertising

    nonisolated func startAdvertising(name: String?, services: [BluetoothUUID]) {
        let number = shared { shared -> Int? in
            guard !shared.isAdvertising else { return nil }
            shared.advertisingNumber += 1
            return shared.advertisingNumber
        }
        guard let number else {
            return post { $1?.peripheralManagerDidStartAdvertising($0, error: CBError(.alreadyAdvertising)) }
        }
        onLoop { $0.start(number, name, services) }
    }

    nonisolated func stopAdvertising() {
        shared { shared in
            shared.advertisingNumber += 1
            shared.isAdvertising = false
        }
        onLoop { $0.stop() }
    }

    private func start(_ number: Int, _ name: String?, _ services: [BluetoothUUID]) {
        accept()
        advertiser = Task(executorPreference: loop) { [weak self, before = advertiser] in
            await before?.value
            await self?.advertise(number, name, services)
        }
    }

    private func stop() {
        advertiser = Task(executorPreference: loop) { [weak self, before = advertiser] in
            await before?.value
            await self?.takeBack()
        }
    }

    private func takeBack() async {
        let set = advertised
        advertised = nil
        await set?.stop()
    }

    private func advertise(_ number: Int, _ name: String?, _ services: [BluetoothUUID]) async {
        guard shared({ $0.advertisingNumber == number }) else { return }
        await takeBack()
        var content = AdvertisementContent(localName: name, services: services)
        content.overflow = .leaveOut
        do throws(BluetoothError) {
            guard let adapter = await radio.adapter else {
                throw BluetoothError(.adapterOff, .init("advertise"), "There is no adapter now.")
            }
            advertised = try await adapter.advertise(content)
            post { [self] manager, delegate in
                let isCurrent = shared { shared -> Bool in
                    guard shared.advertisingNumber == number else { return false }
                    shared.isAdvertising = true
                    return true
                }
                if isCurrent { delegate?.peripheralManagerDidStartAdvertising(manager, error: nil) }
            }
        } catch {
            coreBluetoothLog.warning("\(error)")
            post { $1?.peripheralManagerDidStartAdvertising($0, error: error.coreBluetooth) }
        }
    }

    // MARK: Services

    nonisolated func add(_ service: CBMutableService) {
        let layout: ServiceLayout
        do {
            layout = try ServiceLayout(service)
        } catch {
            let service = Handed(service)
            return post { $1?.peripheralManager($0, didAdd: service.object, error: error) }
        }
        let isNew = shared { shared -> Bool in
            guard !shared.offers.contains(where: { $0.service.object === service }) else { return false }
            shared.offers.append(Offer(service: Handed(service)))
            return true
        }
        let service = Handed(service)
        guard isNew else {
            return post { $1?.peripheralManager($0, didAdd: service.object, error: CBError(.invalidParameters)) }
        }
        onLoop { $0.publish(layout, service) }
    }

    private func publish(_ layout: ServiceLayout, _ service: Handed<CBMutableService>) {
        accept()
        // On the loop, as the adapter is: there is nothing to wait for.
        let adapter = radio.assumeIsolated { $0.adapter }
        let handlers = handlers
        do throws(BluetoothError) {
            guard let adapter else {
                throw BluetoothError(.adapterOff, .init("add a service"), "There is no adapter now.")
            }
            let result = adapter.assumeIsolated { adapter in
                Result { () throws(BluetoothError) in try adapter.publish([layout.service], handlers: handlers) }
            }
            let published = try result.get()
            let handles = layout.valueHandles(from: published.handles.start)
            shared { shared in
                guard let index = shared.offers.firstIndex(where: { $0.service.object === service.object }) else {
                    return
                }
                shared.offers[index].published = published
                shared.offers[index].handles = handles
                for (handle, characteristic) in zip(handles, layout.characteristics) {
                    shared.characteristics[handle] = characteristic
                }
            }
            post { $1?.peripheralManager($0, didAdd: service.object, error: nil) }
        } catch {
            shared { shared in shared.offers.removeAll { $0.service.object === service.object } }
            post { $1?.peripheralManager($0, didAdd: service.object, error: error.coreBluetooth) }
        }
    }

    nonisolated func removeServices(_ isMeant: (CBMutableService) -> Bool) {
        let removed = shared { shared -> [Offer] in
            let removed = shared.offers.filter { isMeant($0.service.object) }
            shared.offers.removeAll { isMeant($0.service.object) }
            for handle in removed.flatMap(\.handles) { shared.characteristics[handle] = nil }
            return removed
        }
        let published = removed.compactMap(\.published)
        guard !published.isEmpty else { return }
        onLoop { hub in
            guard let adapter = hub.radio.assumeIsolated({ $0.adapter }) else { return }
            adapter.assumeIsolated { adapter in
                for services in published { adapter.withdraw(services) }
            }
        }
    }

    // MARK: Requests

    private nonisolated var handlers: AttributeHandlers {
        var handlers = AttributeHandlers(read: { [weak self] request in
            guard let self else { throw ATTErrorCode.unlikelyError }
            return try await read(request)
        })
        handlers.writeTogether = { [weak self] writes in
            guard let self else { throw ATTErrorCode.unlikelyError }
            try await write(writes)
        }
        return handlers
    }

    private nonisolated func central(_ address: BluetoothAddress) -> CBCentral {
        shared { $0.links[address]?.central.object } ?? CBCentral(address)
    }

    private nonisolated func read(_ request: AttributeRequest) async throws -> [UInt8] {
        guard let characteristic = shared({ $0.characteristics[request.handle] }) else {
            throw ATTErrorCode.attributeNotFound
        }
        let answer = OneShot<Result<[UInt8], ATTErrorCode>>()
        post { [self] manager, delegate in
            let wish = CBATTRequest(
                central(request.peer), characteristic.object, offset: request.offset, value: nil, answer: answer)
            guard let delegate else { return manager.respond(to: wish, withResult: .requestNotSupported) }
            delegate.peripheralManager(manager, didReceiveRead: wish)
        }
        return try await answer.value(ifCancelled: .failure(.unlikelyError)).get()
    }

    private nonisolated func write(_ writes: [(request: AttributeRequest, value: [UInt8])]) async throws {
        let subjects = writes.map { write in shared { $0.characteristics[write.request.handle] } }
        let answer = OneShot<Result<[UInt8], ATTErrorCode>>()
        post { [self] manager, delegate in
            let wishes = zip(writes, subjects).compactMap { write, subject in
                subject.map {
                    CBATTRequest(
                        central(write.request.peer), $0.object, offset: write.request.offset, value: Data(write.value),
                        answer: answer)
                }
            }
            guard let first = wishes.first, wishes.count == writes.count else {
                answer.resolve(.failure(.attributeNotFound))
                return
            }
            guard let delegate else { return manager.respond(to: first, withResult: .writeNotPermitted) }
            delegate.peripheralManager(manager, didReceiveWrite: wishes)
        }
        _ = try await answer.value(ifCancelled: .failure(.unlikelyError)).get()
    }

    // MARK: Centrals

    /// Begins to take the links that centrals make.
    private func accept() {
        guard acceptor == nil else { return }
        acceptor = Task(executorPreference: loop) { [weak self, radio, updates] in
            do throws(BluetoothError) {
                guard let adapter = await radio.adapter else { return }
                let incoming = try await adapter.incomingConnections()
                try await withLinks(incoming, self, updates)
            } catch {
                if error.code != .cancelled { coreBluetoothLog.warning("no links are taken: \(error)") }
            }
            await self?.acceptorEnded()
        }
    }

    private func acceptorEnded() { acceptor = nil }

    /// Follows what a central has subscribed to, until its link ends.
    fileprivate nonisolated func follow(_ connection: Connection) async {
        let central = Handed(CBCentral(connection.peer))
        shared { $0.links[connection.peer] = Link(central: central, connection: connection) }
        do throws(BluetoothError) {
            for try await change in await connection.peerSubscriptions() {
                central.object.setMaximumUpdateValueLength(await connection.maximumCommandLength)
                take(change, of: connection)
            }
        } catch {
            coreBluetoothLog.debug("\(error)")
        }
        let ended = shared { shared -> Link? in
            guard shared.links[connection.peer]?.connection === connection else { return nil }
            return shared.links.removeValue(forKey: connection.peer)
        }
        for handle in ended?.subscriptions.keys.sorted() ?? [] { tellSubscription(false, handle, central) }
    }

    private nonisolated func take(_ change: PeerSubscription, of connection: Connection) {
        let (before, central) = shared { shared in
            let before = shared.links[connection.peer]?.subscriptions[change.characteristic] ?? []
            shared.links[connection.peer]?.subscriptions[change.characteristic] =
                change.configuration.isEmpty ? nil : change.configuration
            return (before, shared.links[connection.peer]?.central)
        }
        guard let central, before.isEmpty != change.configuration.isEmpty else { return }
        tellSubscription(before.isEmpty, change.characteristic, central)
    }

    private nonisolated func tellSubscription(
        _ isSubscribed: Bool, _ handle: AttributeHandle, _ central: Handed<CBCentral>
    ) {
        guard let characteristic = shared({ $0.characteristics[handle] })?.object else { return }
        let subject = Handed(characteristic)
        post { manager, delegate in
            subject.object.setSubscribed(isSubscribed, central.object)
            if isSubscribed {
                delegate?.peripheralManager(manager, central: central.object, didSubscribeTo: subject.object)
            } else {
                delegate?.peripheralManager(manager, central: central.object, didUnsubscribeFrom: subject.object)
            }
        }
    }

    // MARK: Values

    /// Takes a value for subscribers; false when there is no room for it.
    nonisolated func update(
        _ value: [UInt8], of characteristic: CBMutableCharacteristic, for centrals: [CBCentral]?
    ) -> Bool {
        let addresses = centrals.map { Set($0.map(\.address)) }
        return shared { shared in
            guard let handle = shared.characteristics.first(where: { $0.value.object === characteristic })?.key else {
                return true
            }
            guard shared.flow.canSend, shared.flow.begin() else {
                shared.isWaiting = true
                return false
            }
            if updates.append(Update(value: value, handle: handle, addresses: addresses)) { return true }
            shared.flow.cancel()
            return false
        }
    }

    /// Sends values to who has subscribed, one value after the other.
    fileprivate nonisolated func send() async {
        while let update = await updates.next() {
            let targets = shared { shared in
                shared.links.values.filter { link in
                    link.subscriptions[update.handle] != nil
                        && update.addresses?.contains(link.connection.peer) ?? true
                }.map { ($0.connection, $0.subscriptions[update.handle] ?? []) }
            }
            await withDiscardingTaskGroup { group in
                for (connection, configuration) in targets {
                    group.addTask {
                        do throws(BluetoothError) {
                            if configuration.contains(.notification) {
                                try await connection.notify(update.value, of: update.handle)
                            } else {
                                try await connection.indicate(update.value, of: update.handle)
                            }
                        } catch {
                            coreBluetoothLog.debug("\(error)")
                        }
                    }
                }
            }
            guard shared({ $0.flow.didSend() }) else { continue }
            post { [self] manager, delegate in
                let isWaiting = shared { shared -> Bool in
                    guard shared.flow.renew() else { return false }
                    defer { shared.isWaiting = false }
                    return shared.isWaiting
                }
                if isWaiting { delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager) }
            }
        }
    }

    // MARK: Channels

    nonisolated func publishChannel(isEncrypted: Bool) {
        onLoop { hub in
            let adapter = hub.radio.assumeIsolated { $0.adapter }
            do throws(BluetoothError) {
                guard let adapter else {
                    throw BluetoothError(.adapterOff, .init("offer a channel"), "There is no adapter now.")
                }
                let options = ChannelOptions(security: isEncrypted ? .medium : nil)
                let result = adapter.assumeIsolated { adapter in
                    Result { () throws(BluetoothError) in try adapter.listen(options: options) }
                }
                let listener = try result.get()
                let task = Task(executorPreference: hub.loop) { [weak hub] in
                    await withTaskCancellationHandler {
                        do throws(BluetoothError) {
                            for try await channel in listener { hub?.opened(channel) }
                        } catch {
                            if error.code != .cancelled { coreBluetoothLog.warning("\(error)") }
                        }
                    } onCancel: {
                        listener.close()
                    }
                }
                hub.shared { $0.listeners[listener.psm] = task }
                hub.post { $1?.peripheralManager($0, didPublishL2CAPChannel: listener.psm, error: nil) }
            } catch {
                hub.post { $1?.peripheralManager($0, didPublishL2CAPChannel: 0, error: error.coreBluetooth) }
            }
        }
    }

    nonisolated func unpublishChannel(_ psm: CBL2CAPPSM) {
        let listener = shared { $0.listeners.removeValue(forKey: psm) }
        listener?.cancel()
        let error: CBError? = listener == nil ? CBError(.invalidParameters) : nil
        post { $1?.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: error) }
    }

    private nonisolated func opened(_ channel: ConnectionOrientedChannel) {
        post { [self] manager, delegate in
            delegate?.peripheralManager(manager, didOpen: CBL2CAPChannel(channel, central(channel.peer)), error: nil)
        }
    }
}

/// Follows every link that comes in, and sends values to all of them, until no more can come.
private func withLinks(
    _ incoming: IncomingConnections, _ hub: PeripheralHub?, _ updates: RequestQueue<PeripheralHub.Update>
) async throws(BluetoothError) {
    let result = await withTaskGroup(of: Void.self) { group -> Result<Void, BluetoothError> in
        group.addTask { [weak hub] in await hub?.send() }
        do throws(BluetoothError) {
            for try await connection in incoming {
                group.addTask { [weak hub] in await hub?.follow(connection) }
            }
            return .success(())
        } catch {
            group.cancelAll()
            return .failure(error)
        }
    }
    try result.get()
}
