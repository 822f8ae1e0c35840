import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

/// The type of a write: with or without a response.
public enum WriteType: Hashable, Sendable {
    /// Write Requests: the peer confirms the value (Core Vol 3 Part G §4.9.3, §4.9.4).
    case withResponse
    /// A Write Command: the peer does not respond (Core Vol 3 Part G §4.9.1).
    case withoutResponse
}

// A `timeout` is the longest time that the caller waits for all requests of a call, and for a pairing that the peer demands
// meanwhile; nil for no limit. Whatever it is, a peer that does not respond to a request within 30 s loses the link (Core
// Vol 3 Part F §3.3.3). A request that was sent keeps its place on the link until it is answered, so a late response never
// reaches another caller.
extension Connection {
    /// Exchanges the ATT_MTU with the peer (Core Vol 3 Part G §4.3.1).
    ///
    /// Permitted once per link; ``Central/connect(to:options:)-(BluetoothAddress,_)`` has done so. `mtu` is 23 to 517
    /// bytes, and at most ``ConnectionOptions/maximumTransmissionUnit``; other values are clamped.
    public nonisolated(nonsending) func exchangeMTU(offering mtu: Int, timeout: Duration? = .seconds(300))
        async throws(BluetoothError)
    {
        try await core { (link) async throws(BluetoothError) in
            try await link.exchangeMTU(offering: mtu, timeout: timeout)
        }
    }

    /// Reads a whole value, up to 512 bytes, in as many requests as it takes (Core Vol 3 Part G §4.8.1, §4.8.3).
    public nonisolated(nonsending) func read(
        _ attribute: some RemoteAttribute, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [UInt8] {
        try await core { (link) async throws(BluetoothError) in try await link.read(attribute, timeout: timeout) }
    }

    /// Writes a value: by default with a response, which it waits for.
    ///
    /// With a response, up to ``maximumCommandLength`` bytes go in one Write Request (Core Vol 3 Part G §4.9.3), up to
    /// 512 bytes in prepared parts whose echo is compared and that the peer writes all at once (§4.9.4). Without one
    /// this is ``writeCommand(_:to:timeout:)``.
    /// - Throws: `.invalidArgument` for more than 512 bytes, and without a response for more than
    ///   ``maximumCommandLength``, besides what every call throws.
    public nonisolated(nonsending) func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, type: WriteType = .withResponse,
        timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) {
        if type == .withoutResponse, let link = core.valueIfCurrent, link.maySendWithoutTurn,
            link.commandAtOnce(value, to: attribute)
        {
            return
        }
        try await core { (link) async throws(BluetoothError) in
            switch type {
            case .withResponse: try await link.write(value, to: attribute, timeout: timeout)
            case .withoutResponse: try await link.writeCommand(value, to: attribute, timeout: timeout)
            }
        }
    }

    /// Sends a Write Command, which has no response (Core Vol 3 Part G §4.9.1).
    ///
    /// Returns as soon as the kernel has the command, and waits while its buffer is full, by default without a limit:
    /// commands are neither lost nor reordered on this side, and a fast sender is slowed down to the link's pace.
    /// - Throws: `.invalidArgument` for more than ``maximumCommandLength`` bytes, besides what every call throws.
    public nonisolated(nonsending) func writeCommand(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        if let link = core.valueIfCurrent, link.maySendWithoutTurn, link.commandAtOnce(value, to: attribute) { return }
        try await core { (link) async throws(BluetoothError) in
            try await link.writeCommand(value, to: attribute, timeout: timeout)
        }
    }

    /// Reads a descriptor and decodes its value by its type (Core Vol 3 Part G §4.12.1, §3.3.3).
    ///
    /// A value that is malformed for its type has its `DescriptorValue.bytes` alone.
    public nonisolated(nonsending) func readValue(
        of descriptor: RemoteDescriptor, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> DescriptorValue {
        try await core { (link) async throws(BluetoothError) in
            try await link.readValue(of: descriptor, timeout: timeout)
        }
    }

    /// Reads the extended properties of a characteristic (Core Vol 3 Part G §3.3.3.1): whether it allows
    /// ``writeReliably(_:timeout:)``, and whether its user description is writable.
    ///
    /// Needs no request where the declaration says that there are none, or the descriptor is missing.
    public nonisolated(nonsending) func extendedProperties(
        of characteristic: RemoteCharacteristic, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> CharacteristicExtendedProperties {
        try await core { (link) async throws(BluetoothError) in
            try await link.extendedProperties(of: characteristic, timeout: timeout)
        }
    }

    /// Reads the values of all attributes of a type, without discovering them (Core Vol 3 Part G §4.8.2).
    ///
    /// Several values take one request where they have the same length and fit into one response.
    /// - Parameters:
    ///   - uuid: the attributes' type, most often a characteristic's UUID.
    ///   - range: the handles to search, such as `RemoteService.handles`.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Returns: the values in the order of their handles; none when there is no such attribute.
    /// - Throws: `BluetoothError`: `.attributeProtocol` when one of the values is not readable; its handle is in the
    ///   error.
    public nonisolated(nonsending) func readValues(
        of uuid: BluetoothUUID, in range: AttributeHandleRange = .all, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteValue] {
        try await core { (link) async throws(BluetoothError) in
            try await link.readValues(of: uuid, in: range, timeout: timeout)
        }
    }

    /// Reads several values in as few requests as the ATT_MTU allows (Core Vol 3 Part G §4.8.5).
    ///
    /// A value that does not fit into a response is requested again, and the rest of a long one is read in parts. If
    /// the peer does not support the request, or responds with invalid data, the values are read one by one, and the
    /// request is not repeated on the link.
    /// - Returns: the whole values, in the order of `attributes`.
    /// - Throws: `BluetoothError`: `.attributeProtocol` when one of the values is not readable; its handle is in the
    ///   error.
    public nonisolated(nonsending) func read(
        _ attributes: [any RemoteAttribute], timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [[UInt8]] {
        try await core { (link) async throws(BluetoothError) in try await link.read(attributes, timeout: timeout) }
    }

    /// Writes several values, or parts of values, all at once or not at all (Core Vol 3 Part G §4.9.5).
    ///
    /// The peer queues each part and echoes it; the queue is executed only when every echo is right. When a part is
    /// refused or differs, or the task is cancelled in between, the queue is cancelled. The
    /// ``extendedProperties(of:timeout:)`` of a characteristic say whether it allows this.
    /// - Parameters:
    ///   - writes: the values in this order; each within the 512 bytes of a value.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `BluetoothError`: `.invalidArgument` before anything is sent when one does not fit into a value,
    ///   `.attributeProtocol` when the peer refuses (`ATTErrorCode.prepareQueueFull` when its queue has no room),
    ///   `.protocolViolation` when an echo differs.
    public nonisolated(nonsending) func writeReliably(
        _ writes: [AttributeWrite], timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in try await link.writeReliably(writes, timeout: timeout) }
    }
}
