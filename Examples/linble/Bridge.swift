import BluetoothLE
import ExampleSupport
import LINBLE

/// A UART that outlives links, connected to a serial port for programs.
struct Bridge: Sendable {
    private let uart: KeptUART
    private let ports: BridgePorts
    private let log: TransferLog?
    private let report: BridgeReport

    init(_ uart: KeptUART, _ ports: BridgePorts, _ log: TransferLog?, _ report: BridgeReport) {
        (self.uart, self.ports, self.log, self.report) = (uart, ports, log, report)
    }

    /// Moves bytes in both directions, and reports the events, until the task is cancelled or the UART ends.
    func run(on radio: ChosenRadio, _ manager: ServiceManager) async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await move(on: radio, manager))
        } catch {
            result = .failure(error)
        }
        await settle()
        // So that the counts are final.
        await uart.disconnect(timeout: .zero)
        let statistics = await uart.statistics
        let unread = ports.finalUnreadByteCount(ofReceived: statistics.receivedByteCount)
        report.ended(BridgeCounts(statistics, taken: ports.takenByteCount, unread: unread))
        try result.get()
    }

    /// On a link, waits until the device has confirmed what it was sent, at most a second: a stopped bridge then counts
    /// as unconfirmed only what may be lost.
    private func settle() async {
        guard await uart.connection != nil else { return }
        // In a task of its own, since this one is cancelled when the program is stopped.
        await Task { [uart] in
            do throws(BluetoothError) {
                try await uart.flush(timeout: .seconds(1))
            } catch {
                // The first call reports the loss of an earlier link.
                if error.code == .disconnected { try? await uart.flush(timeout: .seconds(1)) }
            }
        }.value
    }

    private func move(on radio: ChosenRadio, _ manager: ServiceManager) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await ports.run { bytes in
                    try log?.write(.sent, bytes)
                    try await uart.send(bytes)
                }
            }
            group.addTask {
                for try await bytes in uart.received {
                    try log?.write(.received, bytes)
                    ports.deliver(bytes)
                }
            }
            group.addTask {
                for try await event in await uart.events() { await report.tell(event, await counts) }
            }
            if manager.watchdogInterval != nil {
                // On the loop, which has to be alive for it.
                group.addTask { await manager.stayAlive { await radio.run {} } }
            }
            manager.isReady()
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private var counts: BridgeCounts {
        get async { BridgeCounts(await uart.statistics, taken: ports.takenByteCount, unread: ports.unreadByteCount) }
    }
}
