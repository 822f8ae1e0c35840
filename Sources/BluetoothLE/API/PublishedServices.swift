import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

/// Services of this program that connected devices find; see ``Adapter/publish(_:handlers:)``.
///
/// They stay until they are withdrawn, whether or not this object is kept.
public final class PublishedServices: Sendable {
    /// Where they are.
    public let handles: AttributeHandleRange
    /// What tells them from services that are published at the same handles later.
    let number: UInt64
    private let server: LocalServer
    let session: AdapterSession

    init(_ handles: AttributeHandleRange, _ number: UInt64, _ server: LocalServer, _ session: AdapterSession) {
        self.handles = handles
        self.number = number
        self.server = server
        self.session = session
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
        await session.withdraw(number, at: handles)
    }
}
