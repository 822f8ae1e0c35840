import ArgumentParser
import BluetoothLE

/// An attribute as named on the command line: `UUID`, a name, `0xHANDLE`, or `SERVICE/CHARACTERISTIC[/DESCRIPTOR]`.
public enum AttributeSelector: Hashable, Sendable, CustomStringConvertible {
    /// The characteristic or descriptor with this UUID, in any service.
    case uuid(BluetoothUUID)
    /// The characteristic or descriptor with this assigned name, or part of one.
    case name(AttributeName)
    /// The attribute with this handle.
    case handle(AttributeHandle)
    /// A characteristic of a service, or one of its descriptors.
    case path(service: BluetoothUUID, characteristic: BluetoothUUID, descriptor: BluetoothUUID?)

    /// Parses the notation; nil if it is invalid.
    public init?(_ text: String) {
        if text.hasPrefix("0x") {
            guard let number = UInt16(text.dropFirst(2), radix: 16), number > 0 else { return nil }
            self = .handle(AttributeHandle(number))
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch parts.count {
        case 1:
            if let uuid = BluetoothUUID(text) {
                self = .uuid(uuid)
            } else if let name = AttributeName(text) {
                self = .name(name)
            } else if let service = AttributeName.uuid(text, in: AttributeName.services) {
                self = .uuid(service)
            } else {
                return nil
            }
        case 2...3:
            let kinds = [AttributeName.services, AttributeName.characteristics, AttributeName.descriptors]
            let uuids = zip(parts, kinds).compactMap { BluetoothUUID($0) ?? AttributeName.uuid($0, in: $1) }
            guard uuids.count == parts.count else { return nil }
            self = .path(service: uuids[0], characteristic: uuids[1], descriptor: uuids.count == 3 ? uuids[2] : nil)
        default: return nil
        }
    }

    /// The notation.
    public var description: String {
        switch self {
        case .uuid(let uuid): "\(uuid)"
        case .name(let name): "\(name)"
        case .handle(let handle): "\(handle)"
        case .path(let service, let characteristic, let descriptor):
            "\(service)/\(characteristic)" + (descriptor.map { "/\($0)" } ?? "")
        }
    }

    /// The `--help` text on the notation.
    public static let help =
        "Name an attribute by its UUID (2A19), its assigned name in any case (battery-level), its value handle (0x0012), "
        + "or, if several attributes have that UUID, as SERVICE/CHARACTERISTIC or SERVICE/CHARACTERISTIC/DESCRIPTOR "
        + "(180F/2A19/2904)."

    /// Parses a command-line argument.
    /// - Throws: `ValidationError`, which names the accepted forms.
    public static func parse(_ text: String) throws -> AttributeSelector {
        guard let selector = AttributeSelector(text) else {
            throw ValidationError(
                "give a UUID (2A19), an assigned name (battery-level), a handle (0x0012) or SERVICE/CHARACTERISTIC "
                    + "(180F/2A19)." + (AttributeName.nearest(to: text).map { " Did you mean \($0)?" } ?? ""))
        }
        return selector
    }

    /// Whether resolving it requires the peer's database.
    public var needsDiscovery: Bool {
        if case .handle = self { false } else { true }
    }
}

/// The attribute that a selector resolved to.
public struct ChosenAttribute: Hashable, Sendable, RemoteAttribute {
    /// The handle of its value.
    public var attributeHandle: AttributeHandle
    /// The attribute's UUID; nil if only the handle is known.
    public var uuid: BluetoothUUID?
    /// The characteristic whose value it is; nil for descriptors and bare handles.
    public var characteristic: RemoteCharacteristic?
    /// The characteristic of a descriptor.
    public var owner: RemoteCharacteristic?
    /// What the user typed; nil if the attribute was not chosen by a selector.
    public var typed: String?

    /// An attribute known only by its handle.
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
    public init(_ descriptor: RemoteDescriptor, of characteristic: RemoteCharacteristic) {
        owner = characteristic
        attributeHandle = descriptor.handle
        uuid = descriptor.uuid
    }

    /// `2A19 Battery Level 0x0012`.
    public var title: String {
        [uuid.map { "\($0)" }, uuid?.knownName, "\(attributeHandle)"].compactMap { $0 }.joined(separator: " ")
    }

    /// The UUID that a user may have meant by a handle; nil for an attribute of the device's database.
    public var handleHint: String? {
        let meant = BluetoothUUID(attributeHandle.rawValue)
        guard uuid == nil, let name = meant.knownName else { return nil }
        return "\(attributeHandle) is a handle. \(name) has the UUID \(meant): leave out 0x."
    }

    /// Runs `body`, whose errors name the attribute as the user did.
    public func named<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch var error as BluetoothError {
            guard let typed, error.attribute != nil else { throw error }
            error.operation.name += " \(typed)"
            error.operation.attribute = nil
            switch error.cause {
            case .attribute(.invalidHandle): error.remedy = handleHint
            case .attribute(.readNotPermitted), .attribute(.writeNotPermitted):
                error.remedy = characteristic.map { "Its properties are \($0.properties)." }
            default: break
            }
            throw error
        }
    }
}

extension AttributeSelector {
    /// The attribute of a database that matches the selector.
    /// - Parameters:
    ///   - needed: of several that match, the only one with any of these properties is chosen.
    ///   - command: the command that lists the attributes.
    /// - Throws: ``ProgramError``: ``ExitStatus/protocolError`` if none matches, ``ExitStatus/usage`` if several do, or if it
    ///   is a service.
    public func resolve(
        in services: some Collection<RemoteService>, needing needed: CharacteristicProperties = [],
        listedBy command: String = "ble explore"
    ) throws -> ChosenAttribute {
        let all = candidates(in: services)
        let exact = all.filter { attribute, _ in isExact(attribute) }
        let found = exact.isEmpty ? all : exact
        let able = found.filter { !needed.isDisjoint(with: $0.attribute.characteristic?.properties ?? []) }
        var chosen = (able.count == 1 ? able : found.count == 1 ? found : []).first?.attribute
        if chosen == nil, case .handle(let handle) = self { chosen = ChosenAttribute(handle) }
        chosen?.typed = description
        if let chosen { return chosen }
        guard found.isEmpty else {
            let list = found.map { "\($0.attribute.title) in \($0.service.uuid)" }.joined(separator: ", ")
            throw ProgramError(
                .usage, "'\(self)' matches \(found.count) attributes: \(list).", remedy: "Select one by its handle.")
        }
        let listing = "List its attributes with: \(command)"
        if case .uuid(let uuid) = self, let service = services.first(where: { $0.uuid == uuid }) {
            let own = service.characteristics.filter { needed.isEmpty || !needed.isDisjoint(with: $0.properties) }
            let paths = own.map { "\(uuid)/\($0.uuid)" }.joined(separator: ", ")
            throw ProgramError(
                .usage, "\([self.description, uuid.knownName].compactMap(\.self).joined(separator: " ")) is a service.",
                remedy: own.isEmpty ? listing : "Name one of its characteristics: \(paths)")
        }
        var remedy = listing
        if case .path(_, let characteristic, let descriptor) = self {
            let wanted = descriptor ?? characteristic
            let paths = AttributeSelector.uuid(wanted).candidates(in: services).map {
                [$0.service.uuid, $0.attribute.owner?.uuid, wanted].compactMap { $0.map { "\($0)" } }
                    .joined(separator: "/")
            }
            if !paths.isEmpty { remedy = "\(wanted) is here: \(paths.joined(separator: ", "))" }
        }
        throw ProgramError(.protocolError, "The device has no attribute \(self).", remedy: remedy)
    }

    private func candidates(
        in services: some Collection<RemoteService>
    ) -> [(attribute: ChosenAttribute, service: RemoteService)] {
        services.flatMap { service in
            service.characteristics.flatMap { characteristic in
                ([ChosenAttribute(characteristic)]
                    + characteristic.descriptors.map { ChosenAttribute($0, of: characteristic) })
                    .filter { matches($0, of: characteristic, in: service) }.map { ($0, service) }
            }
        }
    }

    private func matches(
        _ attribute: ChosenAttribute, of characteristic: RemoteCharacteristic, in service: RemoteService
    ) -> Bool {
        switch self {
        case .uuid(let uuid): attribute.uuid == uuid
        case .name(let name): attribute.uuid.map { name.partial.contains($0) } ?? false
        case .handle(let handle): attribute.attributeHandle == handle
        case .path(service.uuid, characteristic.uuid, let descriptor):
            descriptor == nil ? attribute.characteristic != nil : attribute.uuid == descriptor
        case .path: false
        }
    }
}

extension AttributeSelector {
    /// Whether an attribute that matches has the whole name.
    private func isExact(_ attribute: ChosenAttribute) -> Bool {
        guard case .name(let name) = self else { return true }
        return attribute.uuid.map { name.exact.contains($0) } ?? false
    }
}

extension Connection {
    /// The attributes that match the selectors. Runs discovery only if a selector requires it.
    /// - Parameters:
    ///   - needed: of several that match a selector, the only one with any of these properties is chosen.
    ///   - needsDeclarations: whether attributes named by handle need their characteristic declarations too.
    ///   - options: those of the command, which errors repeat.
    public func choose(
        _ selectors: [AttributeSelector], needing needed: CharacteristicProperties, needsDeclarations: Bool = false,
        _ options: CommonOptions
    ) async throws -> [ChosenAttribute] {
        let isKnown = !needsDeclarations && !selectors.contains(where: \.needsDiscovery)
        let services = isKnown ? [] : try await discover(timeout: options.timeout(or: .seconds(30))).services
        let command = await listing(options)
        return try selectors.map { try $0.resolve(in: services, needing: needed, listedBy: command) }
    }

    /// The command that lists the attributes.
    public func listing(_ options: CommonOptions) async -> String {
        options.command("explore", on: peer, by: await adapterName)
    }
}
