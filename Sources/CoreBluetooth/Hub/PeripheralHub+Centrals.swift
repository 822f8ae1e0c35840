import BluetoothKernel
import BluetoothLE
import Foundation
import Logging

// The centrals of a peripheral manager: their links, their subscriptions, the values that are sent to them, and channels.
extension PeripheralHub {
    // MARK: Centrals

    /// Begins to take the links that centrals make.
    func accept() {
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
