import BluetoothATT
import BluetoothPrimitives

/// A reference to a service that another includes (Core Vol 3 Part G §3.2).
public enum IncludedService: Hashable, Sendable {
    /// The first other service with this UUID.
    case uuid(BluetoothUUID)
    /// The service whose declaration has this handle.
    case declared(at: AttributeHandle)
    /// The service at this position among those that are added together, counted from zero.
    case position(Int)

    /// The first other service with this UUID.
    public init(_ uuid: BluetoothUUID) {
        self = .uuid(uuid)
    }
}

extension IncludedService: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// The first other service with this UUID, such as `"180F"`.
    public init(stringLiteral value: BluetoothUUID.StringLiteralType) {
        self = .uuid(BluetoothUUID(stringLiteral: value))
    }

    /// The first other service with this 16-bit UUID, such as `0x180F`.
    public init(integerLiteral value: BluetoothUUID.IntegerLiteralType) {
        self = .uuid(BluetoothUUID(integerLiteral: value))
    }
}

extension IncludedService: CustomStringConvertible {
    /// The UUID, the handle, or the position.
    public var description: String {
        switch self {
        case .uuid(let uuid): "\(uuid)"
        case .declared(let handle): "at \(handle)"
        case .position(let position): "at position \(position)"
        }
    }
}

/// The handles that services received when they were added to a database.
public struct DatabaseLayout: Hashable, Sendable {
    /// The handles of one service.
    public struct Service: Hashable, Sendable {
        /// The handles from the declaration to the last attribute.
        public let handles: AttributeHandleRange
        /// The characteristics, in the order of their definitions.
        public let characteristics: [Characteristic]
    }

    /// The handles of one characteristic.
    public struct Characteristic: Hashable, Sendable {
        /// The handle of the value.
        public let value: AttributeHandle
        /// The handles of the defined descriptors, in the order of their definitions.
        public let descriptors: [AttributeHandle]
    }

    /// The handles from the first declaration to the last attribute.
    public let handles: AttributeHandleRange
    /// The services, in the order of their definitions.
    public let services: [Service]
}
