import BluetoothPrimitives

/// What an adapter can do or does now.
public struct ManagementSettings: OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The adapter is on.
    public static let powered = ManagementSettings(rawValue: 1 << 0)
    /// Others may connect.
    public static let connectable = ManagementSettings(rawValue: 1 << 1)
    /// BR/EDR connections are answered fast.
    public static let fastConnectable = ManagementSettings(rawValue: 1 << 2)
    /// Others may find the adapter.
    public static let discoverable = ManagementSettings(rawValue: 1 << 3)
    /// Pairing makes keys that are kept and told.
    public static let bondable = ManagementSettings(rawValue: 1 << 4)
    /// BR/EDR security mode 3.
    public static let linkSecurity = ManagementSettings(rawValue: 1 << 5)
    /// Secure Simple Pairing.
    public static let secureSimplePairing = ManagementSettings(rawValue: 1 << 6)
    /// BR/EDR.
    public static let brEDR = ManagementSettings(rawValue: 1 << 7)
    /// High Speed.
    public static let highSpeed = ManagementSettings(rawValue: 1 << 8)
    /// LE.
    public static let lowEnergy = ManagementSettings(rawValue: 1 << 9)
    /// Advertising by Set Advertising.
    public static let advertising = ManagementSettings(rawValue: 1 << 10)
    /// Secure Connections.
    public static let secureConnections = ManagementSettings(rawValue: 1 << 11)
    /// Debug keys are used.
    public static let debugKeys = ManagementSettings(rawValue: 1 << 12)
    /// Private addresses are used.
    public static let privacy = ManagementSettings(rawValue: 1 << 13)
    /// The adapter can be configured.
    public static let controllerConfiguration = ManagementSettings(rawValue: 1 << 14)
    /// The static address is the adapter's own.
    public static let staticAddress = ManagementSettings(rawValue: 1 << 15)
    /// PHYs can be configured.
    public static let phyConfiguration = ManagementSettings(rawValue: 1 << 16)
    /// Wideband speech.
    public static let widebandSpeech = ManagementSettings(rawValue: 1 << 17)

    static let names = [
        0: "powered", 1: "connectable", 2: "fast connectable", 3: "discoverable", 4: "bondable", 5: "link security",
        6: "secure simple pairing", 7: "BR/EDR", 8: "high speed", 9: "LE", 10: "advertising",
        11: "secure connections", 12: "debug keys", 13: "privacy", 14: "controller configuration",
        15: "static address", 16: "PHY configuration", 17: "wideband speech",
    ]
}

extension ManagementSettings: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String { listed(rawValue, names: Self.names) }
}

/// What Read Controller Information tells of an adapter.
public struct ControllerInformation: Hashable, Sendable {
    /// The public address; zero when the adapter has none.
    public var address: BluetoothAddress
    /// The version as numbered by the Bluetooth SIG: 6 is 4.0, 9 is 5.0.
    public var bluetoothVersion: UInt8
    /// The maker's company identifier.
    public var manufacturer: UInt16
    /// What the adapter can do.
    public var supportedSettings: ManagementSettings
    /// What it does now.
    public var currentSettings: ManagementSettings
    /// The BR/EDR class of device, 24 bits.
    public var classOfDevice: UInt32
    /// The adapter's name, at most 248 bytes of UTF-8.
    public var name: String
    /// The short name, at most 10 bytes of UTF-8; mostly empty.
    public var shortName: String

    static let nameByteCount = 249
    static let shortNameByteCount = 11

    /// An adapter's properties.
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

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try reader.readAddress(.public)
        bluetoothVersion = try reader.readUInt8()
        manufacturer = try reader.readUInt16()
        supportedSettings = ManagementSettings(rawValue: try reader.readUInt32())
        currentSettings = ManagementSettings(rawValue: try reader.readUInt32())
        classOfDevice = try reader.readUInt24()
        name = try reader.readText(byteCount: Self.nameByteCount)
        shortName = try reader.readText(byteCount: Self.shortNameByteCount)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(address)
        try writer.write(bluetoothVersion)
        try writer.write(manufacturer)
        try writer.write(supportedSettings.rawValue)
        try writer.write(currentSettings.rawValue)
        try writer.writeUInt24(classOfDevice)
        try writer.writeText(name, byteCount: Self.nameByteCount)
        try writer.writeText(shortName, byteCount: Self.shortNameByteCount)
    }
}

extension ControllerInformation: CustomStringConvertible {
    /// The address, the version and the settings.
    public var description: String {
        "\(address) \"\(name)\", version \(bluetoothVersion), manufacturer 0x\(hexadecimal(manufacturer, digits: 4)), "
            + "supports \(supportedSettings); is \(currentSettings)"
    }
}
