import BluetoothLoop
import BluetoothSockets
import BluetoothLE
import Logging

// The links that are created to devices, and that all managers share.
extension Radio {
    /// Holds the link to a device, which is created if there is none; waits until it is up. A call that throws does not
    /// hold it.
    /// - Parameters:
    ///   - holder: the holder.
    ///   - onEvent: receives the device's events, on the loop and in the order received.
    func join(
        _ address: BluetoothAddress, _ holder: ObjectIdentifier, _ options: ConnectionOptions,
        onEvent: @escaping SharedLink.EventHandler
    ) async throws(BluetoothError) -> LinkHold {
        let operation = BluetoothError.Operation("connect", peer: address)
        let adapter = try adapter(for: operation)
        let link = await link(to: address)
        let call = link.join(holder, onEvent: onEvent) {
            Task(executorPreference: loop) { [self, id = link.id] in
                do throws(BluetoothError) {
                    let connection = try await adapter.connect(to: address, options: options)
                    if await !didConnect(connection, for: id) { await connection.disconnect(timeout: .zero) }
                } catch {
                    await fail(id, error)
                }
            }
        }
        do throws(BluetoothError) {
            let cancelled = BluetoothError(.cancelled, operation, "It was cancelled.")
            let connection = try await call.value(ifCancelled: cancelled)
            return LinkHold(link: link.id, holder: holder, connection: connection)
        } catch {
            await release(link, holder)
            throw error
        }
    }

    /// Releases a link; it ends when it has no other holder.
    func release(_ hold: LinkHold) async {
        if let link = links[hold.link] { await release(link, hold.holder) }
    }

    /// Sends a request to a device; returns when `onEvent` was called with the outcome.
    /// - Parameter onEvent: receives the request's events, on the loop and in order with values.
    func ask(_ request: AttributeRequest, _ hold: LinkHold, onEvent: @escaping SharedLink.EventHandler) async {
        guard let link = links[hold.link] else { return }
        await hold.connection.perform(request, as: link.willAsk(onEvent))
    }

    /// Registers a holder's subscription to a value; returns when the device may be sent the request.
    func addSubscription(_ handle: AttributeHandle, by descriptor: RemoteDescriptor, _ hold: LinkHold) async {
        guard let link = links[hold.link] else { return }
        link.addSubscription(handle, by: descriptor, hold.holder)
        await link.unsubscribing?.value
    }

    /// Removes a holder's subscription to a value; returns whether there is no other.
    func removeSubscription(_ handle: AttributeHandle, _ hold: LinkHold) -> Bool {
        links[hold.link]?.removeSubscription(handle, hold.holder)
        return !hasSubscription(handle, of: hold.link)
    }

    /// Whether a device is one that a manager has connected to.
    /// - Parameter peer: any of the addresses by which the kernel knows it.
    func isConnectedFromHere(_ peer: BluetoothAddress) async -> Bool {
        for link in links.all where await link.isOurs(peer) { return true }
        return false
    }

    // The adapter and its connections live on this loop, so nothing can change between these calls.
    private func link(to address: BluetoothAddress) async -> SharedLink {
        if let link = links[address], await link.isOpen { return link }
        let link = links.add(to: address)
        // A connected central need not be connected to.
        if let central = central(address) {
            link.adopt(central)
            isUp(address)
        }
        return link
    }

    /// Adopts a link that is up, and that stays when its last holder has released it.
    func adopt(_ connection: Connection) { links.add(to: connection.peer).adopt(connection) }

    private func didConnect(_ connection: Connection, for id: SharedLink.ID) -> Bool {
        guard let link = links[id], link.didConnect(connection) else { return false }
        isUp(link.address)
        return true
    }

    private func isUp(_ address: BluetoothAddress) {
        devices.withLock { $0.connected[address] = $0.connected[address] ?? [] }
    }

    private func fail(_ id: SharedLink.ID, _ error: BluetoothError) {
        links[id]?.fail(error)
    }

    private func release(_ link: SharedLink, _ holder: ObjectIdentifier) async {
        if let (connection, obsolete) = await link.release(holder) { unsubscribe(obsolete, of: link, over: connection) }
        guard !link.isHeld, links.remove(link) else { return }
        devices.withLock { $0.connected[link.address] = nil }
    }

    private func hasSubscription(_ handle: AttributeHandle, of id: SharedLink.ID) -> Bool {
        links[id]?.hasSubscription(handle) ?? false
    }

    /// Unsubscribes from values without a subscriber. A device that refuses continues to send, which is ignored.
    private func unsubscribe(_ obsolete: SharedLink.Subscriptions, of link: SharedLink, over connection: Connection) {
        let obsolete = obsolete.sorted { $0.key < $1.key }
        link.unsubscribing = Task(executorPreference: loop) { [weak self, id = link.id, before = link.unsubscribing] in
            await before?.value
            for (handle, descriptor) in obsolete where await self?.hasSubscription(handle, of: id) != true {
                try? await connection.write([0, 0], to: descriptor)
            }
        }
    }
}
