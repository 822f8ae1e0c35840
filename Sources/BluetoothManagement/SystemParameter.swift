import BluetoothPackets
import BluetoothPrimitives

/// A parameter of an adapter's default system configuration: what the kernel uses for a parameter that a program leaves
/// unset.
public struct SystemParameter: PacketField, Hashable, Sendable {
    /// The parameter's number (Linux, `net/bluetooth/mgmt_config.c`). The set is open: kernels add parameters.
    public struct Kind: PacketCode, Hashable, Sendable {
        /// The number in the packet.
        public let rawValue: UInt16

        /// A parameter of any number.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The shortest advertising interval, in units of 0.625 ms.
        public static let advertisingIntervalMinimum = Kind(rawValue: 0x000A)
        /// The longest advertising interval, in units of 0.625 ms.
        public static let advertisingIntervalMaximum = Kind(rawValue: 0x000B)
        /// The scan interval while waiting for devices that are to be connected whenever they advertise, in units of 0.625 ms.
        public static let autoConnectScanInterval = Kind(rawValue: 0x000D)
        /// The scan window while waiting for such devices, in units of 0.625 ms.
        public static let autoConnectScanWindow = Kind(rawValue: 0x000E)
        /// The scan interval while connecting to a device, in units of 0.625 ms.
        public static let connectScanInterval = Kind(rawValue: 0x0015)
        /// The scan window while connecting to a device, in units of 0.625 ms.
        public static let connectScanWindow = Kind(rawValue: 0x0016)
        /// The shortest connection interval, in units of 1.25 ms.
        public static let connectionIntervalMinimum = Kind(rawValue: 0x0017)
        /// The longest connection interval, in units of 1.25 ms.
        public static let connectionIntervalMaximum = Kind(rawValue: 0x0018)
        /// The peripheral latency, in connection events.
        public static let latency = Kind(rawValue: 0x0019)
        /// The supervision timeout, in units of 10 ms.
        public static let supervisionTimeout = Kind(rawValue: 0x001A)
        /// The time limit of connecting, in ms.
        public static let connectTimeout = Kind(rawValue: 0x001B)
    }

    /// The parameter.
    public var kind: Kind
    /// Its value, in little-endian order; most have two bytes.
    public var value: [UInt8]

    /// A parameter with a value of any size, at most 255 bytes.
    public init(_ kind: Kind, bytes value: [UInt8]) {
        (self.kind, self.value) = (kind, value)
    }

    /// A parameter with a value of two bytes.
    public init(_ kind: Kind, _ value: UInt16) {
        self.init(kind, bytes: [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)])
    }

    /// The value of a parameter with two bytes.
    public var number: UInt16? { value.count == 2 ? UInt16(value[0]) | UInt16(value[1]) << 8 : nil }

    /// Reads the parameter.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        kind = try reader.read()
        value = [UInt8](try reader.read(Int(try reader.readUInt8())))
    }

    /// Writes the parameter.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        guard let count = UInt8(exactly: value.count) else { throw BufferFull(needed: value.count, available: 255) }
        try writer.write(kind, count)
        try writer.write(value)
    }
}

/// Parameters of an adapter's default system configuration.
public struct SystemConfiguration: ManagementReply {
    /// The parameters.
    public var parameters: [SystemParameter]

    /// A configuration of the parameters.
    public init(_ parameters: [SystemParameter]) {
        self.parameters = parameters
    }

    /// Reads the parameters up to the end of the packet.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        parameters = []
        while !reader.isAtEnd { parameters.append(try reader.read()) }
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        for parameter in parameters { try writer.write(parameter) }
    }

    /// The number of parameters, and each.
    public var description: String { numbered(parameters) }
}

/// Read Default System Configuration: reads the parameters that the kernel uses where a program leaves them unset.
public struct ManagementReadDefaultSystemConfiguration: ManagementCommand, EmptyPacket {
    /// The parameters.
    public typealias Reply = SystemConfiguration
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x004B, "Read Default System Configuration")

    /// The command.
    public init() {}
}

/// Set Default System Configuration: changes some of the parameters, until the adapter is removed. The kernel ignores those
/// that it does not know, and checks no ranges.
public struct ManagementSetDefaultSystemConfiguration: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x004C, "Set Default System Configuration")
    /// The parameters.
    public var value: SystemConfiguration

    /// The command with the parameter `value`.
    public init(_ value: SystemConfiguration) { self.value = value }
}

extension SystemParameter: CustomStringConvertible {
    /// The number and the value.
    public var description: String {
        "parameter 0x\(hexadecimal(kind.rawValue, digits: 4)): \(number.map { "\($0)" } ?? value.hexadecimal)"
    }
}
