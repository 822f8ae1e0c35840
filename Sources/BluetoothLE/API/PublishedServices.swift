import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

/// Services that this program offers to connected devices; see ``Adapter/publish(_:authorizing:)``.
///
/// They stay published until they are closed, or the adapter is, whether or not this object is retained. Their
/// values are addressed by the published definitions: `published[rate].notify(bytes)`.
public final class PublishedServices: Sendable {
    /// The handles, from the first declaration to the last attribute.
    public var handles: AttributeHandleRange { publication.handles }
    let publication: Publication
    private let server: LocalServer
    let session: AdapterSession

    init(_ publication: Publication, _ session: AdapterSession) {
        self.publication = publication
        server = session.localServer
        self.session = session
    }

    /// The handle of a definition; nil when these services do not contain it, or they have been closed.
    func handle(of definition: DefinitionID) -> AttributeHandle? {
        isClosed ? nil : publication[definition]
    }

    /// The handle of the value of the first characteristic with this UUID; nil when there is none.
    /// - Parameter service: the service that has it; nil searches all of these.
    package func handle(of characteristic: BluetoothUUID, in service: BluetoothUUID? = nil) -> AttributeHandle? {
        guard !isClosed else { return nil }
        return server.withDatabase { $0.valueHandle(of: characteristic, in: service, within: handles) }
    }

    /// Whether they have been closed.
    var isClosed: Bool { !server.isPublished(publication) }

    /// The configurations to which devices can set a characteristic.
    func supportedConfiguration(of characteristic: AttributeHandle) -> ClientCharacteristicConfiguration {
        server.withDatabase { $0.supportedConfiguration(of: characteristic) } ?? []
    }

    /// The stored value of an attribute; nil when none is stored there, or the services have been closed.
    package func value(of handle: AttributeHandle) -> [UInt8]? { server.value(of: handle, in: publication) }

    /// Replaces a stored value, without notifying subscribers.
    /// - Throws: `.invalidArgument` when no value is stored there, the value cannot have this length, or the services
    ///   have been closed.
    package func setValue(_ value: [UInt8], of handle: AttributeHandle) throws(BluetoothError) {
        let operation = BluetoothError.Operation("set a value", attribute: handle)
        guard handles.contains(handle) else {
            throw .invalidArgument(operation, "\(handle) is not among these services, which have \(handles).")
        }
        do throws(AttributeDatabaseError) {
            if try server.setValue(value, of: handle, in: publication) { return }
        } catch {
            throw .invalidArgument(operation, "\(error)")
        }
        throw .invalidArgument(operation, "These services have been closed.")
    }

    /// Removes the services, and indicates Service Changed to the devices that have subscribed to it. Further calls
    /// have no effect. Services that include these must be closed first.
    public nonisolated(nonsending) func close() async {
        await session.withdraw(publication)
    }
}
