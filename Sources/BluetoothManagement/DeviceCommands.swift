import BluetoothHCI
import BluetoothPackets
import BluetoothPrimitives

// The commands about connections, devices and discoveries.

/// Disconnect: ends the connection with a device.
public struct ManagementDisconnect: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0014, "Disconnect")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// Get Connections: reads the connected devices.
public struct ManagementGetConnections: ManagementCommand, EmptyPacket {
    /// The devices.
    public typealias Reply = ManagementList<ManagementAddress>
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0015, "Get Connections")

    /// The command.
    public init() {}
}

/// Get Connection Information: reads RSSI and transmit power of a connection.
public struct ManagementGetConnectionInformation: ManagementCommand, SingleValuePacket {
    /// The information.
    public typealias Reply = ConnectionInformation
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0031, "Get Connection Information")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// The RSSI and the transmit power of a connection.
public struct ConnectionInformation: ManagementReply {
    /// The connected device.
    public var address: ManagementAddress
    /// The RSSI in dBm, if known.
    public var rssi: Int8?
    /// This side's transmit power in dBm, if known.
    public var transmitPower: Int8?
    /// This side's maximum transmit power in dBm, if known.
    public var maximumTransmitPower: Int8?

    /// Creates the information from its values.
    public init(address: ManagementAddress, rssi: Int8?, transmitPower: Int8?, maximumTransmitPower: Int8?) {
        self.address = address
        self.rssi = rssi
        self.transmitPower = transmitPower
        self.maximumTransmitPower = maximumTransmitPower
    }

    /// Reads the values.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            address: reader.read(), rssi: unlessUnavailable(reader.read()),
            transmitPower: unlessUnavailable(reader.read()), maximumTransmitPower: unlessUnavailable(reader.read()))
    }

    /// Writes the values.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try address.write(to: &writer)
        for power in [rssi, transmitPower, maximumTransmitPower] { try writer.write(power ?? powerUnavailable) }
    }

    /// The device, RSSI and powers.
    public var description: String {
        func text(_ power: Int8?) -> String { power.map { "\($0) dBm" } ?? "unknown" }
        return "\(address), RSSI \(text(rssi)), transmit power \(text(transmitPower)), "
            + "at most \(text(maximumTransmitPower))"
    }
}

/// Add Device: connects to a device automatically when it advertises, or reports it, until it is removed.
public struct ManagementAddDevice: ManagementCommand, SingleValuePacket {
    /// The device.
    public typealias Reply = ManagementAddress
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0033, "Add Device")
    /// The device and the kernel's action.
    public var value: ManagementDeviceDetail<AddDeviceAction>

    /// The command with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<AddDeviceAction>) { self.value = value }
}

/// The kernel's action when an added device advertises.
public struct AddDeviceAction: PacketCode, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// An action of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Connect, and reconnect after each end.
    public static let autoConnect = AddDeviceAction(rawValue: 2)

    /// The action in words.
    public var description: String {
        [0: "background scan", 1: "allow incoming connection", 2: "auto-connect"][rawValue] ?? "action \(rawValue)"
    }
}

/// Remove Device: reverts Add Device.
public struct ManagementRemoveDevice: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0034, "Remove Device")
    /// The device; ``ManagementAddress/any`` is all devices.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// Load Connection Parameters: replaces the kernel's connection parameters of devices.
public struct ManagementLoadConnectionParameters: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0035, "Load Connection Parameters")
    /// The parameters.
    public var value: ManagementList<DeviceConnectionParameters>

    /// The command with the parameter `value`.
    public init(_ value: ManagementList<DeviceConnectionParameters>) { self.value = value }
}

/// Start Discovery: scans actively until stopped, or for about ten seconds.
public struct ManagementStartDiscovery: ManagementCommand, SingleValuePacket {
    /// The types.
    public typealias Reply = ManagementAddressTypes
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0023, "Start Discovery")
    /// The types of devices.
    public var value: ManagementAddressTypes

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddressTypes) { self.value = value }
}

/// Stop Discovery: ends Start Discovery or Start Service Discovery.
public struct ManagementStopDiscovery: ManagementCommand, SingleValuePacket {
    /// The types.
    public typealias Reply = ManagementAddressTypes
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0024, "Stop Discovery")
    /// The types of the discovery.
    public var value: ManagementAddressTypes

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddressTypes) { self.value = value }
}

/// Start Service Discovery: scans for advertisers of certain services. Unlike Start Discovery it reports the same device
/// repeatedly.
public struct ManagementStartServiceDiscovery: ManagementCommand {
    /// The types.
    public typealias Reply = ManagementAddressTypes
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x003A, "Start Service Discovery")
    /// The types of devices.
    public var types: ManagementAddressTypes
    /// The weakest RSSI in dBm; nil is any.
    public var rssiThreshold: Int8?
    /// The services of which a device advertises one; all devices if there are none.
    public var services: [BluetoothUUID]

    /// The command with types, signal strength and services.
    public init(_ types: ManagementAddressTypes, rssiThreshold: Int8?, services: [BluetoothUUID]) {
        self.types = types
        self.rssiThreshold = rssiThreshold
        self.services = services
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), rssiThreshold: unlessUnavailable(reader.read()), services: [])
        for _ in 0..<(try reader.readUInt16()) { services.append(try reader.readUUID(.bits128)) }
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(types, rssiThreshold ?? powerUnavailable)
        try writer.writeCount(services.count)
        for service in services { try writer.write(service, width: .bits128) }
    }

    /// The parameters in words.
    public var parameterDescription: String {
        let strength = rssiThreshold.map { "at least \($0) dBm" } ?? "any signal strength"
        return "\(types), \(strength), services \(services)"
    }
}
