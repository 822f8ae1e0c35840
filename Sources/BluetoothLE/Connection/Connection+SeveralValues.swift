import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

extension AttributeWrite {
    /// A write of `value` to a characteristic or descriptor, for ``Connection/writeReliably(_:timeout:)``.
    ///
    /// - Parameter offset: at zero the value is written anew, elsewhere it is changed from there on.
    public init(_ value: [UInt8], to attribute: some RemoteAttribute, offset: Int = 0) {
        self.init(attribute.attributeHandle, offset: offset, value: value)
    }
}

extension Connection {
    /// Reads the values of all attributes of a type, without having discovered where they are
    /// (Core Vol 3 Part G §4.8.2).
    ///
    /// Several values take one request where they have the same length and fit into one answer.
    /// - Parameters:
    ///   - uuid: what the attributes are, most often a characteristic's UUID.
    ///   - range: where to look, such as ``RemoteService/handles``.
    ///   - timeout: the most time to wait for everything.
    /// - Returns: the values in the order of their handles; none when there is no such attribute.
    /// - Throws: ``BluetoothError``: `.attributeProtocol` when one of the values may not be read; its handle is in the
    ///   error.
    public func readValues(
        of uuid: BluetoothUUID, in range: AttributeHandleRange = .all, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteValue] {
        let values = try await perform(ValueReadByUUID(uuid, in: range), "read all \(uuid)", timeout: timeout)
        if uuid == .deviceName, let name = values.first?.value { take(deviceName: name) }
        return values
    }

    /// Reads several values in as few requests as the ATT_MTU allows (Core Vol 3 Part G §4.8.5).
    ///
    /// A value that an answer has no room for is asked for again, a long one is read on in parts. A peer that does not
    /// know the request, or answers it as it must not, is asked so once on a link, and its values are read one by one.
    /// - Returns: the whole values, in the order asked for.
    /// - Throws: ``BluetoothError``: `.attributeProtocol` when one of the values may not be read; its handle is in the
    ///   error.
    public func read(
        _ attributes: [any RemoteAttribute], timeout: Duration? = nil
    ) async throws(BluetoothError) -> [[UInt8]] {
        let isSupported = try !bearer(for: .init("read several", peer: peer))
            .unsupportedRequests.contains(.readMultipleVariableRequest)
        return try await read(
            MultipleValueRead(try handles(of: attributes), isSupported: isSupported),
            by: .readMultipleVariableRequest, timeout: timeout, count: attributes.count)
    }

    /// Reads several values whose lengths are known in as few requests as the ATT_MTU allows
    /// (Core Vol 3 Part G §4.8.4).
    ///
    /// Serves peers of before Bluetooth 5.2, which do not know ``read(_:timeout:)``'s request. An answer has nothing
    /// between the values: when it is not as long as they are together, they are read one by one, as they are when the
    /// peer does not know the request.
    /// - Parameters:
    ///   - attributes: what to read.
    ///   - lengths: how many bytes each value has.
    ///   - timeout: the most time to wait for everything.
    /// - Returns: the values, in the order asked for.
    /// - Throws: ``BluetoothError``: `.invalidArgument` when there are not as many lengths as attributes,
    ///   `.attributeProtocol` when one of the values may not be read; its handle is in the error.
    public func read(
        _ attributes: [any RemoteAttribute], lengths: [Int], timeout: Duration? = nil
    ) async throws(BluetoothError) -> [[UInt8]] {
        let operation = BluetoothError.Operation("read several", peer: peer)
        guard lengths.count == attributes.count else {
            throw .invalidArgument(operation, "\(lengths.count) lengths for \(attributes.count) values.")
        }
        let isSupported = try !bearer(for: operation).unsupportedRequests.contains(.readMultipleRequest)
        return try await read(
            MultipleValueRead(try handles(of: attributes), lengths: lengths, isSupported: isSupported),
            by: .readMultipleRequest, timeout: timeout, count: attributes.count)
    }

    private func handles(of attributes: [any RemoteAttribute]) throws(BluetoothError) -> [AttributeHandle] {
        var handles: [AttributeHandle] = []
        for attribute in attributes { handles.append(try current(attribute, "read several")) }
        return handles
    }

    private func read(
        _ procedure: MultipleValueRead, by request: ATTOpcode, timeout: Duration?, count: Int
    ) async throws(BluetoothError) -> [[UInt8]] {
        guard count > 0 else { return [] }
        let output = try await perform(procedure, "read several", timeout: timeout)
        if !output.isSupported, let bearer = try? bearer(for: .init("read several", peer: peer)) {
            bearer.unsupportedRequests.insert(request)
        }
        return output.values
    }

    /// Writes several values, or parts of values, all at once or not at all (Core Vol 3 Part G §4.9.5).
    ///
    /// The peer holds back what it is sent and repeats it; only when every repetition is right is it told to write. When
    /// anything is refused or differs, or the caller gives up in between, it is told to forget everything. A peer says
    /// whether a characteristic can be written like this in its ``extendedProperties(of:timeout:)``.
    /// - Parameters:
    ///   - writes: what to write, in this order; each within the 512 bytes of a value.
    ///   - timeout: the most time to wait for everything.
    /// - Throws: ``BluetoothError``: `.invalidArgument` before anything is sent when one does not fit into a value,
    ///   `.attributeProtocol` when the peer refuses (``ATTErrorCode/prepareQueueFull`` when it cannot hold as much),
    ///   `.protocolViolation` when it repeats something else.
    public func writeReliably(
        _ writes: [AttributeWrite], timeout: Duration? = nil
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("write reliably", peer: peer)
        _ = try bearer(for: operation)
        guard !writes.isEmpty else { return }
        for write in writes { _ = try current(write.handle, operation.name) }
        try await perform(
            ReliableWrite(writes), operation.name, of: writes.count == 1 ? writes[0].handle : nil, timeout: timeout)
    }
}
