import BluetoothGATT
import BluetoothLE

/// One set of handlers for all values of services that are not stored.
struct AttributeHandlers: Sendable {
    var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
    var write: (@Sendable (WriteRequest, [UInt8]) async throws -> Void)?
    var authorize: Authorizer?
}

extension Adapter {
    /// Publishes services in the attribute server's terms.
    @discardableResult
    func publish(
        _ services: [GATTService], handlers: AttributeHandlers = AttributeHandlers()
    ) async throws(BluetoothError) -> PublishedServices {
        let services = services.map { definition in
            var service = LocalService(definition)
            service.characteristics = service.characteristics.map { $0.handled(by: handlers) }
            return service
        }
        return try await publish(services, authorizing: handlers.authorize)
    }

    @discardableResult
    func publish(
        handlers: AttributeHandlers = AttributeHandlers(), @GATTBuilder<GATTService> services: () -> [GATTService]
    ) async throws(BluetoothError) -> PublishedServices {
        try await publish(services(), handlers: handlers)
    }
}

extension LocalCharacteristic {
    fileprivate func handled(by handlers: AttributeHandlers) -> LocalCharacteristic {
        var result = self
        result.descriptors = descriptors.map { descriptor in
            guard descriptor.value == nil else { return descriptor }
            var result = descriptor
            if let read = handlers.reader(descriptor.permissions) { result = result.onRead(read) }
            if let write = handlers.writer(descriptor.permissions) { result = result.onWrite(write) }
            return result
        }
        guard value == nil else { return result }
        if let read = handlers.reader(self.permissions) { result = result.onRead(read) }
        if let write = handlers.writer(self.permissions) { result = result.onWrite(write) }
        return result
    }
}

extension AttributeHandlers {
    fileprivate func reader(
        _ permissions: AttributePermissions
    ) -> (@Sendable (ReadRequest) async throws -> [UInt8])? {
        permissions.contains(.read) ? read : nil
    }

    fileprivate func writer(
        _ permissions: AttributePermissions
    ) -> (@Sendable (WriteRequest) async throws -> Void)? {
        guard permissions.contains(.write), let write else { return nil }
        return { try await write($0, $0.value) }
    }
}
