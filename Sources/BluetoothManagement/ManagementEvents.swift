import BluetoothPrimitives

/// The answer to a command.
public struct ManagementCommandComplete: ~Escapable {
    /// Which command.
    public var opcode: ManagementOpcode
    /// How it ended.
    public var status: ManagementStatus
    /// The rest of the answer, which ``ManagementReply`` reads.
    public var returnParameters: RawSpan

    /// The answer to a command, given as bytes.
    @_lifetime(copy returnParameters)
    public init(opcode: ManagementOpcode, status: ManagementStatus, returnParameters: RawSpan) {
        self.opcode = opcode
        self.status = status
        self.returnParameters = returnParameters
    }

    /// The command, how it ended and what it answered.
    public var description: String {
        let reply = try? ManagementReply(decoding: self)
        return "\(opcode), \(status), \(reply?.description ?? "\(returnParameters.byteCount) bytes")"
    }
}

/// Properties of a device that was found or connected.
public struct ManagementDeviceFlags: OptionSet, Hashable, Sendable {
    /// The four bytes in the packet.
    public let rawValue: UInt32

    /// A set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The kernel would like to hear whether the name is known.
    public static let confirmName = ManagementDeviceFlags(rawValue: 1 << 0)
    /// BR/EDR pairing will ask for a PIN.
    public static let legacyPairing = ManagementDeviceFlags(rawValue: 1 << 1)
    /// The device takes no connections.
    public static let notConnectable = ManagementDeviceFlags(rawValue: 1 << 2)
    /// This side made the connection.
    public static let initiatedConnection = ManagementDeviceFlags(rawValue: 1 << 3)
    /// The BR/EDR name could not be asked for.
    public static let nameRequestFailed = ManagementDeviceFlags(rawValue: 1 << 4)
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

/// Device Connected: a new connection, whoever made it.
public struct ManagementDeviceConnected: ~Escapable {
    /// The device, by its identity where that is known.
    public var address: ManagementAddress
    /// Properties of the device.
    public var flags: ManagementDeviceFlags
    /// What the device advertised last: AD structures.
    public var data: RawSpan

    /// A connection with a device.
    @_lifetime(copy data)
    public init(address: ManagementAddress, flags: ManagementDeviceFlags = [], data: RawSpan) {
        self.address = address
        self.flags = flags
        self.data = data
    }

    @_lifetime(copy reader)
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try ManagementAddress(reading: &reader)
        flags = ManagementDeviceFlags(rawValue: try reader.readUInt32())
        let count = Int(try reader.readUInt16())
        data = try reader.read(count)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try address.write(to: &writer)
        try writer.write(flags.rawValue)
        try writer.write(lengthAndBytes: data)
    }

    /// The device, its properties and its data.
    public var description: String { "\(address), \(flags), \([UInt8](data).hexadecimal)" }
}

/// Device Found: discovery heard a device. An advertisement and its scan response come as one.
public struct ManagementDeviceFound: ~Escapable {
    /// The device, by its identity where that is known.
    public var address: ManagementAddress
    /// The strength of its signal in dBm, where it is known.
    public var rssi: Int8?
    /// Properties of the device.
    public var flags: ManagementDeviceFlags
    /// What it advertises: AD structures.
    public var data: RawSpan

    /// A device that was heard.
    @_lifetime(copy data)
    public init(address: ManagementAddress, rssi: Int8?, flags: ManagementDeviceFlags = [], data: RawSpan) {
        self.address = address
        self.rssi = rssi
        self.flags = flags
        self.data = data
    }

    @_lifetime(copy reader)
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try ManagementAddress(reading: &reader)
        rssi = unlessUnavailable(try reader.readInt8())
        flags = ManagementDeviceFlags(rawValue: try reader.readUInt32())
        let count = Int(try reader.readUInt16())
        data = try reader.read(count)
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try address.write(to: &writer)
        try writer.write(rssi ?? powerUnavailable)
        try writer.write(flags.rawValue)
        try writer.write(lengthAndBytes: data)
    }

    /// The device, its signal, its properties and its data.
    public var description: String {
        "\(address), \(rssi.map { "\($0) dBm" } ?? "no RSSI"), \(flags), \([UInt8](data).hexadecimal)"
    }
}

extension ByteWriter {
    /// Writes the number of bytes in two and then the bytes.
    mutating func write(lengthAndBytes bytes: RawSpan) throws(BufferFull) {
        guard let length = UInt16(exactly: bytes.byteCount) else {
            throw BufferFull(needed: bytes.byteCount, available: Int(UInt16.max))
        }
        try write(length)
        try write(bytes)
    }
}

/// Why a connection ended, as far as the management interface tells; the socket's error tells more.
public struct ManagementDisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A reason of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Nobody knows.
    public static let unspecified = ManagementDisconnectReason(rawValue: 0)
    /// The other side was not heard any more.
    public static let timeout = ManagementDisconnectReason(rawValue: 1)
    /// This side ended it.
    public static let localHost = ManagementDisconnectReason(rawValue: 2)
    /// The other side ended it.
    public static let remoteHost = ManagementDisconnectReason(rawValue: 3)
    /// Pairing or encryption failed.
    public static let authenticationFailure = ManagementDisconnectReason(rawValue: 4)
    /// This side ended it because it goes to sleep.
    public static let localHostSuspend = ManagementDisconnectReason(rawValue: 5)

    /// The reason in words.
    public var description: String {
        switch self {
        case .unspecified: return "unspecified"
        case .timeout: return "connection timeout"
        case .localHost: return "terminated by local host"
        case .remoteHost: return "terminated by remote host"
        case .authenticationFailure: return "authentication failure"
        case .localHostSuspend: return "terminated by local host for suspend"
        default: return "reason \(rawValue)"
        }
    }
}
