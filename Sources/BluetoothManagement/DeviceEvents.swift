import BluetoothHCI
import BluetoothPackets
import BluetoothPrimitives

// The events about devices and their links.

/// Properties of a device that was found or connected.
public struct ManagementDeviceFlags: PacketCode, OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The device accepts no connections.
    public static let notConnectable = ManagementDeviceFlags(rawValue: 1 << 2)
    /// This side initiated the connection.
    public static let initiatedConnection = ManagementDeviceFlags(rawValue: 1 << 3)
}

extension ManagementDeviceFlags: CustomStringConvertible {
    /// The names, joined by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "confirm name", 1: "legacy pairing", 2: "not connectable", 3: "initiated connection",
                4: "name request failed",
            ])
    }
}

/// Device Connected: a new connection, initiated by either side.
public struct ManagementDeviceConnected: ~Escapable {
    /// The device, by its identity address if known.
    public var address: ManagementAddress
    /// Properties of the device.
    public var flags: ManagementDeviceFlags
    /// The device's last advertising data: AD structures.
    public var data: RawSpan

    /// Creates the event from its values.
    @_lifetime(copy data)
    public init(address: ManagementAddress, flags: ManagementDeviceFlags = [], data: RawSpan) {
        self.address = address
        self.flags = flags
        self.data = data
    }

    @_lifetime(copy reader)
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try reader.read()
        flags = try reader.read()
        let count = Int(try reader.readUInt16())
        data = try reader.read(count)
    }

    /// The event as a packet about the adapter hci`index`.
    ///
    /// Throws ``BufferFull`` when the data takes more than 65535 bytes.
    public func packet(for index: UInt16) throws(BufferFull) -> [UInt8] {
        try ManagementEventCode.deviceConnected.packet(for: index) { (writer) throws(BufferFull) in
            try writer.write(address, flags)
            try writer.write(lengthAndBytes: data)
        }
    }

    /// The device, its properties and its data.
    public var description: String { "\(address), \(flags), \([UInt8](data).hexadecimal)" }
}

/// Device Found: discovery found a device. An advertisement and its scan response are reported as one.
public struct ManagementDeviceFound: ~Escapable {
    /// The device, by its identity address if known.
    public var address: ManagementAddress
    /// The RSSI in dBm, if known.
    public var rssi: Int8?
    /// Properties of the device.
    public var flags: ManagementDeviceFlags
    /// The advertising data: AD structures.
    public var data: RawSpan

    /// Creates the event from its values.
    @_lifetime(copy data)
    public init(address: ManagementAddress, rssi: Int8?, flags: ManagementDeviceFlags = [], data: RawSpan) {
        self.address = address
        self.rssi = rssi
        self.flags = flags
        self.data = data
    }

    @_lifetime(copy reader)
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try reader.read()
        rssi = unlessUnavailable(try reader.read())
        flags = try reader.read()
        let count = Int(try reader.readUInt16())
        data = try reader.read(count)
    }

    /// The event as a packet about the adapter hci`index`.
    ///
    /// Throws ``BufferFull`` when the data takes more than 65535 bytes.
    public func packet(for index: UInt16) throws(BufferFull) -> [UInt8] {
        try ManagementEventCode.deviceFound.packet(for: index) { (writer) throws(BufferFull) in
            try writer.write(address, rssi ?? powerUnavailable, flags)
            try writer.write(lengthAndBytes: data)
        }
    }

    /// The device, its RSSI, its properties and its data.
    public var description: String {
        "\(address), \(rssi.map { "\($0) dBm" } ?? "no RSSI"), \(flags), \([UInt8](data).hexadecimal)"
    }
}

extension ManagementPacket {
    /// The event if it is Device Connected, nil otherwise.
    ///
    /// Throws when it has too few parameters.
    @_lifetime(copy self)
    public func deviceConnected() throws(TruncatedBytes) -> ManagementDeviceConnected? {
        guard eventCode == .deviceConnected else { return nil }
        var reader = ByteReader(parameters)
        return try ManagementDeviceConnected(reading: &reader)
    }

    /// The event if it is Device Found, nil otherwise.
    ///
    /// Throws when it has too few parameters.
    @_lifetime(copy self)
    public func deviceFound() throws(TruncatedBytes) -> ManagementDeviceFound? {
        guard eventCode == .deviceFound else { return nil }
        var reader = ByteReader(parameters)
        return try ManagementDeviceFound(reading: &reader)
    }
}

extension ByteWriter {
    /// Writes the length in two bytes and then the bytes.
    mutating func write(lengthAndBytes bytes: RawSpan) throws(BufferFull) {
        try writeCount(bytes.byteCount)
        try write(bytes)
    }
}

/// Device Disconnected: a connection ended.
public struct ManagementDeviceDisconnected: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x000C, "Device Disconnected")
    /// The device and the reason.
    public var value: ManagementDeviceDetail<ManagementDisconnectReason>

    /// The event with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<ManagementDisconnectReason>) { self.value = value }
}

/// The reason for a connection's end in the management interface; the socket's error is more precise.
public struct ManagementDisconnectReason: PacketCode, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A reason of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The reason is not known.
    public static let unspecified = ManagementDisconnectReason(rawValue: 0)
    /// The supervision timeout was reached.
    public static let timeout = ManagementDisconnectReason(rawValue: 1)
    /// This side ended it.
    public static let localHost = ManagementDisconnectReason(rawValue: 2)
    /// The other side ended it.
    public static let remoteHost = ManagementDisconnectReason(rawValue: 3)
    /// Pairing or encryption failed.
    public static let authenticationFailure = ManagementDisconnectReason(rawValue: 4)

    /// The reason in words.
    public var description: String {
        codeName(rawValue, Self.names) ?? "reason \(rawValue)"
    }

    private static let names = [
        "unspecified", "connection timeout", "terminated by local host", "terminated by remote host",
        "authentication failure", "terminated by local host for suspend",
    ]
}

/// Connect Failed: a connection could not be made.
public struct ManagementConnectFailed: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x000D, "Connect Failed")
    /// The device and the reason.
    public var value: ManagementDeviceDetail<ManagementStatus>

    /// The event with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<ManagementStatus>) { self.value = value }
}

/// Device Added: another program added a device.
public struct ManagementDeviceAdded: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x001A, "Device Added")
    /// The device and the kernel's action when it advertises.
    public var value: ManagementDeviceDetail<AddDeviceAction>

    /// The event with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<AddDeviceAction>) { self.value = value }
}

/// Device Removed: another program removed a device.
public struct ManagementDeviceRemoved: ManagementEvent, SingleValuePacket {
    /// The code and the name.
    public static let definition = ManagementEventDefinition(0x001B, "Device Removed")
    /// The device.
    public var value: ManagementAddress

    /// The event with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}
