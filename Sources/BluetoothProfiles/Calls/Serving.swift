import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLE

extension LocalCharacteristic {
    /// A characteristic without a value: for notifications, or with handlers to be added.
    /// - Parameters:
    ///   - characteristic: the characteristic.
    ///   - properties: the operations that clients may try; nil for the usual ones.
    ///   - permissions: the security that each operation requires; nil permits what the properties name, over any link.
    public init<Value>(
        _ characteristic: Characteristic<Value>, properties: CharacteristicProperties? = nil,
        permissions: AttributePermissions? = nil
    ) {
        self.init(
            characteristic.uuid, properties: properties ?? characteristic.properties, permissions: permissions)
    }

    /// A characteristic with a stored value, which clients read, and write if the properties permit it:
    /// `LocalCharacteristic(.manufacturerNameString, value: "Acme")`.
    ///
    /// A value that the format cannot express refuses reads with Unlikely Error.
    /// - Parameters:
    ///   - characteristic: the characteristic.
    ///   - properties: the operations that clients may try; nil for the usual ones.
    ///   - value: the initial value.
    ///   - permissions: the security that each operation requires; nil permits what the properties name, over any link.
    public init<Value>(
        _ characteristic: Characteristic<Value>, properties: CharacteristicProperties? = nil, value: Value,
        permissions: AttributePermissions? = nil
    ) {
        do throws(MalformedValue) {
            self.init(
                characteristic.uuid, properties: properties ?? characteristic.properties,
                value: try characteristic.codec.encode(value), permissions: permissions)
        } catch {
            self.init(characteristic, properties: properties, permissions: permissions) { value }
        }
    }

    /// A characteristic whose value a handler returns: `LocalCharacteristic(.batteryLevel) { 97 }`.
    ///
    /// A value that the format cannot express refuses the read with Unlikely Error.
    /// - Parameters:
    ///   - characteristic: the characteristic.
    ///   - properties: the operations that clients may try; nil for the usual ones.
    ///   - permissions: the security that each operation requires; nil permits what the properties name, over any link.
    ///   - onRead: returns the value; see `onRead(_:)`.
    public init<Value>(
        _ characteristic: Characteristic<Value>, properties: CharacteristicProperties? = nil,
        permissions: AttributePermissions? = nil, onRead: @escaping @Sendable () async throws -> Value
    ) {
        self = LocalCharacteristic(
            characteristic.uuid, properties: properties ?? characteristic.properties, permissions: permissions
        ).onRead { _ in try characteristic.codec.encode(try await onRead()) }
    }

    /// The characteristic with a value that is sent periodically while a device has subscribed, as
    /// `notifying(every:_:)`: `LocalCharacteristic(.batteryLevel).notifying(every: .seconds(60), of: .batteryLevel) { 97 }`.
    ///
    /// A value that the format cannot express is logged and not sent.
    public func notifying<Value>(
        every interval: Duration, of characteristic: Characteristic<Value>,
        _ value: @escaping @Sendable () async throws -> Value
    ) -> LocalCharacteristic {
        notifying(every: interval) { try characteristic.codec.encode(try await value()) }
    }

    /// The characteristic with a handler of decoded writes, which are accepted when it returns and refused when it throws:
    /// `LocalCharacteristic(.alertLevel).onWrite(of: .alertLevel) { level, _ in … }`.
    ///
    /// A write without a meaning is refused with Value Not Allowed, one in the middle of the value with Invalid Offset.
    public func onWrite<Value>(
        of characteristic: Characteristic<Value>,
        _ body: @escaping @Sendable (Value, WriteRequest) async throws -> Void
    ) -> LocalCharacteristic {
        onWrite { request in
            guard request.offset == 0 else { throw ATTErrorCode.invalidOffset }
            guard let value = characteristic.decode(request.value, nil) else { throw ATTErrorCode.valueNotAllowed }
            try await body(value, request)
        }
    }
}

extension PublishedServices {
    /// Notifies every device that has subscribed, as ``BluetoothLE/PublishedValue/notify(_:timeout:)``.
    /// - Throws: `.invalidArgument` for a value that the format cannot express, besides what notifying throws.
    @discardableResult
    public nonisolated(nonsending) func notify<Value>(
        _ value: Value, of characteristic: Characteristic<Value>, timeout: Duration? = .seconds(5)
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try await self[characteristic.uuid, in: characteristic.service].notify(
            try characteristic.encode(value, to: "notify"), timeout: timeout)
    }

    /// Indicates a value to every device that has subscribed, as ``BluetoothLE/PublishedValue/indicate(_:timeout:)``.
    /// - Throws: `.invalidArgument` for a value that the format cannot express, besides what indicating throws.
    @discardableResult
    public nonisolated(nonsending) func indicate<Value>(
        _ value: Value, of characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try await self[characteristic.uuid, in: characteristic.service].indicate(
            try characteristic.encode(value, to: "indicate"), timeout: timeout)
    }
}
