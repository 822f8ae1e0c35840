import ATT
import BluetoothPrimitives
import GATT

/// Services of this program that connected devices find; see ``Adapter/publish(_:handlers:)``.
///
/// They stay until they are withdrawn, whether or not this object is kept.
public final class PublishedServices: Sendable {
    /// Where they are.
    public let handles: AttributeHandleRange
    /// What tells them from services that are published at the same handles later.
    fileprivate let number: UInt64
    private let server: LocalServer
    let adapter: Adapter

    init(_ handles: AttributeHandleRange, _ number: UInt64, _ server: LocalServer, _ adapter: Adapter) {
        self.handles = handles
        self.number = number
        self.server = server
        self.adapter = adapter
    }

    /// The handle of the value of the first characteristic with this UUID; nil when there is none.
    /// - Parameter service: in which service; nil looks in all of these.
    public func handle(of characteristic: BluetoothUUID, in service: BluetoothUUID? = nil) -> AttributeHandle? {
        guard !isWithdrawn else { return nil }
        return server.withDatabase { $0.valueHandle(of: characteristic, in: service, within: handles) }
    }

    /// Whether they are there no more.
    var isWithdrawn: Bool { !server.isPublished(number, at: handles.start) }

    /// What devices can ask to be sent of a characteristic.
    func supportedConfiguration(of characteristic: AttributeHandle) -> ClientCharacteristicConfiguration {
        server.withDatabase { $0.supportedConfiguration(of: characteristic) } ?? []
    }

    /// A value that is stored and not dynamic; nil once the services are withdrawn.
    public func value(of handle: AttributeHandle) -> [UInt8]? { server.value(of: handle, in: number) }

    /// Changes a stored value. Devices that have subscribed are not told by that; see
    /// ``notify(_:of:timeout:)``.
    /// - Throws: `.invalidArgument` when no value is stored there, the value has a length that it cannot have, or the services
    ///   have been withdrawn.
    public func setValue(_ value: [UInt8], of handle: AttributeHandle) throws(BluetoothError) {
        let operation = BluetoothError.Operation("set a value", attribute: handle)
        guard handles.contains(handle) else {
            throw .invalidArgument(operation, "\(handle) is not among these services, which have \(handles).")
        }
        let isThere: Bool
        do throws(AttributeDatabaseError) {
            isThere = try server.setValue(value, of: handle, in: number)
        } catch {
            throw .invalidArgument(operation, "\(error)")
        }
        guard isThere else { throw .invalidArgument(operation, "These services have been withdrawn.") }
    }

    /// Takes the services away; connected devices that follow changes are told. Once is enough.
    public func withdraw() async {
        await adapter.withdraw(self)
    }
}

extension Adapter {
    /// Publishes services to all devices that are connected through this adapter, now and later, besides the Generic
    /// Access and Generic Attribute services they always find.
    ///
    /// They are served on every link, including incoming connections that the program does not accept; see
    /// ``incomingConnections(_:)``. Some peripherals look for services on the central that connects to them. Services
    /// published before keep their handles; subscribed devices receive a Service Changed indication, and requests of
    /// devices with robust caching that rely on the old database are refused (Core Vol 3 Part G §2.5.2.1, §7.1).
    /// - Parameters:
    ///   - services: what to publish. Services that were published before can be included.
    ///   - handlers: what to do with dynamic values; stored ones are read and written without.
    /// - Throws: `.invalidArgument` when the services cannot be laid out or one of them is there always, `.unsupported` for a
    ///   characteristic with the property `authenticatedSignedWrites`, as Signed Write Commands are not taken; nothing has
    ///   changed then.
    @discardableResult
    public func publish(
        _ services: [GATTService], handlers: AttributeHandlers = AttributeHandlers()
    ) throws(BluetoothError) -> PublishedServices {
        try checkUsable()
        try checkPublishable(services)
        let failure: AttributeDatabaseError
        do throws(AttributeDatabaseError) {
            let (range, number, listeners) = try localServer.append(services, handlers)
            guard let range else { throw AttributeDatabaseError.outOfHandles }
            offersChanged()
            tell(listeners, of: range)
            return PublishedServices(range, number, localServer, self)
        } catch {
            failure = error
        }
        let message = services.isEmpty ? "There are no services to publish." : "\(failure)"
        throw .invalidArgument(operation("publish services"), message)
    }

    /// Refuses what the server cannot keep, and what a device may have only once (Core Vol 3 Part C §12, Part G §7).
    private func checkPublishable(_ services: [GATTService]) throws(BluetoothError) {
        let operation = operation("publish services")
        if let own = services.first(where: { $0.uuid == .genericAccess || $0.uuid == .genericAttribute }) {
            throw .invalidArgument(operation, "Service \(own.uuid) is always there, and may be there only once.")
        }
        let signed = services.lazy.flatMap(\.characteristics).first {
            $0.properties.contains(.authenticatedSignedWrites)
        }
        guard let signed else { return }
        throw BluetoothError(
            .unsupported, operation,
            "Signed Write Commands are not taken here, so \(signed.uuid) cannot have the property authenticatedSignedWrites.",
            remedy:
                "Ask for an encrypted link: the property write or writeWithoutResponse, the permission writeEncrypted.")
    }

    /// Publishes services that are written down as a tree; as ``publish(_:handlers:)``.
    ///
    /// `if` and `for` may be used in it.
    @discardableResult
    public func publish(
        handlers: AttributeHandlers = AttributeHandlers(), @GATTBuilder<GATTService> services: () -> [GATTService]
    ) throws(BluetoothError) -> PublishedServices {
        try publish(services(), handlers: handlers)
    }

    /// Takes published services away.
    package func withdraw(_ services: PublishedServices) {
        tell(localServer.remove(services.number), of: services.handles)
        offersChanged()
    }

    private func tell(_ listeners: [Connection], of range: AttributeHandleRange) {
        let serviceChanged = localServer.serviceChanged
        for connection in listeners {
            connection.assumeIsolated { $0.localServicesChanged(in: range, serviceChanged) }
        }
    }
}
