import BluetoothKernel
import BluetoothLE
import Logging

// The links that all managers share: those that are made to devices, and those that centrals make.
extension Radio {
    // MARK: To peripherals

    /// Holds the link to a device, which is made if there is none; waits until it is up.
    /// - Parameters:
    ///   - id: who holds it.
    ///   - takeValue: told every value that comes, on the loop.
    func join(
        _ address: BluetoothAddress, _ id: ObjectIdentifier, _ options: ConnectionOptions,
        takeValue: @escaping SharedLink.ValueHandler
    ) async throws(BluetoothError) -> (link: SharedLink, connection: Connection) {
        guard let adapter else {
            throw BluetoothError(.adapterOff, .init("connect", peer: address), "There is no adapter now.")
        }
        let link = link(to: address)
        return (link, try await link.join(id, adapter, options, takeValue: takeValue))
    }

    private func link(to address: BluetoothAddress) -> SharedLink {
        if let link = links[address], link.assumeIsolated({ $0.isOpen }) { return link }
        let link = SharedLink(to: address, on: loop) { [weak self] link in
            self?.connected.withLock { $0[link.address] = $0[link.address] ?? [] }
        } onEnd: { [weak self] link in
            self?.assumeIsolated { $0.forget(link) }
        }
        links[address] = link
        // A central that is connected need not be connected to.
        if let central = incoming?.connections.first(where: { $0.peer == address }) {
            link.assumeIsolated { $0.adopt(central) }
        }
        return link
    }

    /// Whether a device is one that a manager has connected to.
    /// - Parameter peer: any of the addresses that the kernel knows it by.
    func isConnectedFromHere(_ peer: BluetoothAddress) -> Bool {
        links.values.contains { $0.assumeIsolated { $0.isOurs(peer) } }
    }

    private func forget(_ link: SharedLink) {
        guard links[link.address] === link else { return }
        links[link.address] = nil
        connected.withLock { $0[link.address] = nil }
    }

    // MARK: From centrals

    /// Has the links that centrals make told to a manager: those that are up, and those to come.
    func serve(_ id: ObjectIdentifier, _ take: @escaping @Sendable (Connection) -> Void) {
        guard servers.updateValue(take, forKey: id) == nil else { return }
        for connection in incoming?.connections ?? [] { take(connection) }
        accept()
    }

    /// Tells a manager of no more links; when there is no other, none are taken.
    func stopServing(_ id: ObjectIdentifier) {
        servers[id] = nil
        if servers.isEmpty { acceptor?.cancel() }
    }

    /// Takes the links that centrals make, for as long as somebody wants them and there is an adapter.
    func accept() {
        guard acceptor == nil, !servers.isEmpty, let adapter else { return }
        acceptor = Task(executorPreference: loop) { [weak self] in
            do throws(BluetoothError) {
                let incoming = try await adapter.incomingConnections()
                await self?.accepting(incoming)
                for try await connection in incoming { await self?.tell(connection) }
            } catch {
                if error.code != .cancelled { coreBluetoothLog.warning("no links are taken: \(error)") }
            }
            await self?.acceptorEnded()
        }
    }

    private func accepting(_ incoming: IncomingConnections) { self.incoming = incoming }

    private func tell(_ connection: Connection) {
        for server in servers.values { server(connection) }
    }

    private func acceptorEnded() {
        let isWanted = acceptor?.isCancelled == true
        acceptor = nil
        incoming = nil
        // Somebody has come while it was ending.
        if isWanted { accept() }
    }
}
