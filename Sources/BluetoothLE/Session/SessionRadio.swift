import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// One adapter as what finds devices by their keys and connects to them.
struct SessionRadio: IdentityRadio {
    private let session: AdapterSession

    init(_ session: AdapterSession) { self.session = session }

    var loop: EventLoop { session.loop }
    var log: Logger? { session.log }

    nonisolated(nonsending) func bondedAddress(_ keys: [SecurityKey]) async -> BluetoothAddress? {
        await session.bondedAddress(keys)
    }

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        try await session.ready(timeout: timeout)
    }

    nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration?, options: ScanOptions
    ) async throws(BluetoothError) -> Advertisement {
        try await session.firstAdvertisement(timeout: timeout, options: options) { _ in true }
    }

    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions, within time: inout ConnectTime
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: peer, options, within: &time)
    }
}

extension AdapterSession {
    /// The identity address of a device with one of these keys that has a bond.
    func bondedAddress(_ keys: [SecurityKey]) -> BluetoothAddress? {
        bondManager.bonds.first { $0.identityResolvingKey.map(keys.contains) ?? false }?.identity
    }
}
