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
        try await finishing {
            try await move(on: radio, manager)
        } then: {
            await settle()
            // So that the counts are final.
            await uart.disconnect(timeout: .zero)
            let statistics = await uart.statistics
            let unread = ports.finalUnreadByteCount(ofReceived: statistics.receivedByteCount)
            report.ended(BridgeCounts(statistics, taken: ports.takenByteCount, unread: unread))
        }
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
        var tasks: [@Sendable () async throws -> Void] = [
            {
                try await ports.run { bytes in
                    try log?.write(.sent, bytes)
                    try await uart.send(bytes)
                }
            },
            {
                for try await bytes in uart.received {
                    try log?.write(.received, bytes)
                    ports.deliver(bytes)
                }
            },
            { for try await event in await uart.events() { await report.tell(event, await counts) } },
        ]
        if manager.watchdogInterval != nil {
            // On the loop, which has to be alive for it.
            tasks.append { await manager.stayAlive { await radio.run {} } }
        }
        manager.isReady()
        try await untilOneEnds(tasks)
    }

    private var counts: BridgeCounts {
        get async { BridgeCounts(await uart.statistics, taken: ports.takenByteCount, unread: ports.unreadByteCount) }
    }
}
