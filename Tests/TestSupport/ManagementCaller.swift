import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothKernelHost
import Logging
import BluetoothManagement

/// A management client of a program of its own, for use from any thread.
package actor ManagementCaller: LoopActor {
    package nonisolated let loop: EventLoop
    private let client: ManagementClient

    package init(on kernel: any BluetoothKernel) {
        loop = kernel.loop
        client = ManagementClient(on: kernel, log: Logger(label: "test"))
    }

    @discardableResult
    package func follow(_ onNotice: @escaping @Sendable (AdapterNotice) -> Void) throws(BluetoothError) -> UInt64 {
        try client.follow(onNotice)
    }

    package func unfollow(_ follower: UInt64) { client.unfollow(follower) }

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
