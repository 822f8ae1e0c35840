import BluetoothLE
import BluetoothProfiles
import ExampleSupport

/// A device in memory that takes firmware: that of `ble serve firmware`, and of `ble update --simulate`.
struct FirmwareServer {
    /// The usual name.
    static let name = "Updatable"

    private let name: String
    private let adapter: Adapter
    /// Nil prints nothing.
    private let console: Console?

    init(named name: String = FirmwareServer.name, on adapter: Adapter, _ console: Console?) {
        (self.name, self.adapter, self.console) = (name, adapter, console)
    }

    /// Serves until the task is cancelled, or with `once` until the first central has disconnected.
    func run(once: Bool) async throws {
        let (restarts, restart) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let store = MemoryFirmwareStore { restart.yield() }
        let update = FirmwareUpdateService(storingIn: store)
        let content = AdvertisementContent(localName: name, services: [.firmwareUpdate])
        try await adapter.serve(content, options: AdvertisingOptions(whenAdapterUnavailable: .resume)) {
            update.service
        } while: { published, incoming in
            console?.started(content, named: name, services: [.firmwareUpdate], on: adapter.information)
            let (connections, connected) = AsyncStream<Connection>.makeStream(bufferingPolicy: .bufferingOldest(64))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await update.run(published, incoming) { connected.yield($0) } }
                group.addTask {
                    for await _ in restarts {
                        console?.restarted(store.images())
                        for connection in incoming.connections { await connection.disconnect(timeout: .zero) }
                    }
                }
                group.addTask {
                    await withDiscardingTaskGroup { centrals in
                        for await connection in connections {
                            centrals.addTask {
                                console?.tell("connected", by: connection.peer)
                                let reason = await connection.disconnected()
                                guard !Task.isCancelled else { return }
                                console?.tell("disconnected", by: connection.peer, reason: reason.disconnectReason)
                                if once { connected.finish() }
                            }
                        }
                        centrals.cancelAll()
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}

extension Console {
    /// Prints the images of a device that restarts.
    fileprivate func restarted(_ slots: [FirmwareSlot]) {
        result("restarted", "the device restarts", [])
        show(slots)
    }
}
