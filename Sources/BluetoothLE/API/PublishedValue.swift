import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// The value of a published characteristic or descriptor; see ``PublishedServices``.
public struct PublishedValue: Sendable {
    /// The handle of the value; nil when the definition is not among the services, or they were closed before this
    /// was made.
    public let handle: AttributeHandle?
    private let services: PublishedServices
    /// The definition's name, for messages.
    private let name: String

    init(_ handle: AttributeHandle?, _ name: String, of services: PublishedServices) {
        self.handle = handle
        self.name = name
        self.services = services
    }

    /// The stored value; nil for a value of handlers or of requests, and once the services are closed.
    public var value: [UInt8]? { handle.flatMap { services.value(of: $0) } }

    /// Replaces the stored value, without notifying subscribers.
    /// - Throws: `.invalidArgument` when no value is stored, the value cannot have this length, or the services have
    ///   been closed.
    public func setValue(_ value: [UInt8]) throws(BluetoothError) {
        try services.setValue(value, of: try found("set a value"))
    }

    /// Notifies every device that has subscribed, and returns the outcome for each (Core Vol 3 Part G §4.10.1).
    ///
    /// Returns when the kernel has all the notifications, which it takes at once unless a link is slower than the
    /// values arrive: a loop of calls runs at the pace of the links and loses nothing. A device whose link accepts
    /// nothing for `timeout` misses the value (`.timedOut`), and all that follow (`.busy`, without a wait) until its
    /// link accepts data again. Then it is given values but not waited for while others are, until it has taken all of
    /// them for 30 s, after each further time twice as long; what it does not take within 100 ms it misses as `.busy`.
    /// ``Connection/missedValueCount`` counts what it has missed.
    /// - Parameters:
    ///   - value: the bytes; a link carries the first ATT_MTU − 3 of them.
    ///   - timeout: the longest wait for the slowest link; nil for no limit.
    /// - Returns: one delivery for each subscriber, in the order they connected.
    /// - Throws: `.invalidArgument` for a characteristic without the property `notify`, one that is not among these
    ///   services, or services that have been closed.
    @discardableResult
    public nonisolated(nonsending) func notify(
        _ value: [UInt8], timeout: Duration? = .seconds(5)
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try await services.notify(value, of: try found("notify"), timeout: timeout)
    }

    /// Indicates a value to every device that has subscribed, and returns the outcome for each
    /// (Core Vol 3 Part G §4.11.1).
    ///
    /// A device that does not confirm within 30 s loses its link, as the Attribute Protocol demands; with a shorter
    /// `timeout` its delivery fails as `.timedOut` before, and that of later values as `.busy`, without a wait, while the
    /// confirmation is outstanding.
    /// - Parameters:
    ///   - value: the bytes; a link carries the first ATT_MTU − 3 of them.
    ///   - timeout: the longest wait for the slowest device; nil for no limit but the 30 s.
    /// - Returns: one delivery for each subscriber, in the order they connected.
    /// - Throws: `.invalidArgument` for a characteristic without the property `indicate`, one that is not among these
    ///   services, or services that have been closed.
    @discardableResult
    public nonisolated(nonsending) func indicate(
        _ value: [UInt8], timeout: Duration? = nil
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try await services.indicate(value, of: try found("indicate"), timeout: timeout)
    }

    /// Notifies one device; returns when the kernel has the notification, by default without a limit.
    /// - Throws: `.notSubscribed` unless the device has subscribed to notifications, `.invalidArgument` when the
    ///   characteristic is not among these services, besides what every call on a connection throws.
    public nonisolated(nonsending) func notify(
        _ value: [UInt8], to connection: Connection, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await connection.notify(value, of: try found("notify"), timeout: timeout)
    }

    /// Indicates to one device; returns when it has confirmed, which the link does not survive if it takes 30 s.
    /// - Throws: `.notSubscribed` unless the device has subscribed to indications, `.invalidArgument` when the
    ///   characteristic is not among these services, besides what every call on a connection throws.
    public nonisolated(nonsending) func indicate(
        _ value: [UInt8], to connection: Connection, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await connection.indicate(value, of: try found("indicate"), timeout: timeout)
    }

    private func found(_ operation: String) throws(BluetoothError) -> AttributeHandle {
        if let handle, !services.isClosed { return handle }
        throw .invalidArgument(
            BluetoothError.Operation(operation), "\(name) is not among these services, or they have been closed.")
    }
}

extension PublishedServices {
    /// The value of a published characteristic.
    public subscript(_ characteristic: LocalCharacteristic) -> PublishedValue {
        PublishedValue(handle(of: characteristic.id), "Characteristic \(characteristic.uuid)", of: self)
    }

    /// The value of a published descriptor.
    public subscript(_ descriptor: LocalDescriptor) -> PublishedValue {
        PublishedValue(handle(of: descriptor.id), "Descriptor \(descriptor.uuid)", of: self)
    }

    /// The value of the first published characteristic with this UUID.
    /// - Parameters:
    ///   - characteristic: the characteristic's UUID.
    ///   - service: the service that has it; nil searches all of these.
    public subscript(_ characteristic: BluetoothUUID, in service: BluetoothUUID? = nil) -> PublishedValue {
        PublishedValue(handle(of: characteristic, in: service), "Characteristic \(characteristic)", of: self)
    }

    /// The clients' reads and writes of values that are neither stored nor have handlers, as tokens to be answered.
    ///
    /// While the stream is not read, such requests are refused as Read Not Permitted and Write Not Permitted. A request
    /// waits for at most 25 s; of more than 64 that wait, the oldest is released, so that its client receives Unlikely
    /// Error. The requests of one device come one after the other, each when the one before is answered; commands do
    /// not wait for answers. The stream ends when the services are closed, and throws when the adapter is closed.
    /// - Throws: `.busy` while another stream of these requests is being read.
    public func requests() throws(BluetoothError) -> BoundedStream<ClientRequest> {
        try publication.makeStream(session.operation("follow requests"), keeping: session)
    }
}
