import BluetoothHCI
import BluetoothPackets
import BluetoothPrimitives

// Keys and connection parameters of devices, as encoded in packets.

extension LongTermKey: PacketField {
    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            address: ManagementAddress(reading: &reader).address, kind: Kind(rawValue: reader.read()),
            isCentral: reader.read(), encryptionSize: Int(reader.readUInt8()), encryptedDiversifier: reader.read(),
            randomNumber: reader.read(), value: SecurityKey(reading: &reader))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ManagementAddress(address), kind.rawValue, isCentral)
        try writer.write(UInt8(clamping: encryptionSize), encryptedDiversifier, randomNumber)
        try value.write(to: &writer)
    }
}

extension IdentityResolvingKey: PacketField {
    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(
            address: try ManagementAddress(reading: &reader).address, value: try SecurityKey(reading: &reader))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try ManagementAddress(address).write(to: &writer)
        try value.write(to: &writer)
    }
}

extension SignatureResolvingKey: PacketField {
    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(
            address: try ManagementAddress(reading: &reader).address, kind: Kind(rawValue: try reader.readUInt8()),
            value: try SecurityKey(reading: &reader))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try ManagementAddress(address).write(to: &writer)
        try writer.write(kind.rawValue)
        try value.write(to: &writer)
    }
}

/// The connection parameters that a peripheral requested, stored for the next connection.
public struct DeviceConnectionParameters: PacketField, Hashable, Sendable {
    /// The device's identity: a public or static random address.
    public var address: BluetoothAddress
    /// The parameters.
    public var values: LEConnectionParameters

    /// The parameters of a device.
    public init(address: BluetoothAddress, _ values: LEConnectionParameters) {
        self.address = address
        self.values = values
    }

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(address: ManagementAddress(reading: &reader).address, reader.read())
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ManagementAddress(address), values)
    }
}

extension DeviceConnectionParameters: CustomStringConvertible {
    /// The device and the values with their units.
    public var description: String { "\(ManagementAddress(address)), \(values)" }
}

/// Load Long Term Keys: replaces the kernel's long term keys; must be sent at start, even without any.
public struct ManagementLoadLongTermKeys: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0013, "Load Long Term Keys")
    /// The keys.
    public var value: ManagementList<LongTermKey>

    /// The command with the parameter `value`.
    public init(_ value: ManagementList<LongTermKey>) { self.value = value }

    /// Whether the parameters contain keys: yes.
    public static var carriesSecret: Bool { true }
}

/// Load Identity Resolving Keys: replaces the kernel's identity resolving keys; must be sent at start, even without any:
/// only then does pairing exchange identities.
public struct ManagementLoadIdentityResolvingKeys: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0030, "Load Identity Resolving Keys")
    /// The keys.
    public var value: ManagementList<IdentityResolvingKey>

    /// The command with the parameter `value`.
    public init(_ value: ManagementList<IdentityResolvingKey>) { self.value = value }

    /// Whether the parameters contain keys: yes.
    public static var carriesSecret: Bool { true }
}
