import BluetoothHost
import BluetoothLE
import BluetoothPrimitives

extension Connection {
    /// Reads the value of a characteristic: `try await connection.read(.batteryLevel)`.
    /// - Parameters:
    ///   - characteristic: the characteristic, with its service.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.malformedValue` for bytes without a meaning, `.notFound` when the device has no such characteristic,
    ///   besides what reading throws.
    public nonisolated(nonsending) func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> Value {
        let bytes = try await read(characteristic.uuid, in: characteristic.service, timeout: timeout)
        do throws(MalformedValue) { return try characteristic.codec.decode(bytes) } catch {
            throw BluetoothError(
                .malformedValue, .init("read \(characteristic.uuid)", peer: peer), "Malformed value: \(error).")
        }
    }

    /// Writes the value of a characteristic: `try await connection.write(.high, to: .alertLevel, type: .withoutResponse)`.
    /// - Parameters:
    ///   - value: the value.
    ///   - characteristic: the characteristic, with its service.
    ///   - type: whether the peer responds; nil lets it respond if writes with a response are among the characteristic's
    ///     ``Characteristic/properties``.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.invalidArgument` for a value that the format cannot express, `.notFound` when the device has no such
    ///   characteristic, besides what writing throws.
    public nonisolated(nonsending) func write<Value>(
        _ value: Value, to characteristic: Characteristic<Value>, type: WriteType? = nil,
        timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) {
        let isCommand =
            characteristic.properties.contains(.writeWithoutResponse) && !characteristic.properties.contains(.write)
        try await write(
            try characteristic.encode(value, to: "write"), to: characteristic.uuid, in: characteristic.service,
            type: type ?? (isCommand ? .withoutResponse : .withResponse), timeout: timeout)
    }

    /// A stream of the values that a characteristic notifies or indicates:
    /// `try await connection.subscribe(to: .heartRateMeasurement)`.
    ///
    /// A value without a meaning is left out and the subscription goes on: one odd value is not the end of a measurement.
    /// - Parameters:
    ///   - characteristic: the characteristic, with its service.
    ///   - kind: notifications or indications.
    ///   - bufferCapacity: the maximum number of values that wait for the consumer; one more ends the stream with an
    ///     error.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    ///   - onMalformed: called for each value that is left out, with the error that names the field.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what subscribing throws.
    public nonisolated(nonsending) func subscribe<Value>(
        to characteristic: Characteristic<Value>, kind: SubscriptionKind = .automatic, bufferCapacity: Int = 4096,
        timeout: Duration? = .seconds(300), onMalformed: (@Sendable (MalformedValue) -> Void)? = nil
    ) async throws(BluetoothError) -> DecodedStream<[UInt8], Value> {
        let values = try await subscribe(
            to: characteristic.uuid, in: characteristic.service, kind: kind, bufferCapacity: bufferCapacity,
            timeout: timeout)
        return DecodedStream(values) { characteristic.decode($0, onMalformed) }
    }
}

extension KeptConnection.TypedUpdate: Equatable where Value: Equatable {}
extension KeptConnection.TypedUpdate: Hashable where Value: Hashable {}

extension KeptConnection {
    /// An element of a subscription with typed values that outlives links.
    public enum TypedUpdate<Value: Sendable>: Sendable {
        /// A value from the peer.
        case value(Value)
        /// The link has ended, or the characteristic has moved: values since then are not in the stream.
        case interrupted(BluetoothError)
        /// The subscription is restored.
        case resumed
    }

    /// A subscription to a characteristic that outlives links, as
    /// ``BluetoothLE/KeptConnection/subscribe(to:in:kind:bufferCapacity:timeout:)``.
    ///
    /// A value without a meaning is left out and the subscription goes on.
    /// - Parameters:
    ///   - characteristic: the characteristic, with its service.
    ///   - kind: notifications or indications.
    ///   - bufferCapacity: the maximum number of values that wait for the consumer; one more ends the stream with an
    ///     error.
    ///   - timeout: the maximum time to wait for a link, and for the peer.
    ///   - onMalformed: called for each value that is left out, with the error that names the field.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what subscribing throws.
    public nonisolated(nonsending) func subscribe<Value>(
        to characteristic: Characteristic<Value>, kind: SubscriptionKind = .automatic, bufferCapacity: Int = 4096,
        timeout: Duration? = .seconds(30), onMalformed: (@Sendable (MalformedValue) -> Void)? = nil
    ) async throws(BluetoothError) -> DecodedStream<Update, TypedUpdate<Value>> {
        let updates = try await subscribe(
            to: characteristic.uuid, in: characteristic.service, kind: kind, bufferCapacity: bufferCapacity,
            timeout: timeout)
        return DecodedStream(updates) { update in
            switch update {
            case .value(let bytes): characteristic.decode(bytes, onMalformed).map { .value($0) }
            case .interrupted(let error): .interrupted(error)
            case .resumed: .resumed
            }
        }
    }
}

extension Characteristic {
    /// The value of bytes; nil, after the handler was called, for bytes without a meaning.
    func decode(_ bytes: [UInt8], _ onMalformed: ((MalformedValue) -> Void)?) -> Value? {
        do throws(MalformedValue) { return try codec.decode(bytes) } catch {
            onMalformed?(error)
            return nil
        }
    }

    /// The bytes of a value.
    /// - Throws: `.invalidArgument` for a value that the format cannot express.
    func encode(_ value: Value, to operation: String) throws(BluetoothError) -> [UInt8] {
        do throws(MalformedValue) { return try codec.encode(value) } catch {
            throw BluetoothError(
                .invalidArgument, .init("\(operation) \(uuid)"), "The value has no encoding: \(error).")
        }
    }
}
