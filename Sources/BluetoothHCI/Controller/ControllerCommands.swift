import BluetoothPackets
import BluetoothPrimitives

// The commands about the controller as a whole.

/// Reset (Core Vol 4 Part E §7.3.2).
public struct HCIReset: HCICommand, EmptyPacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x0C03, "Reset")

    /// The command.
    public init() {}
}

/// Set Event Mask (Core Vol 4 Part E §7.3.1).
public struct HCISetEventMask: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x0C01, "Set Event Mask")
    /// The events that the controller sends.
    public var value: HCIEventMask

    /// The command with the mask `value`.
    public init(_ value: HCIEventMask) { self.value = value }
}

/// LE Set Event Mask (Core Vol 4 Part E §7.8.1).
public struct LESetEventMask: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2001, "LE Set Event Mask")
    /// The LE subevents that the controller sends.
    public var value: LEEventMask

    /// The command with the mask `value`.
    public init(_ value: LEEventMask) { self.value = value }
}

/// Read Local Version Information (Core Vol 4 Part E §7.4.1).
public struct HCIReadLocalVersionInformation: HCICommand, EmptyPacket {
    /// The versions and the manufacturer.
    public typealias Return = HCIVersionInformation
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x1001, "Read Local Version Information")

    /// The command.
    public init() {}
}

/// The versions and manufacturer of a controller (Core Vol 4 Part E §7.4.1).
public struct HCIVersionInformation: PacketField, Hashable, Sendable, CustomStringConvertible {
    /// The HCI version as assigned by the Bluetooth SIG: 6 is 4.0, 9 is 5.0.
    public var hciVersion: UInt8
    /// The HCI subversion, vendor-specific.
    public var hciSubversion: UInt16
    /// The link layer version as assigned by the Bluetooth SIG.
    public var linkLayerVersion: UInt8
    /// The manufacturer's company identifier.
    public var companyIdentifier: UInt16
    /// The link layer subversion, vendor-specific.
    public var linkLayerSubversion: UInt16

    /// The given versions.
    public init(
        hciVersion: UInt8, hciSubversion: UInt16 = 0, linkLayerVersion: UInt8, companyIdentifier: UInt16,
        linkLayerSubversion: UInt16 = 0
    ) {
        self.hciVersion = hciVersion
        self.hciSubversion = hciSubversion
        self.linkLayerVersion = linkLayerVersion
        self.companyIdentifier = companyIdentifier
        self.linkLayerSubversion = linkLayerSubversion
    }

    /// Reads the versions.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            hciVersion: reader.read(), hciSubversion: reader.read(), linkLayerVersion: reader.read(),
            companyIdentifier: reader.read(), linkLayerSubversion: reader.read())
    }

    /// Writes the versions.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(hciVersion, hciSubversion)
        try writer.write(linkLayerVersion, companyIdentifier, linkLayerSubversion)
    }

    /// The versions as assigned by the Bluetooth SIG, and the manufacturer.
    public var description: String {
        "HCI version \(hciVersion), link layer version \(linkLayerVersion), "
            + "company 0x\(hexadecimal(companyIdentifier, digits: 4))"
    }
}

/// Read Local Supported Commands (Core Vol 4 Part E §7.4.2).
public struct HCIReadLocalSupportedCommands: HCICommand, EmptyPacket {
    /// The supported commands.
    public typealias Return = HCICommandSupport
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x1002, "Read Local Supported Commands")

    /// The command.
    public init() {}
}

/// Read Local Supported Features, the LMP features, which include LE support (Core Vol 4 Part E §7.4.3).
public struct HCIReadLocalSupportedFeatures: HCICommand, EmptyPacket {
    /// The supported LMP features.
    public typealias Return = LMPFeatures
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x1003, "Read Local Supported Features")

    /// The command.
    public init() {}
}

/// The LMP features of a controller that concern LE (Core Vol 2 Part C §3.3).
public struct LMPFeatures: PacketCode, OptionSet, Hashable, Sendable {
    /// The 64 bits of page 0.
    public let rawValue: UInt64

    /// The features with the bits `rawValue`.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// BR/EDR Not Supported: the controller supports LE only.
    public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
    /// LE Supported (Controller).
    public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}

/// LE Read Local Supported Features (Core Vol 4 Part E §7.8.3).
public struct LEReadLocalSupportedFeatures: HCICommand, EmptyPacket {
    /// The supported LE features.
    public typealias Return = LEFeatures
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2003, "LE Read Local Supported Features")

    /// The command.
    public init() {}
}

/// Read BD_ADDR (Core Vol 4 Part E §7.4.6).
public struct HCIReadBDADDR: HCICommand, EmptyPacket {
    /// The public address.
    public typealias Return = BluetoothAddress
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x1009, "Read BD_ADDR")

    /// The command.
    public init() {}
}

/// LE Set Random Address for scanning, connecting and legacy advertising (Core Vol 4 Part E §7.8.4).
public struct LESetRandomAddress: HCICommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2005, "LE Set Random Address")
    /// The random address.
    public var value: BluetoothAddress

    /// The command with the address `value`.
    public init(_ value: BluetoothAddress) { self.value = value }

    /// Reads the address.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(try reader.readAddress(.random))
    }
}

/// LE Read Buffer Size [v1] (Core Vol 4 Part E §7.8.2).
public struct LEReadBufferSize: HCICommand, EmptyPacket {
    /// The buffers for data that the controller transmits.
    public struct Return: PacketField, Hashable, Sendable {
        /// The maximum length of the data in a packet.
        public var packetLength: UInt16
        /// The number of packets.
        public var count: UInt8

        /// Buffers for `count` packets.
        public init(packetLength: UInt16, count: UInt8) {
            self.packetLength = packetLength
            self.count = count
        }

        /// Reads the buffers.
        public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
            packetLength = try reader.read()
            count = try reader.read()
        }

        /// Writes the buffers.
        public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(packetLength, count) }
    }

    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2002, "LE Read Buffer Size")

    /// The command.
    public init() {}
}

/// LE Read Supported States (Core Vol 4 Part E §7.8.27).
public struct LEReadSupportedStates: HCICommand, EmptyPacket {
    /// The mask of states and their combinations.
    public typealias Return = UInt64
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x201C, "LE Read Supported States")

    /// The command.
    public init() {}
}

/// LE Read Resolving List Size (Core Vol 4 Part E §7.8.41).
public struct LEReadResolvingListSize: HCICommand, EmptyPacket {
    /// The number of entries.
    public typealias Return = UInt8
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x202A, "LE Read Resolving List Size")

    /// The command.
    public init() {}
}

/// LE Read Transmit Power (Core Vol 4 Part E §7.8.74).
public struct LEReadTransmitPower: HCICommand, EmptyPacket {
    /// The range of the transmit power.
    public struct Return: PacketField, Hashable, Sendable {
        /// The least transmit power in dBm.
        public var minimum: Int8
        /// The greatest transmit power in dBm.
        public var maximum: Int8

        /// A range in dBm.
        public init(minimum: Int8, maximum: Int8) {
            self.minimum = minimum
            self.maximum = maximum
        }

        /// Reads the range.
        public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
            minimum = try reader.read()
            maximum = try reader.read()
        }

        /// Writes the range.
        public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(minimum, maximum) }
    }

    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x204B, "LE Read Transmit Power")

    /// The command.
    public init() {}
}
