import BluetoothPackets
import BluetoothPrimitives

// The commands about pairing.

/// Pair Device: pairs with a device, connecting to it first if needed.
public struct ManagementPairDevice: ManagementCommand, SingleValuePacket {
    /// The device.
    public typealias Reply = ManagementAddress
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0019, "Pair Device")
    /// The device, and the input and output capabilities of this side.
    public var value: ManagementDeviceDetail<IOCapability>

    /// The command with the parameters `value`.
    public init(_ value: ManagementDeviceDetail<IOCapability>) { self.value = value }
}

/// Cancel Pair Device: cancels pairing with a device.
public struct ManagementCancelPairDevice: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001A, "Cancel Pair Device")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// Unpair Device: removes a device's keys.
public struct ManagementUnpairDevice: ManagementCommand {
    /// The device.
    public typealias Reply = ManagementAddress
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001B, "Unpair Device")
    /// The device.
    public var address: ManagementAddress
    /// Whether its connection ends.
    public var disconnects: Bool

    /// The command with a device.
    public init(_ address: ManagementAddress, disconnect: Bool) {
        self.address = address
        disconnects = disconnect
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), disconnect: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(address, disconnects) }

    /// The parameters in words.
    public var parameterDescription: String { "\(address)\(disconnects ? ", disconnect" : "")" }
}

/// User Confirmation Reply: accepts a User Confirmation Request.
public struct ManagementUserConfirmationReply: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001C, "User Confirmation Reply")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// User Confirmation Negative Reply: rejects a User Confirmation Request.
public struct ManagementUserConfirmationNegativeReply: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001D, "User Confirmation Negative Reply")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// User Passkey Reply: answers a User Passkey Request.
public struct ManagementUserPasskeyReply: ManagementCommand {
    /// The device.
    public typealias Reply = ManagementAddress
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001E, "User Passkey Reply")
    /// Whether the parameters contain a passkey: yes.
    public static let carriesSecret = true
    /// The device.
    public var address: ManagementAddress
    /// The passkey, 0 to 999999.
    public var passkey: UInt32

    /// The command with a device and a passkey.
    public init(_ address: ManagementAddress, passkey: UInt32) {
        self.address = address
        self.passkey = passkey
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), passkey: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(address, passkey) }

    /// The device: the passkey is secret during the pairing.
    public var parameterDescription: String { address.description }
}

/// User Passkey Negative Reply: rejects a User Passkey Request.
public struct ManagementUserPasskeyNegativeReply: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x001F, "User Passkey Negative Reply")
    /// The device.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}

/// Read Local Out Of Band Extended Data: makes a new pair of out-of-band values of this side, which replace the former ones,
/// and reads them.
public struct ManagementReadLocalOutOfBandExtendedData: ManagementCommand, SingleValuePacket {
    /// The out-of-band data.
    public struct Reply: ManagementReply {
        /// The types of the command.
        public var types: ManagementAddressTypes
        /// The data, as AD structures.
        public var structures: [UInt8]

        /// A reply with AD structures.
        public init(_ types: ManagementAddressTypes, _ structures: [UInt8]) {
            self.types = types
            self.structures = structures
        }

        /// Reads the data.
        public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
            types = try reader.read()
            structures = [UInt8](try reader.read(Int(try reader.readUInt16())))
        }

        /// Writes the data.
        public func write(to writer: inout ByteWriter) throws(BufferFull) {
            try writer.write(types)
            try writer.writeCount(structures.count)
            try writer.write(structures)
        }

        /// The types: the values are secret.
        public var description: String { types.description }
    }

    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x003B, "Read Local Out Of Band Extended Data")
    /// Whether the reply contains out-of-band data: yes.
    public static let returnsSecret = true
    /// The types of addresses.
    public var value: ManagementAddressTypes

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddressTypes) { self.value = value }
}

/// Add Remote Out Of Band Data: sets the out-of-band values of a device for its next pairing with Secure Connections (P-256).
public struct ManagementAddRemoteOutOfBandData: ManagementCommand {
    /// The device.
    public typealias Reply = ManagementAddress
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0021, "Add Remote Out Of Band Data")
    /// Whether the parameters contain out-of-band data: yes.
    public static let carriesSecret = true
    /// The device.
    public var address: ManagementAddress
    /// The confirmation value.
    public var confirmation: SecurityKey
    /// The random value.
    public var random: SecurityKey

    /// The command with values of a device; values of zero remove them.
    public init(_ address: ManagementAddress, confirmation: SecurityKey, random: SecurityKey) {
        self.address = address
        self.confirmation = confirmation
        self.random = random
    }

    /// Reads the parameters, without values for P-192, which are of BR/EDR or of legacy pairing.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        let device = try ManagementAddress(reading: &reader)
        try reader.skip(32)
        self.init(device, confirmation: .zero, random: .zero)
        // Without the others it does not encode to the bytes it came from.
        if reader.isAtEnd { return }
        confirmation = try SecurityKey(reading: &reader)
        random = try SecurityKey(reading: &reader)
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(address)
        for value in [SecurityKey.zero, .zero, confirmation, random] { try value.write(to: &writer) }
    }

    /// The device: the values are secret.
    public var parameterDescription: String { address.description }
}

/// Remove Remote Out Of Band Data: removes the out-of-band values of a device.
public struct ManagementRemoveRemoteOutOfBandData: ManagementDeviceCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0022, "Remove Remote Out Of Band Data")
    /// The device; ``ManagementAddress/any`` is all devices.
    public var value: ManagementAddress

    /// The command with the parameter `value`.
    public init(_ value: ManagementAddress) { self.value = value }
}
