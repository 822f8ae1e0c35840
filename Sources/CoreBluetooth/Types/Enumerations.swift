/// The state of a manager.
public enum CBManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter is absent or restarts; another state follows.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off, or a radio switch blocks it.
    case poweredOff = 4
    /// The manager is ready for use.
    case poweredOn = 5
}

/// The program's permission to use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
    /// Not decided; not used on Linux.
    case notDetermined = 0
    /// Forbidden by the system's administration; not used on Linux.
    case restricted = 1
    /// The program lacks the capabilities it needs.
    case denied = 2
    /// The program may use Bluetooth.
    case allowedAlways = 3
}

/// The state of a central manager, by its former name.
public enum CBCentralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter is absent or restarts.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off.
    case poweredOff = 4
    /// The manager is ready for use.
    case poweredOn = 5
}

/// The state of a peripheral manager, by its former name.
public enum CBPeripheralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter is absent or restarts.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off.
    case poweredOff = 4
    /// The manager is ready for use.
    case poweredOn = 5
}

/// The program's permission to share data by Bluetooth, by its former name.
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
    /// Not decided; not used on Linux.
    case notDetermined = 0
    /// Forbidden by the system's administration; not used on Linux.
    case restricted = 1
    /// The program lacks the capabilities it needs.
    case denied = 2
    /// The program may share data.
    case authorized = 3
}

/// The state of a peripheral's connection.
public enum CBPeripheralState: Int, Sendable {
    /// Not connected.
    case disconnected = 0
    /// Waiting for the device.
    case connecting = 1
    /// Connected.
    case connected = 2
    /// The program has ended the connection.
    case disconnecting = 3
}

/// The type of a write.
public enum CBCharacteristicWriteType: Int, Sendable {
    /// A Write Request, which the device answers.
    case withResponse = 0
    /// A Write Command, which has no response.
    case withoutResponse = 1
}

/// A connection event of a device.
public enum CBConnectionEvent: Int, Sendable {
    /// The device has disconnected.
    case peerDisconnected = 0
    /// The device has connected.
    case peerConnected = 1
}

/// The latency of a connection to a central.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
    /// A low latency.
    case low = 0
    /// A medium latency.
    case medium = 1
    /// A high latency, to save energy.
    case high = 2
}

/// The PSM (Protocol/Service Multiplexer) of an L2CAP channel.
public typealias CBL2CAPPSM = UInt16

/// A filter of connection events.
public struct CBConnectionEventMatchingOption: Hashable, RawRepresentable, Sendable {
    /// The name of the option.
    public let rawValue: String

    /// Creates an option by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Devices with one of these services: `[CBUUID]`.
    public static let serviceUUIDs = CBConnectionEventMatchingOption(
        rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
    /// Devices with one of these identifiers: `[UUID]`.
    public static let peripheralUUIDs = CBConnectionEventMatchingOption(
        rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// The operations that a characteristic's value allows.
public struct CBCharacteristicProperties: OptionSet, Sendable {
    /// The bits: the lower eight are those on the air (Core Vol 3 Part G §3.3.1.1).
    public let rawValue: UInt

    /// Creates a set from its bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// It may be broadcast; not for local characteristics.
    public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
    /// It may be read.
    public static let read = CBCharacteristicProperties(rawValue: 0x02)
    /// It may be written without response.
    public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
    /// It may be written.
    public static let write = CBCharacteristicProperties(rawValue: 0x08)
    /// It may be notified.
    public static let notify = CBCharacteristicProperties(rawValue: 0x10)
    /// It may be indicated.
    public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
    /// It may be written with a signature.
    public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
    /// It has more properties in a descriptor; not for local characteristics.
    public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
    /// It may be notified over an encrypted link only; for local characteristics.
    public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
    /// It may be indicated over an encrypted link only; for local characteristics.
    public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)
}

/// The operations that centrals are allowed on the value of a local characteristic.
public struct CBAttributePermissions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Creates a set from its bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Reading.
    public static let readable = CBAttributePermissions(rawValue: 0x01)
    /// Writing.
    public static let writeable = CBAttributePermissions(rawValue: 0x02)
    /// Reading requires an encrypted link.
    public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
    /// Writing requires an encrypted link.
    public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}
