/// How a manager stands.
public enum CBManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter has gone or starts anew; another state follows.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off, or a radio switch blocks it.
    case poweredOff = 4
    /// Everything works.
    case poweredOn = 5
}

/// Whether the program may use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
    /// Not decided; never so here.
    case notDetermined = 0
    /// Forbidden by the system's administration; never so here.
    case restricted = 1
    /// The program lacks the capabilities it needs.
    case denied = 2
    /// It may.
    case allowedAlways = 3
}

/// How a central manager stands, by the name of old.
public enum CBCentralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter has gone or starts anew.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off.
    case poweredOff = 4
    /// Everything works.
    case poweredOn = 5
}

/// How a peripheral manager stands, by the name of old.
public enum CBPeripheralManagerState: Int, Sendable {
    /// Not known yet.
    case unknown = 0
    /// The adapter has gone or starts anew.
    case resetting = 1
    /// There is no adapter with Bluetooth LE.
    case unsupported = 2
    /// The program lacks the capabilities it needs.
    case unauthorized = 3
    /// The adapter is off.
    case poweredOff = 4
    /// Everything works.
    case poweredOn = 5
}

/// Whether the program may share data by Bluetooth, by the name of old.
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
    /// Not decided; never so here.
    case notDetermined = 0
    /// Forbidden by the system's administration; never so here.
    case restricted = 1
    /// The program lacks the capabilities it needs.
    case denied = 2
    /// It may.
    case authorized = 3
}

/// How a peripheral stands.
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

/// Whether a write is answered.
public enum CBCharacteristicWriteType: Int, Sendable {
    /// The device answers.
    case withResponse = 0
    /// Nobody answers.
    case withoutResponse = 1
}

/// What happened to a connection of the system.
public enum CBConnectionEvent: Int, Sendable {
    /// The device is not connected any more.
    case peerDisconnected = 0
    /// The device is connected.
    case peerConnected = 1
}

/// How quickly values shall reach a central.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
    /// Quickly.
    case low = 0
    /// In between.
    case medium = 1
    /// Saving energy.
    case high = 2
}

/// The number of an L2CAP service: its Protocol/Service Multiplexer.
public typealias CBL2CAPPSM = UInt16

/// Of which devices connection events are told.
public struct CBConnectionEventMatchingOption: Hashable, RawRepresentable, Sendable {
    /// The name.
    public let rawValue: String

    /// An option by name.
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

/// How the value of a characteristic may be used.
public struct CBCharacteristicProperties: OptionSet, Sendable {
    /// The bits: the lower eight are those on the air (Core Vol 3 Part G §3.3.1.1).
    public let rawValue: UInt

    /// Properties from their bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// It may be broadcast; not for local characteristics.
    public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
    /// It may be read.
    public static let read = CBCharacteristicProperties(rawValue: 0x02)
    /// It may be written without an answer.
    public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
    /// It may be written.
    public static let write = CBCharacteristicProperties(rawValue: 0x08)
    /// It is notified.
    public static let notify = CBCharacteristicProperties(rawValue: 0x10)
    /// It is indicated.
    public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
    /// It may be written with a signature.
    public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
    /// It has more properties in a descriptor; not for local characteristics.
    public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
    /// It is notified over an encrypted link only; for local characteristics.
    public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
    /// It is indicated over an encrypted link only; for local characteristics.
    public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)
}

/// What centrals may do with the value of a local characteristic.
public struct CBAttributePermissions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Permissions from their bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Reading.
    public static let readable = CBAttributePermissions(rawValue: 0x01)
    /// Writing.
    public static let writeable = CBAttributePermissions(rawValue: 0x02)
    /// Reading takes an encrypted link.
    public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
    /// Writing takes an encrypted link.
    public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}
