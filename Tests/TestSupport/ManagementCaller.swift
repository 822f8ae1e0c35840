import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothKernelHost
import Logging
import BluetoothManagement
import Synchronization

/// A management client of a program of its own, for use from any thread.
package actor ManagementCaller: LoopActor {
    package nonisolated let loop: EventLoop
    private let client: ManagementClient

    package init(on kernel: any BluetoothKernel) {
        loop = kernel.loop
        client = ManagementClient(on: kernel, log: Logger(label: "test"))
    }

    package func follow(_ notices: AdapterNotices) throws(BluetoothError) { try client.follow(notices) }

    package func unfollow(_ notices: AdapterNotices) { client.unfollow(notices) }

    @discardableResult
    package func send<Command: ManagementCommand>(
        _ command: Command, to index: UInt16 = ManagementPacket.noController, timeout: Duration = .seconds(10)
    ) async throws(BluetoothError) -> Command.Reply {
        try await client.send(command, to: index, timeout: timeout)
    }

    package func sendWhenIdle<Command: ManagementCommand>(
        _ command: Command, to index: UInt16
    ) async throws(BluetoothError) -> Command.Reply {
        try await client.sendWhenIdle(command, to: index)
    }

    package func close(_ reason: BluetoothError) { client.close(reason) }
}

/// The received events of adapters.
package final class AdapterNotices: AdapterNoticeReceiver, Sendable {
    private let received = Mutex<[AdapterNotice]>([])

    package init() {}

    package var all: [AdapterNotice] { received.withLock { $0 } }

    package func receive(_ notice: AdapterNotice) { received.withLock { $0.append(notice) } }
}
