import BluetoothPackets
import BluetoothPrimitives

// The commands about the management interface, and about an adapter and its settings.

extension IOCapability: PacketCode {}
extension PrivacyMode: PacketCode {}
extension SecureConnectionsMode: PacketCode {}

/// Read Management Version Information: reads the version of the interface. Needs no privilege.
public struct ManagementReadVersionInformation: ManagementCommand, EmptyPacket {
    /// The version of the interface.
    public struct Reply: ManagementReply {
        /// The version.
        public var version: UInt8
        /// The revision.
        public var revision: UInt16

        /// A version.
        public init(_ version: UInt8, revision: UInt16) {
            self.version = version
            self.revision = revision
        }

        /// Reads the version.
        public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
            try self.init(reader.read(), revision: reader.read())
        }

        /// Writes the version.
        public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(version, revision) }

        /// The version in words.
        public var description: String { "version \(version).\(revision)" }
    }

    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0001, "Read Management Version Information")

    /// The command.
    public init() {}
}

/// Read Management Supported Commands: reads the supported commands and events. Needs no privilege.
public struct ManagementReadSupportedCommands: ManagementCommand, EmptyPacket {
    /// All commands but this one and the version's, which every kernel has, and the events.
    public struct Reply: ManagementReply {
        /// The commands.
        public var commands: [ManagementOpcode]
        /// The events.
        public var events: [ManagementEventCode]

        /// A reply with commands and events.
        public init(commands: [ManagementOpcode], events: [ManagementEventCode]) {
            self.commands = commands
            self.events = events
        }

        /// Reads the commands and events.
        public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
            let (commandCount, eventCount) = (try reader.readUInt16(), try reader.readUInt16())
            self.init(commands: [], events: [])
            for _ in 0..<commandCount { commands.append(try reader.read()) }
            for _ in 0..<eventCount { events.append(try reader.read()) }
        }

        /// Writes the commands and events.
        public func write(to writer: inout ByteWriter) throws(BufferFull) {
            for count in [commands.count, events.count] { try writer.writeCount(count) }
            for command in commands { try writer.write(command) }
            for event in events { try writer.write(event) }
        }

        /// The numbers of commands and events.
        public var description: String { "\(commands.count) commands, \(events.count) events" }
    }

    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0002, "Read Management Supported Commands")

    /// The command.
    public init() {}
}

/// Read Controller Index List: reads the list of adapters. Needs no privilege.
public struct ManagementReadControllerIndexList: ManagementCommand, EmptyPacket {
    /// The adapters in the kernel's order: the newest first.
    public typealias Reply = ManagementList<UInt16>
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0003, "Read Controller Index List")

    /// The command.
    public init() {}
}

/// Read Controller Information: reads addresses, settings and names. Needs no privilege.
public struct ManagementReadControllerInformation: ManagementCommand, EmptyPacket {
    /// The information.
    public typealias Reply = ControllerInformation
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0004, "Read Controller Information")

    /// The command.
    public init() {}
}

/// Set Powered: powers the adapter on or off.
public struct ManagementSetPowered: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0005, "Set Powered")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set Connectable: allows or refuses incoming connections.
public struct ManagementSetConnectable: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0007, "Set Connectable")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set Bondable: makes pairing store and report its keys, or not.
public struct ManagementSetBondable: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0009, "Set Bondable")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set Secure Simple Pairing: switches Secure Simple Pairing on or off.
public struct ManagementSetSecureSimplePairing: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x000B, "Set Secure Simple Pairing")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set Low Energy: switches LE on or off, whether the adapter is on or not.
public struct ManagementSetLowEnergy: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x000D, "Set Low Energy")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set BR/EDR: switches BR/EDR on or off; off is rejected while the adapter is on.
public struct ManagementSetBREDR: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x002A, "Set BR/EDR")
    /// Whether it is to be on.
    public var value: Bool

    /// The command with the parameter `value`.
    public init(_ value: Bool) { self.value = value }
}

/// Set Secure Connections: a dual-mode adapter needs Secure Simple Pairing for them.
public struct ManagementSetSecureConnections: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x002D, "Set Secure Connections")
    /// The mode.
    public var value: SecureConnectionsMode

    /// The command with the parameter `value`.
    public init(_ value: SecureConnectionsMode) { self.value = value }
}

/// Set Static Address: rejected while the adapter is on.
public struct ManagementSetStaticAddress: ManagementSettingCommand {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x002B, "Set Static Address")
    /// The static random address; zero removes it.
    public var value: BluetoothAddress

    /// The command with the parameter `value`.
    public init(_ value: BluetoothAddress) { self.value = value }

    /// Reads the address as a random one.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) { self.init(try reader.readAddress(.random)) }
}

/// Set Privacy: makes the adapter use private addresses, or not. Rejected while the adapter is on.
public struct ManagementSetPrivacy: ManagementCommand {
    /// The adapter's settings.
    public typealias Reply = ManagementSettings
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x002F, "Set Privacy")
    /// Whether the parameters contain a key: yes.
    public static let carriesSecret = true
    /// The mode.
    public var mode: PrivacyMode
    /// The identity resolving key with which the addresses are generated.
    public var key: SecurityKey

    /// The command with a mode and a key.
    public init(_ mode: PrivacyMode, _ key: SecurityKey) {
        self.mode = mode
        self.key = key
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), SecurityKey(reading: &reader))
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(mode)
        try key.write(to: &writer)
    }

    /// The mode.
    public var parameterDescription: String { mode.description }
}

/// Set IO Capability: sets the input and output capabilities of this side for pairing.
public struct ManagementSetIOCapability: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0018, "Set IO Capability")
    /// The capabilities.
    public var value: IOCapability

    /// The command with the parameter `value`.
    public init(_ value: IOCapability) { self.value = value }
}

/// Set Appearance: sets the appearance that instances can add to their data.
public struct ManagementSetAppearance: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0043, "Set Appearance")
    /// The appearance.
    public var value: UInt16

    /// The command with the parameter `value`.
    public init(_ value: UInt16) { self.value = value }

    /// The appearance in words.
    public var parameterDescription: String { "0x\(hexadecimal(value, digits: 4))" }
}
