import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

// For Tests/Benchmarks, which is a package of its own that has this one's name for access.

extension Bond {
    /// A bond of a device whose private addresses this key resolves.
    package init(identity: BluetoothAddress, resolvedBy key: SecurityKey) {
        self.init(identity: identity, identityResolvingKey: key)
    }
}

extension Connection {
    /// Notifies the peer of the value of a characteristic of the local server.
    package nonisolated(nonsending) func notify(
        _ value: [UInt8], at characteristic: AttributeHandle
    ) async throws(BluetoothError) {
        try await notify(value, of: characteristic)
    }

    /// The same for callers on the loop, without a wait; false if it could not be sent at once.
    package func notifyAtOnce(_ value: [UInt8], at characteristic: AttributeHandle) -> Bool {
        core.value.notifyAtOnce(value, of: characteristic)
    }
}

/// The log of all connections, as those of an adapter share one.
private let log = Logger(label: "bluetooth.connection")

extension Connection {
    /// Creates a connection over a connected L2CAP channel.
    package nonisolated(nonsending) convenience init(
        benchmarking connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, on loop: EventLoop, database: AttributeDatabase = .empty, receiveMTU: UInt16 = 517
    ) async throws(KernelError) {
        try await self.init(over: connect, to: peer, on: loop, database: database, receiveMTU: receiveMTU, log: log)
    }
}

extension ConnectionOrientedChannel {
    /// Creates a channel over a connected socket.
    package nonisolated(nonsending) convenience init(
        benchmarking connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop
    ) async throws(KernelError) {
        try await self.init(over: connect, to: peer, psm: psm, on: loop)
    }
}
