import BluetoothKernel
import BluetoothLE
import Foundation
import Logging

// The centrals of a peripheral manager: their links, their subscriptions, and channels.
extension PeripheralManagerHandle {
    // MARK: Centrals

    /// Follows every link that comes in, until no more can come.
    func follow(_ incoming: RequestQueue<Connection>) async {
        await withDiscardingTaskGroup { group in
            while let connection = await incoming.next() {
                group.addTask { [self] in await follow(connection) }
            }
            group.cancelAll()
        }
    }

    /// Follows what a central has subscribed to, until its link ends.
    private func follow(_ connection: Connection) async {
        let central = Handed(CBCentral(connection.peer))
        let latencies = RequestQueue<CBPeripheralManagerConnectionLatency>(capacity: 16)
        let own = Link(central: central, connection: connection, latencies: latencies)
        let last = shared { $0.links.updateValue(own, forKey: connection.peer) }
        if let last { ended(last) }
        await withDiscardingTaskGroup { group in
            group.addTask { [self] in await send(own.updates, over: connection) }
            group.addTask { [self] in await setLatencies(latencies, of: connection) }
            await followSubscriptions(of: connection, central)
            latencies.finish()
            own.updates.finish()
        }
        let link = shared { shared -> Link? in
            shared.outbox.stalled.remove(ObjectIdentifier(connection))
            guard shared.links[connection.peer]?.connection === connection else { return nil }
            return shared.links.removeValue(forKey: connection.peer)
        }
        if let link { ended(link) }
        takersChanged()
    }

    private func followSubscriptions(of connection: Connection, _ central: Handed<CBCentral>) async {
        let told = BoundedCallbacks(on: callbacks)
        var changes = await connection.peerSubscriptions()
        while true {
            do throws(BluetoothError) {
                for try await change in changes {
                    central.object.setMaximumUpdateValueLength(await connection.maximumCommandLength)
                    await take(change, of: connection, told)
                }
                return
            } catch {
                guard error.code == .overflow else { return coreBluetoothLog.debug("\(error)") }
            }
            // A central that changes its mind faster than the program listens. What it wants now is told from the beginning.
            coreBluetoothLog.notice("\(connection.peer) subscribes and unsubscribes faster than the program takes it.")
            // What it changes from here on comes with the new stream.
            changes = await connection.peerSubscriptions()
            let handles = shared { shared -> [AttributeHandle] in
                guard let link = shared.links[connection.peer], link.connection === connection else { return [] }
                return Array(link.subscriptions.keys)
            }
            for handle in handles where await connection.peerConfiguration(of: handle).isEmpty {
                await take(PeerSubscription(characteristic: handle, configuration: []), of: connection, told)
            }
        }
    }

    private func ended(_ link: Link) {
        link.latencies.finish()
        link.updates.finish()
        for (_, subscription) in link.subscriptions.sorted(by: { $0.key < $1.key }) {
            callbacks.post { [self] in tellSubscription(false, subscription, link.central) }
        }
    }

    private func take(
        _ change: PeerSubscription, of connection: Connection, _ told: BoundedCallbacks
    ) async {
        let (subscription, isOn, central) = shared { shared -> (Subscription?, Bool, Handed<CBCentral>?) in
            // A central that has connected anew has another link, which this is none of.
            guard let link = shared.links[connection.peer], link.connection === connection else {
                return (nil, false, nil)
            }
            let before = link.subscriptions[change.characteristic]
            let central = link.central
            guard !change.configuration.isEmpty else {
                shared.links[connection.peer]?.subscriptions[change.characteristic] = nil
                return (before, false, central)
            }
            // Another manager's is not ours to tell.
            guard let characteristic = shared.characteristics[change.characteristic] else { return (nil, false, nil) }
            let now = Subscription(characteristic: characteristic, configuration: change.configuration)
            shared.links[connection.peer]?.subscriptions[change.characteristic] = now
            return (before == nil ? now : nil, true, central)
        }
        guard let subscription, let central else { return }
        takersChanged()
        await told.post { [self] in tellSubscription(isOn, subscription, central) }
    }

    /// Tells the program, on its queue.
    private func tellSubscription(
        _ isSubscribed: Bool, _ subscription: Subscription, _ central: Handed<CBCentral>
    ) {
        guard let manager else { return }
        let subject = subscription.characteristic.object
        // One that has been removed meanwhile has no subscribers.
        let isOffered = shared { $0.characteristics.values.contains { $0.object === subject } }
        guard isOffered || !isSubscribed, subject.setSubscribed(isSubscribed, central.object) else { return }
        if isSubscribed {
            manager.delegate?.peripheralManager(manager, central: central.object, didSubscribeTo: subject)
        } else {
            manager.delegate?.peripheralManager(manager, central: central.object, didUnsubscribeFrom: subject)
        }
    }

    /// Takes note of how quickly values shall reach a central; says whether it is connected.
    func setLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) -> Bool {
        shared { $0.links[central.address]?.latencies.append(latency) ?? false }
    }

    private func setLatencies(
        _ latencies: RequestQueue<CBPeripheralManagerConnectionLatency>, of connection: Connection
    ) async {
        while let latency = await latencies.next() {
            let request: ConnectionParameterRequest =
                switch latency {
                case .low: .lowLatency
                case .high: .lowPower
                default: .balanced
                }
            do throws(BluetoothError) {
                _ = try await connection.requestParameters(request)
            } catch {
                // It is the central that decides.
                coreBluetoothLog.notice("the connection latency stays what it is: \(error)")
            }
        }
    }

    // MARK: Channels

    func publishChannel(isEncrypted: Bool) {
        radio.soon { [self] radio in
            Task(executorPreference: radio.loop) { [self] in await openListener(isEncrypted: isEncrypted, on: radio) }
        }
    }

    private func openListener(isEncrypted: Bool, on radio: isolated Radio) async {
        do throws(BluetoothError) {
            guard let adapter = radio.adapter else {
                throw BluetoothError(.adapterOff, .init("offer a channel"), "There is no adapter now.")
            }
            let listener = try await adapter.listen(options: ChannelOptions(security: isEncrypted ? .medium : nil))
            let task = Task(executorPreference: radio.loop) { [weak self] in
                await withTaskCancellationHandler {
                    do throws(BluetoothError) {
                        for try await channel in listener { self?.opened(channel) }
                    } catch {
                        if error.code != .cancelled { coreBluetoothLog.warning("\(error)") }
                    }
                } onCancel: {
                    listener.close()
                }
            }
            shared { $0.listeners[listener.psm] = task }
            post { $1?.peripheralManager($0, didPublishL2CAPChannel: listener.psm, error: nil) }
        } catch {
            post { $1?.peripheralManager($0, didPublishL2CAPChannel: 0, error: error.coreBluetooth) }
        }
    }

    func unpublishChannel(_ psm: CBL2CAPPSM) {
        let listener = shared { $0.listeners.removeValue(forKey: psm) }
        listener?.cancel()
        let error: CBError? = listener == nil ? CBError(.invalidParameters) : nil
        post { $1?.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: error) }
    }

    private func opened(_ channel: ConnectionOrientedChannel) {
        post { [self] manager, delegate in
            delegate?.peripheralManager(manager, didOpen: CBL2CAPChannel(channel, central(channel.peer)), error: nil)
        }
    }
}
