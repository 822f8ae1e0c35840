import BluetoothSockets
import BluetoothLE
import Foundation
import Logging

// The centrals of a peripheral manager: their links, their subscriptions, and channels.
extension PeripheralManagerHandle {
    // MARK: Centrals

    /// Follows every incoming link, until no more can come.
    func follow(_ incoming: BoundedQueue<Connection>) async {
        await withDiscardingTaskGroup { group in
            while let connection = await incoming.next() {
                group.addTask { [self] in await follow(connection) }
            }
            group.cancelAll()
        }
    }

    /// Follows a central's subscriptions until its link ends.
    private func follow(_ connection: Connection) async {
        let central = CBCentral(connection.peer)
        let latencies = BoundedQueue<CBPeripheralManagerConnectionLatency>(capacity: 16)
        let own = Link(central: central, connection: connection, latencies: latencies)
        let last = shared { $0.links.updateValue(own, forKey: connection.peer) }
        if let last { ended(last) }
        await withDiscardingTaskGroup { group in
            group.addTask { [self] in await send(own.updates, over: connection) }
            group.addTask { [self] in await setLatencies(latencies, of: connection) }
            // Earlier subscriptions are processed here, later ones as they happen.
            for subscription in connection.peerSubscriptionsNow { receive(subscription, of: connection) }
            _ = await connection.disconnected()
            latencies.finish()
            own.updates.finish()
        }
        let link = shared { shared -> Link? in
            shared.outbox.stalled.remove(ObjectIdentifier(connection))
            guard shared.links[connection.peer]?.connection === connection else { return nil }
            return shared.links.removeValue(forKey: connection.peer)
        }
        if let link { ended(link) }
        acceptingLinksChanged()
    }

    private func ended(_ link: Link) {
        link.latencies.finish()
        link.updates.finish()
        for (_, subscription) in link.subscriptions.sorted(by: { $0.key < $1.key }) {
            callbacks.post(from: .device(link.connection.peer)) { [self] in
                reportSubscription(false, subscription, link.central)
            }
        }
    }

    /// Records that a central has subscribed to a value or unsubscribed, as it happens.
    func receive(_ change: PeerSubscription, of connection: Connection) {
        let report = shared { shared -> (Subscription, isOn: Bool, CBCentral, isReported: Bool)? in
            // A central that has reconnected has another link, to which this change does not belong.
            guard var link = shared.links[connection.peer], link.connection === connection else { return nil }
            let before = link.subscriptions[change.characteristic]
            let isOn = !change.configuration.isEmpty
            let characteristic = isOn ? shared.characteristics[change.characteristic] : nil
            // A service of another manager is reported by that one, and one that is being published with its
            // publication.
            guard !isOn || characteristic != nil else { return nil }
            let now = characteristic.map { Subscription(characteristic: $0, configuration: change.configuration) }
            link.subscriptions[change.characteristic] = now
            defer { shared.links[connection.peer] = link }
            guard (before == nil) == isOn, let subject = isOn ? now : before else { return nil }
            return (subject, isOn, link.central, link.backlog.begin())
        }
        guard let report else { return }
        updateMaximumLength(of: connection)
        acceptingLinksChanged()
        guard report.isReported else { return }
        callbacks.post(from: .device(connection.peer)) { [self] in
            reportSubscription(report.isOn, report.0, report.2)
            catchUp(connection)
        }
    }

    /// Continues after the program has processed a change. A central that changes its subscriptions faster than the
    /// program processes them is reported with the current state.
    private func catchUp(_ connection: Connection) {
        let missed = shared { shared -> ([(Subscription, Bool)], CBCentral)? in
            guard let link = shared.links[connection.peer], link.connection === connection,
                shared.links[connection.peer]?.backlog.end() == true
            else { return nil }
            let all = shared.characteristics.sorted { $0.key < $1.key }.map { handle, characteristic in
                (Subscription(characteristic: characteristic, configuration: []), link.subscriptions[handle] != nil)
            }
            return (all, link.central)
        }
        guard let (subscriptions, central) = missed else { return }
        coreBluetoothLog.notice(
            "\(connection.peer.digits) subscribes and unsubscribes faster than the program processes it.")
        for (subscription, isOn) in subscriptions { reportSubscription(isOn, subscription, central) }
    }

    /// Reports a subscription to the program, on its queue.
    private func reportSubscription(
        _ isSubscribed: Bool, _ subscription: Subscription, _ central: CBCentral
    ) {
        guard let manager else { return }
        let subject = subscription.characteristic
        // A characteristic that was removed meanwhile has no subscribers.
        let isOffered = shared { $0.characteristics.values.contains { $0 === subject } }
        guard isOffered || !isSubscribed, subject.setSubscribed(isSubscribed, central) else { return }
        if isSubscribed {
            manager.delegate?.peripheralManager(manager, central: central, didSubscribeTo: subject)
        } else {
            manager.delegate?.peripheralManager(manager, central: central, didUnsubscribeFrom: subject)
        }
    }

    /// Records the latency for a central; returns whether it is connected.
    func setLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) -> Bool {
        shared { $0.links[central.address]?.latencies.append(latency) ?? false }
    }

    private func setLatencies(
        _ latencies: BoundedQueue<CBPeripheralManagerConnectionLatency>, of connection: Connection
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
                // The central decides.
                coreBluetoothLog.notice("the connection latency is unchanged: \(error)")
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
            let adapter = try radio.adapter(for: .init("offer a channel"))
            let listener = try await adapter.listen(options: ChannelOptions(security: isEncrypted ? .medium : nil))
            let task = Task(executorPreference: radio.loop) { [weak self] in
                await withTaskCancellationHandler {
                    do throws(BluetoothError) {
                        for try await channel in listener {
                            self?.opened(channel)
                            // The next is accepted when the program has processed this one; later ones wait in the
                            // listener's backlog.
                            await self?.callbacks.drain(.device(channel.peer))
                        }
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
        post(from: .device(channel.peer)) { [self] manager, delegate in
            delegate?.peripheralManager(manager, didOpen: CBL2CAPChannel(channel, central(channel.peer)), error: nil)
        }
    }
}
