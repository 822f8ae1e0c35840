import BluetoothPrimitives

/// An AD type (Assigned Numbers §2.3; formats in the Core Specification Supplement Part A §1).
///
/// An open set: an unnamed type keeps its value and prints in hexadecimal.
public struct ADType: RawRepresentable, Hashable, Sendable {
    /// The assigned value.
    public var rawValue: UInt8

    /// The type with the value `rawValue`, named or not.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Flags: discoverability and BR/EDR support.
    public static let flags = ADType(rawValue: 0x01)
    /// Incomplete list of 16-bit service UUIDs.
    public static let incompleteServices16 = ADType(rawValue: 0x02)
    /// Complete list of 16-bit service UUIDs.
    public static let completeServices16 = ADType(rawValue: 0x03)
    /// Incomplete list of 32-bit service UUIDs.
    public static let incompleteServices32 = ADType(rawValue: 0x04)
    /// Complete list of 32-bit service UUIDs.
    public static let completeServices32 = ADType(rawValue: 0x05)
    /// Incomplete list of 128-bit service UUIDs.
    public static let incompleteServices128 = ADType(rawValue: 0x06)
    /// Complete list of 128-bit service UUIDs.
    public static let completeServices128 = ADType(rawValue: 0x07)
    /// Shortened local name.
    public static let shortenedLocalName = ADType(rawValue: 0x08)
    /// Complete local name.
    public static let completeLocalName = ADType(rawValue: 0x09)
    /// Transmit power in dBm.
    public static let txPowerLevel = ADType(rawValue: 0x0A)
    /// BR/EDR class of device.
    public static let classOfDevice = ADType(rawValue: 0x0D)
    /// Simple Pairing Hash C-192.
    public static let simplePairingHash192 = ADType(rawValue: 0x0E)
    /// Simple Pairing Randomizer R-192.
    public static let simplePairingRandomizer192 = ADType(rawValue: 0x0F)
    /// Device ID in a BR/EDR inquiry response, or Security Manager TK Value in out-of-band data; their lengths differ.
    public static let deviceIDOrSecurityManagerTK = ADType(rawValue: 0x10)
    /// Security Manager Out of Band Flags.
    public static let securityManagerOutOfBandFlags = ADType(rawValue: 0x11)
    /// Peripheral Connection Interval Range: the intervals that the peripheral prefers.
    public static let peripheralConnectionIntervalRange = ADType(rawValue: 0x12)
    /// List of solicited 16-bit service UUIDs.
    public static let solicitedServices16 = ADType(rawValue: 0x14)
    /// List of solicited 128-bit service UUIDs.
    public static let solicitedServices128 = ADType(rawValue: 0x15)
    /// Service data with a 16-bit UUID.
    public static let serviceData16 = ADType(rawValue: 0x16)
    /// Public target addresses.
    public static let publicTargetAddress = ADType(rawValue: 0x17)
    /// Random target addresses.
    public static let randomTargetAddress = ADType(rawValue: 0x18)
    /// Appearance.
    public static let appearance = ADType(rawValue: 0x19)
    /// Advertising interval in two bytes.
    public static let advertisingInterval = ADType(rawValue: 0x1A)
    /// Device address in out-of-band data.
    public static let leBluetoothDeviceAddress = ADType(rawValue: 0x1B)
    /// Supported and preferred roles of the device.
    public static let leRole = ADType(rawValue: 0x1C)
    /// Simple Pairing Hash C-256.
    public static let simplePairingHash256 = ADType(rawValue: 0x1D)
    /// Simple Pairing Randomizer R-256.
    public static let simplePairingRandomizer256 = ADType(rawValue: 0x1E)
    /// List of solicited 32-bit service UUIDs.
    public static let solicitedServices32 = ADType(rawValue: 0x1F)
    /// Service data with a 32-bit UUID.
    public static let serviceData32 = ADType(rawValue: 0x20)
    /// Service data with a 128-bit UUID.
    public static let serviceData128 = ADType(rawValue: 0x21)
    /// LE Secure Connections Confirmation Value.
    public static let secureConnectionsConfirmation = ADType(rawValue: 0x22)
    /// LE Secure Connections Random Value.
    public static let secureConnectionsRandom = ADType(rawValue: 0x23)
    /// URI with a numeric scheme.
    public static let uri = ADType(rawValue: 0x24)
    /// Indoor Positioning Service data.
    public static let indoorPositioning = ADType(rawValue: 0x25)
    /// Transport Discovery Service data.
    public static let transportDiscoveryData = ADType(rawValue: 0x26)
    /// LE features that the device supports.
    public static let leSupportedFeatures = ADType(rawValue: 0x27)
    /// New channel map for periodic advertising and its instant.
    public static let channelMapUpdateIndication = ADType(rawValue: 0x28)
    /// Mesh provisioning bearer.
    public static let pbADV = ADType(rawValue: 0x29)
    /// Mesh network PDU.
    public static let meshMessage = ADType(rawValue: 0x2A)
    /// Mesh beacon.
    public static let meshBeacon = ADType(rawValue: 0x2B)
    /// BIGInfo, for synchronization with a broadcast isochronous group.
    public static let bigInfo = ADType(rawValue: 0x2C)
    /// Broadcast_Code of an encrypted broadcast isochronous group.
    public static let broadcastCode = ADType(rawValue: 0x2D)
    /// Resolvable identifier of the device's coordinated set.
    public static let resolvableSetIdentifier = ADType(rawValue: 0x2E)
    /// Advertising interval in three or four bytes.
    public static let advertisingIntervalLong = ADType(rawValue: 0x2F)
    /// Name of a broadcast.
    public static let broadcastName = ADType(rawValue: 0x30)
    /// Encrypted advertising data, whose key is in the GAP service.
    public static let encryptedAdvertisingData = ADType(rawValue: 0x31)
    /// Timing of responses to periodic advertising.
    public static let periodicAdvertisingResponseTiming = ADType(rawValue: 0x32)
    /// Electronic shelf label message.
    public static let electronicShelfLabel = ADType(rawValue: 0x34)
    /// 3D synchronization data of a display.
    public static let information3D = ADType(rawValue: 0x3D)
    /// Manufacturer specific data, after the company identifier.
    public static let manufacturerSpecificData = ADType(rawValue: 0xFF)
}

extension ADType {
    /// The width of the entries in a list of service UUIDs.
    @inlinable
    public var serviceListWidth: BluetoothUUID.Width? {
        switch rawValue {
        case 0x02, 0x03: .bits16
        case 0x04, 0x05: .bits32
        case 0x06, 0x07: .bits128
        default: nil
        }
    }

    /// The width of the entries in a list of solicited service UUIDs.
    @inlinable
    public var solicitationListWidth: BluetoothUUID.Width? {
        switch rawValue {
        case 0x14: .bits16
        case 0x1F: .bits32
        case 0x15: .bits128
        default: nil
        }
    }

    /// The width of the UUID in service data.
    @inlinable
    public var serviceDataWidth: BluetoothUUID.Width? {
        switch rawValue {
        case 0x16: .bits16
        case 0x20: .bits32
        case 0x21: .bits128
        default: nil
        }
    }

    /// Whether this is the shortened or the complete local name.
    @inlinable public var isLocalName: Bool { self == .shortenedLocalName || self == .completeLocalName }

    /// Whether the value is a key, or a number of a key's length. A TK value shares its type with the device ID.
    var isKey: Bool {
        switch self {
        case .simplePairingHash192, .simplePairingRandomizer192, .simplePairingHash256, .simplePairingRandomizer256,
            .secureConnectionsConfirmation, .secureConnectionsRandom, .broadcastCode:
            true
        default: false
        }
    }

    static func services(_ width: BluetoothUUID.Width, complete: Bool) -> ADType {
        switch width {
        case .bits16: complete ? .completeServices16 : .incompleteServices16
        case .bits32: complete ? .completeServices32 : .incompleteServices32
        case .bits128: complete ? .completeServices128 : .incompleteServices128
        }
    }

    static func solicitedServices(_ width: BluetoothUUID.Width) -> ADType {
        switch width {
        case .bits16: .solicitedServices16
        case .bits32: .solicitedServices32
        case .bits128: .solicitedServices128
        }
    }

    static func serviceData(_ width: BluetoothUUID.Width) -> ADType {
        switch width {
        case .bits16: .serviceData16
        case .bits32: .serviceData32
        case .bits128: .serviceData128
        }
    }

    /// The representative of a group of types of which a payload may contain one: the complete form of a list or name,
    /// the short form of the advertising interval; nil for types without that limit (CSS Part A §1).
    var onlyOne: ADType? {
        switch self {
        case .incompleteServices16, .completeServices16: .completeServices16
        case .incompleteServices32, .completeServices32: .completeServices32
        case .incompleteServices128, .completeServices128: .completeServices128
        case .shortenedLocalName, .completeLocalName: .completeLocalName
        case .advertisingInterval, .advertisingIntervalLong: .advertisingInterval
        case .flags, .txPowerLevel, .classOfDevice, .appearance, .leRole, .leBluetoothDeviceAddress,
            .peripheralConnectionIntervalRange:
            self
        default: nil
        }
    }
}

extension ADType: CustomStringConvertible {
    /// The assigned name, or the value of an unnamed type, such as `AD type 0x3C`.
    public var description: String { name ?? "AD type 0x" + hexadecimal(rawValue, digits: 2) }

    /// The assigned name, or nil.
    public var name: String? { Self.names[rawValue] }

    private static let names: [UInt8: String] = [
        0x01: "Flags", 0x02: "Incomplete List of 16-bit Service UUIDs",
        0x03: "Complete List of 16-bit Service UUIDs", 0x04: "Incomplete List of 32-bit Service UUIDs",
        0x05: "Complete List of 32-bit Service UUIDs", 0x06: "Incomplete List of 128-bit Service UUIDs",
        0x07: "Complete List of 128-bit Service UUIDs", 0x08: "Shortened Local Name", 0x09: "Complete Local Name",
        0x0A: "TX Power Level", 0x0D: "Class of Device", 0x0E: "Simple Pairing Hash C-192",
        0x0F: "Simple Pairing Randomizer R-192", 0x10: "Device ID or Security Manager TK Value",
        0x11: "Security Manager Out of Band Flags", 0x12: "Peripheral Connection Interval Range",
        0x14: "List of 16-bit Service Solicitation UUIDs", 0x15: "List of 128-bit Service Solicitation UUIDs",
        0x16: "Service Data - 16-bit UUID", 0x17: "Public Target Address", 0x18: "Random Target Address",
        0x19: "Appearance", 0x1A: "Advertising Interval", 0x1B: "LE Bluetooth Device Address", 0x1C: "LE Role",
        0x1D: "Simple Pairing Hash C-256", 0x1E: "Simple Pairing Randomizer R-256",
        0x1F: "List of 32-bit Service Solicitation UUIDs", 0x20: "Service Data - 32-bit UUID",
        0x21: "Service Data - 128-bit UUID", 0x22: "LE Secure Connections Confirmation Value",
        0x23: "LE Secure Connections Random Value", 0x24: "URI", 0x25: "Indoor Positioning",
        0x26: "Transport Discovery Data", 0x27: "LE Supported Features", 0x28: "Channel Map Update Indication",
        0x29: "PB-ADV", 0x2A: "Mesh Message", 0x2B: "Mesh Beacon", 0x2C: "BIGInfo", 0x2D: "Broadcast_Code",
        0x2E: "Resolvable Set Identifier", 0x2F: "Advertising Interval - long", 0x30: "Broadcast_Name",
        0x31: "Encrypted Advertising Data", 0x32: "Periodic Advertising Response Timing Information",
        0x34: "Electronic Shelf Label", 0x3D: "3D Information Data", 0xFF: "Manufacturer Specific Data",
    ]
}
