import BluetoothHost
import BluetoothPrimitives
import BluetoothGATT

// Characteristics by UUID, the first with it in the first such service that has it. Each call uses what the connection
// knows of the device's database, and otherwise searches for this characteristic and nothing else.
extension Connection {
    /// Reads the value of a characteristic, up to 512 bytes: `try await connection.read("2A19", in: "180F")`.
    ///
    /// The first such call on a connection finds the characteristic, in two requests on most devices; those that
    /// follow, or that follow ``discover(cached:timeout:)``, are as fast as ``read(_:timeout:)-(RemoteAttribute,_)``.
    /// What is known from an earlier connection is confirmed first, and searched for if it has changed.
    /// - Parameters:
    ///   - characteristic: the characteristic's UUID.
    ///   - service: the UUID of its service.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what reading throws.
    public nonisolated(nonsending) func read(
        _ characteristic: BluetoothUUID, in service: BluetoothUUID, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [UInt8] {
        try await core { (link) async throws(BluetoothError) in
            try await link.withCharacteristic(characteristic, in: service, to: "read", timeout: timeout) {
                (found, timeout) async throws(BluetoothError) in try await link.read(found, timeout: timeout)
            }
        }
    }

    /// Writes the value of a characteristic, as ``write(_:to:type:timeout:)`` does.
    /// - Parameters:
    ///   - value: the value.
    ///   - characteristic: the characteristic's UUID.
    ///   - service: the UUID of its service.
    ///   - type: whether the peer responds.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what writing throws.
    public nonisolated(nonsending) func write(
        _ value: [UInt8], to characteristic: BluetoothUUID, in service: BluetoothUUID, type: WriteType = .withResponse,
        timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.withCharacteristic(
                characteristic, in: service, to: "write", timeout: timeout, isRepeated: type == .withResponse
            ) { (found, timeout) async throws(BluetoothError) in
                switch type {
                case .withResponse: try await link.write(value, to: found, timeout: timeout)
                case .withoutResponse: try await link.writeCommand(value, to: found, timeout: timeout)
                }
            }
        }
    }

    /// A stream of the values that a characteristic notifies or indicates, as
    /// ``subscribe(to:kind:bufferCapacity:timeout:)``.
    /// - Parameters:
    ///   - characteristic: the characteristic's UUID.
    ///   - service: the UUID of its service.
    ///   - kind: notifications or indications.
    ///   - bufferCapacity: the maximum number of values that wait for the consumer; one more ends the stream with an
    ///     error.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what subscribing throws.
    public nonisolated(nonsending) func subscribe(
        to characteristic: BluetoothUUID, in service: BluetoothUUID, kind: SubscriptionKind = .automatic,
        bufferCapacity: Int = 4096, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> BoundedStream<[UInt8]> {
        try await core { (link) async throws(BluetoothError) in
            try await link.withCharacteristic(characteristic, in: service, to: "subscribe", timeout: timeout) {
                (found, timeout) async throws(BluetoothError) in
                try await link.subscribe(to: found, kind: kind, bufferCapacity: bufferCapacity, timeout: timeout)
            }
        }
    }
}
