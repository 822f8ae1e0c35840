import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// A service that this machine offers to connected devices (Core Vol 3 Part G §3.1).
///
/// ```swift
/// let level = LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [97])
/// let battery = LocalService(.battery) { level }
/// ```
///
/// Publish it with ``Adapter/publish(_:authorizing:)`` or ``Adapter/serve(_:options:authorizing:services:)``.
public struct LocalService: Identifiable, Sendable {
    /// The identity of this definition, by which it is included and addressed.
    public let id = DefinitionID()
    /// The type of the service.
    public var uuid: BluetoothUUID
    /// Whether clients discover it on its own (primary), or only where another service includes it (secondary).
    public var isPrimary: Bool
    /// The characteristics, in the order of their handles.
    public var characteristics: [LocalCharacteristic]
    /// The handle of the service declaration; nil takes the next free one.
    public var handle: AttributeHandle?
    /// The last handle of the service; nil ends it at its last attribute. The handles between stay free.
    public var endHandle: AttributeHandle?
    /// The included services, in the order of their declarations.
    var includedServices: [IncludedDefinition] = []

    /// A service with these characteristics.
    /// - Parameters:
    ///   - uuid: the type of the service.
    ///   - isPrimary: whether clients discover it on its own, or only where another service includes it.
    ///   - characteristics: the characteristics, in the order of their handles.
    ///   - handle: the handle of the service declaration; nil takes the next free one.
    ///   - endHandle: the last handle of the service; nil ends it at its last attribute.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, characteristics: [LocalCharacteristic] = [],
        handle: AttributeHandle? = nil, endHandle: AttributeHandle? = nil
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.characteristics = characteristics
        self.handle = handle
        self.endHandle = endHandle
    }

    /// A service with these characteristics, written as a list in which `if` and `for` may be used.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, handle: AttributeHandle? = nil,
        endHandle: AttributeHandle? = nil,
        @GATTBuilder<LocalCharacteristic> characteristics: () -> [LocalCharacteristic]
    ) {
        self.init(
            uuid, isPrimary: isPrimary, characteristics: characteristics(), handle: handle, endHandle: endHandle)
    }

    /// A service as the attribute server defines it, without handlers.
    package init(_ definition: GATTService) {
        self.init(
            definition.uuid, isPrimary: definition.isPrimary,
            characteristics: definition.characteristics.map { LocalCharacteristic($0) }, handle: definition.handle,
            endHandle: definition.endHandle)
        includedServices = definition.includedServices.map { .other($0) }
    }

    /// The service with another included in it (Core Vol 3 Part G §3.2).
    ///
    /// The included service must be published together with this one or before it.
    public func including(_ service: LocalService) -> LocalService {
        including(.definition(service.id, service.uuid))
    }

    /// The service with the first other service that has this UUID included in it (Core Vol 3 Part G §3.2).
    public func including(_ uuid: BluetoothUUID) -> LocalService { including(.other(.uuid(uuid))) }

    private func including(_ service: IncludedDefinition) -> LocalService {
        var result = self
        result.includedServices.append(service)
        return result
    }
}

/// A service that another includes.
enum IncludedDefinition: Hashable, Sendable {
    /// A definition; the UUID is for messages.
    case definition(DefinitionID, BluetoothUUID)
    /// A service without a definition of this program.
    case other(IncludedService)
}
