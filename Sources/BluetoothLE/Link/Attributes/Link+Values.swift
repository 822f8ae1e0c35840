import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension AttributeWrite {
    /// Creates a write to a characteristic or descriptor, for ``Connection/writeReliably(_:timeout:)``.
    ///
    /// - Parameters:
    ///   - value: the bytes to write.
    ///   - attribute: the characteristic or descriptor.
    ///   - offset: zero replaces the value, any other offset changes the value from there on.
    public init(_ value: [UInt8], to attribute: some RemoteAttribute, offset: Int = 0) {
        self.init(attribute.attributeHandle, offset: offset, value: value)
    }
}

extension Link {
    nonisolated(nonsending) func readValues(
        of uuid: BluetoothUUID, in range: AttributeHandleRange = .all, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteValue] {
        let values = try await perform(ValueReadByUUID(uuid, in: range), "read all \(uuid)", timeout: timeout)
        if uuid == .deviceName, let name = values.first?.value { bondedPeer.store(deviceName: name, self) }
        return values
    }

    nonisolated(nonsending) func read(
        _ attributes: [any RemoteAttribute], timeout: Duration?
    ) async throws(BluetoothError) -> [[UInt8]] {
        let bearer = try bearer(for: .init("read several", peer: peer))
        var handles: [AttributeHandle] = []
        for attribute in attributes { handles.append(try current(attribute, "read several")) }
        guard !handles.isEmpty else { return [] }
        let read = MultipleValueRead(handles, isSupported: bearer.peerServer.readsSeveralValues)
        let output = try await perform(read, "read several", timeout: timeout)
        if !output.isSupported { bearer.peerServer.readsSeveralValues = false }
        return output.values
    }

    nonisolated(nonsending) func writeReliably(
        _ writes: [AttributeWrite], timeout: Duration?
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("write reliably", peer: peer)
        _ = try bearer(for: operation)
        guard !writes.isEmpty else { return }
        var timeout = timeout
        for write in writes {
            _ = try current(write.handle, operation.name)
            timeout =
                try await databaseIfAny?.confirm(write.handle, nil, self, operation.name, timeout: timeout) ?? timeout
        }
        try await perform(
            ReliableWrite(writes), operation.name, of: writes.count == 1 ? writes[0].handle : nil, timeout: timeout)
    }

    nonisolated(nonsending) func readValue(
        of descriptor: RemoteDescriptor, timeout: Duration?
    ) async throws(BluetoothError) -> DescriptorValue {
        DescriptorValue(try await read(descriptor, timeout: timeout), of: descriptor.uuid)
    }

    nonisolated(nonsending) func extendedProperties(
        of characteristic: RemoteCharacteristic, timeout: Duration?
    ) async throws(BluetoothError) -> CharacteristicExtendedProperties {
        guard characteristic.properties.contains(.extendedProperties),
            let descriptor = characteristic.descriptor(.characteristicExtendedProperties),
            let properties = try await readValue(of: descriptor, timeout: timeout).extendedProperties
        else { return [] }
        return properties
    }
}
