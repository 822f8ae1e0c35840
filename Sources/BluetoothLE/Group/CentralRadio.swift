import BluetoothLoop
import BluetoothPrimitives

/// What finds devices and connects to them: an adapter, or several as one.
package protocol CentralRadio: Sendable {
    /// The event loop of its links.
    var loop: EventLoop { get }
    /// A number that differs between radios, for delays.
    var seed: UInt64 { get }

    nonisolated(nonsending) func firstReport(
        timeout: Duration?, options: ScanOptions, where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement

    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection

    /// - Parameter onAddress: called before the connect to each address, with the advertisement in which the device had it;
    ///   nil if a bond says which it is.
    nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @escaping @Sendable (BluetoothAddress, Advertisement?) -> Void
    ) async throws(BluetoothError) -> Connection

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError)

    /// Waits until it is closed; returns the reason, or `.cancelled`.
    nonisolated(nonsending) func closed() async -> BluetoothError
}

extension Adapter: CentralRadio {
    package var seed: UInt64 { information.address.value }

    package nonisolated(nonsending) func firstReport(
        timeout: Duration?, options: ScanOptions, where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement {
        try await firstAdvertisement(timeout: timeout, options: options, where: condition)
    }

    package nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @escaping @Sendable (BluetoothAddress, Advertisement?) -> Void
    ) async throws(BluetoothError) -> Connection {
        try await SessionRadio(session).connect(to: identity, options: options, onAddress: onAddress)
    }

    package nonisolated(nonsending) func closed() async -> BluetoothError {
        do throws(BluetoothError) {
            for try await _ in states {}
            return BluetoothError(
                .cancelled, .init("use the adapter", adapter: information.name), "The adapter was closed.")
        } catch {
            return error
        }
    }
}

extension AdapterGroup: CentralRadio {
    package var seed: UInt64 { 0 }

    package nonisolated(nonsending) func firstReport(
        timeout: Duration?, options: ScanOptions, where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement {
        try await firstAdvertisement(timeout: timeout, options: options, where: condition).advertisement
    }
}
