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
        "\(address) \"\(name)\", version \(bluetoothVersion), manufacturer 0x\(hexadecimal(manufacturer, digits: 4)), "
            + "supports \(supportedSettings); is \(currentSettings)"
    }
}
