import BluetoothPackets
import BluetoothPrimitives

/// The answer to Read Controller Information.
public struct ControllerInformation: ManagementReply {
    /// The public address; zero if the adapter has none.
    public var address: BluetoothAddress
    /// The version as numbered by the Bluetooth SIG: 6 is 4.0, 9 is 5.0.
    public var bluetoothVersion: UInt8
    /// The manufacturer's company identifier.
    public var manufacturer: UInt16
    /// The settings that the adapter supports.
    public var supportedSettings: ManagementSettings
    /// The settings that are on.
    public var currentSettings: ManagementSettings
    /// The BR/EDR class of device, 24 bits.
    public var classOfDevice: UInt32
    /// The adapter's name, at most 248 bytes of UTF-8.
    public var name: String
    /// The short name, at most 10 bytes of UTF-8; mostly empty.
    public var shortName: String

    static let nameByteCount = 249
    static let shortNameByteCount = 11

    /// Creates the information from its values.
    public init(
        address: BluetoothAddress, bluetoothVersion: UInt8, manufacturer: UInt16,
        supportedSettings: ManagementSettings, currentSettings: ManagementSettings, classOfDevice: UInt32 = 0,
        name: String = "", shortName: String = ""
    ) {
        self.address = address
        self.bluetoothVersion = bluetoothVersion
        self.manufacturer = manufacturer
        self.supportedSettings = supportedSettings
        self.currentSettings = currentSettings
        self.classOfDevice = classOfDevice
        self.name = name
        self.shortName = shortName
    }

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            address: reader.read(), bluetoothVersion: reader.read(), manufacturer: reader.read(),
            supportedSettings: reader.read(), currentSettings: reader.read())
        classOfDevice = try reader.readUInt24()
        name = try reader.readText(byteCount: Self.nameByteCount)
        shortName = try reader.readText(byteCount: Self.shortNameByteCount)
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(address, bluetoothVersion, manufacturer)
        try writer.write(supportedSettings, currentSettings)
        try writer.writeUInt24(classOfDevice)
        try writer.writeText(name, byteCount: Self.nameByteCount)
        try writer.writeText(shortName, byteCount: Self.shortNameByteCount)
    }

    /// The address, the version and the settings.
    public var description: String {
        "\(address.digits) \"\(name)\", version \(bluetoothVersion), manufacturer 0x\(hexadecimal(manufacturer, digits: 4)), "
            + "supports \(supportedSettings); is \(currentSettings)"
    }
}

/// The settings of an adapter, supported or current, in the kernel's management interface.
public struct ManagementSettings: OptionSet, Hashable, Sendable {
    /// The settings as sent, four bytes.
    public let rawValue: UInt32

    /// The settings with the bits `rawValue`.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Powered on.
    public static let powered = ManagementSettings(rawValue: 1 << 0)
    /// Connectable by other devices.
    public static let connectable = ManagementSettings(rawValue: 1 << 1)
    /// Fast connectable (BR/EDR).
    public static let fastConnectable = ManagementSettings(rawValue: 1 << 2)
    /// Discoverable by other devices.
    public static let discoverable = ManagementSettings(rawValue: 1 << 3)
    /// Bondable: pairing creates keys that the kernel reports and stores.
    public static let bondable = ManagementSettings(rawValue: 1 << 4)
    /// BR/EDR security mode 3.
    public static let linkSecurity = ManagementSettings(rawValue: 1 << 5)
    /// Secure Simple Pairing.
    public static let secureSimplePairing = ManagementSettings(rawValue: 1 << 6)
    /// BR/EDR.
    public static let brEDR = ManagementSettings(rawValue: 1 << 7)
    /// Low Energy.
    public static let lowEnergy = ManagementSettings(rawValue: 1 << 9)
    /// Advertising with Set Advertising.
    public static let advertising = ManagementSettings(rawValue: 1 << 10)
    /// Secure Connections.
    public static let secureConnections = ManagementSettings(rawValue: 1 << 11)
    /// Debug keys.
    public static let debugKeys = ManagementSettings(rawValue: 1 << 12)
    /// Privacy: private addresses are in use.
    public static let privacy = ManagementSettings(rawValue: 1 << 13)
    /// Static address in use.
    public static let staticAddress = ManagementSettings(rawValue: 1 << 15)

    static let names = [
        0: "powered", 1: "connectable", 2: "fast connectable", 3: "discoverable", 4: "bondable", 5: "link security",
        6: "secure simple pairing", 7: "BR/EDR", 8: "high speed", 9: "LE", 10: "advertising",
        11: "secure connections", 12: "debug keys", 13: "privacy", 14: "controller configuration",
        15: "static address", 16: "PHY configuration", 17: "wideband speech",
    ]
}

extension ManagementSettings: CustomStringConvertible {
    /// The names of the settings, separated by commas.
    public var description: String { listed(rawValue, names: Self.names) }
}
