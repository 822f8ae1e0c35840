import ArgumentParser
import BluetoothLE

/// An attribute as it is named on the command line: `UUID`, `0xHANDLE`, or `SERVICE/CHARACTERISTIC[/DESCRIPTOR]`.
public enum AttributeSelector: Hashable, Sendable, CustomStringConvertible {
    /// The characteristic or descriptor with this UUID, wherever it is.
    case uuid(BluetoothUUID)
    /// The value with this handle.
    case handle(AttributeHandle)
    /// A characteristic of a service, or a descriptor of that.
    case path(service: BluetoothUUID, characteristic: BluetoothUUID, descriptor: BluetoothUUID?)

    /// Reads the notation; nil for anything else.
    public init?(_ text: String) {
        if text.hasPrefix("0x") {
            guard let number = UInt16(text.dropFirst(2), radix: 16), number > 0 else { return nil }
            self = .handle(AttributeHandle(number))
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { BluetoothUUID($0) }
        switch parts.count {
        case 1: guard let uuid = parts[0] else { return nil }; self = .uuid(uuid)
        case 2...3:
            guard let service = parts[0], let characteristic = parts[1] else { return nil }
            if parts.count == 3, parts[2] == nil { return nil }
            self = .path(
                service: service, characteristic: characteristic, descriptor: parts.count == 3 ? parts[2] : nil)
        default: return nil
        }
    }

    /// The notation.
    public var description: String {
        switch self {
        case .uuid(let uuid): "\(uuid)"
        case .handle(let handle): "\(handle)"
        case .path(let service, let characteristic, let descriptor):
            "\(service)/\(characteristic)" + (descriptor.map { "/\($0)" } ?? "")
        }
    }

    /// What `--help` says about the notation.
    public static let help =
        "An attribute is named by its UUID (2A19), by the handle of its value (0x0012), or, where a UUID is there more "
        + "than once, as SERVICE/CHARACTERISTIC or SERVICE/CHARACTERISTIC/DESCRIPTOR (180F/2A19/2904)."

    /// Whether the peer's database has to be known to resolve it.
    public var needsDiscovery: Bool {
        if case .handle = self { false } else { true }
    }
}

extension AttributeSelector: ExpressibleByArgument {
    /// Reads an argument of the command line.
    public init?(argument: String) {
        self.init(argument)
    }
}

/// An attribute of a device that was chosen.
public struct ChosenAttribute: Hashable, Sendable, RemoteAttribute {
    /// Where its value is.
    public var attributeHandle: AttributeHandle
    /// What it is; nil when only its handle is known.
    public var uuid: BluetoothUUID?
    /// The characteristic, when it is the value of one.
    public var characteristic: RemoteCharacteristic?

    /// An attribute of which only the handle is known.
    public init(_ handle: AttributeHandle) {
        attributeHandle = handle
    }

    /// A characteristic's value.
    public init(_ characteristic: RemoteCharacteristic) {
        attributeHandle = characteristic.valueHandle
        uuid = characteristic.uuid
        self.characteristic = characteristic
    }

    /// A descriptor.
    public init(_ descriptor: RemoteDescriptor) {
        attributeHandle = descriptor.handle
        uuid = descriptor.uuid
    }

    /// `2A19 Battery Level 0x0012`.
    public var title: String {
        [uuid.map { "\($0)" }, uuid?.assignedName, "\(attributeHandle)"].compactMap { $0 }.joined(separator: " ")
    }
}

extension AttributeSelector {
    /// The one attribute it means in a database.
    /// - Throws: ``ProgramError``: ``ExitStatus/protocolError`` when the device has none, ``ExitStatus/usage`` when it has
    ///   several.
    public func resolve(in services: some Collection<RemoteService>) throws -> ChosenAttribute {
        let found = candidates(in: services)
        if let only = found.first, found.count == 1 { return only.attribute }
        if case .handle(let handle) = self { return ChosenAttribute(handle) }
        guard !found.isEmpty else {
            throw ProgramError(
                .protocolError, "The device has no attribute \(self).", remedy: "ble explore shows what it has.")
        }
        let list = found.map { "\($0.attribute.attributeHandle) in \($0.service.uuid)" }.joined(separator: ", ")
        throw ProgramError(
            .usage, "\(self) is there \(found.count) times: \(list).", remedy: "Say which, by its handle.")
    }

    private func candidates(
        in services: some Collection<RemoteService>
    ) -> [(attribute: ChosenAttribute, service: RemoteService)] {
        services.flatMap { service in
            service.characteristics.flatMap { characteristic in
                ([ChosenAttribute(characteristic)] + characteristic.descriptors.map { ChosenAttribute($0) })
                    .filter { matches($0, of: characteristic, in: service) }.map { ($0, service) }
            }
        }
    }

    private func matches(
        _ attribute: ChosenAttribute, of characteristic: RemoteCharacteristic, in service: RemoteService
    ) -> Bool {
        switch self {
        case .uuid(let uuid): attribute.uuid == uuid
        case .handle(let handle): attribute.attributeHandle == handle
        case .path(service.uuid, characteristic.uuid, let descriptor):
            descriptor == nil ? attribute.characteristic != nil : attribute.uuid == descriptor
        case .path: false
        }
    }
}

extension Connection {
    /// The attributes that the selectors mean. The device is asked what it has only if that needs to be known.
    /// - Parameter needsDeclarations: whether the properties have to be known even of what is named by its handle.
    public func choose(
        _ selectors: [AttributeSelector], needsDeclarations: Bool = false, timeout: Duration?
    ) async throws -> [ChosenAttribute] {
        let isKnown = !needsDeclarations && !selectors.contains(where: \.needsDiscovery)
        let services = isKnown ? [] : try await discover(timeout: timeout).services
        return try selectors.map { try $0.resolve(in: services) }
    }
}
