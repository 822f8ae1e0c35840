import BluetoothPackets
import BluetoothPrimitives

// Keys and connection parameters of devices, as encoded in packets.

extension LongTermKey: PacketField {
    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            address: ManagementAddress(reading: &reader).address, kind: Kind(rawValue: reader.read()),
            isCentral: reader.read(), encryptionSize: reader.read(), encryptedDiversifier: reader.read(),
            randomNumber: reader.read(), value: SecurityKey(reading: &reader))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ManagementAddress(address), kind.rawValue, isCentral)
        try writer.write(encryptionSize, encryptedDiversifier, randomNumber)
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
    /// The shortest connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMinimum: UInt16
    /// The longest connection interval, in units of 1.25 ms, 6 to 3200.
    public var intervalMaximum: UInt16
    /// The peripheral latency in connection events, 0 to 499.
    public var latency: UInt16
    /// The supervision timeout in units of 10 ms, 10 to 3200.
    public var supervisionTimeout: UInt16

    /// Creates parameters in the units of the packets.
    public init(
        address: BluetoothAddress, intervalMinimum: UInt16, intervalMaximum: UInt16, latency: UInt16,
        supervisionTimeout: UInt16
    ) {
        self.address = address
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(of: reader.read(), reading: &reader)
    }

    init(of device: ManagementAddress, reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            address: device.address, intervalMinimum: reader.read(), intervalMaximum: reader.read(),
            latency: reader.read(), supervisionTimeout: reader.read())
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ManagementAddress(address))
        try writeValues(to: &writer)
    }

    /// Writes the parameters without the device.
    func writeValues(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(intervalMinimum, intervalMaximum)
        try writer.write(latency, supervisionTimeout)
    }
}

extension DeviceConnectionParameters: CustomStringConvertible {
    /// The device and the values with their units.
    public var description: String {
        "\(ManagementAddress(address)), interval \(intervalMinimum)-\(intervalMaximum) x 1.25 ms, latency \(latency), "
            + "supervision timeout \(supervisionTimeout) x 10 ms"
    }
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
