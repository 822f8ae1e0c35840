import BluetoothPackets
import BluetoothPrimitives

/// A set of PHYs and packet types in the kernel's management interface.
public struct ManagementPHYs: PacketCode, OptionSet, Hashable, Sendable {
    /// The set as sent, four bytes.
    public let rawValue: UInt32

    /// The set with the bits `rawValue`.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// BR with 1 Mbit/s in one slot, which is always selected on an adapter with BR/EDR.
    public static let br1MOneSlot = ManagementPHYs(rawValue: 1 << 0)
    /// LE 1M for transmission; always selected.
    public static let le1MTransmit = ManagementPHYs(rawValue: 1 << 9)
    /// LE 1M for reception; always selected.
    public static let le1MReceive = ManagementPHYs(rawValue: 1 << 10)
    /// LE 2M for transmission.
    public static let le2MTransmit = ManagementPHYs(rawValue: 1 << 11)
    /// LE 2M for reception.
    public static let le2MReceive = ManagementPHYs(rawValue: 1 << 12)
    /// LE Coded for transmission.
    public static let leCodedTransmit = ManagementPHYs(rawValue: 1 << 13)
    /// LE Coded for reception.
    public static let leCodedReceive = ManagementPHYs(rawValue: 1 << 14)

    /// All packet types of BR/EDR.
    public static let brEDR = ManagementPHYs(rawValue: 0x1FF)

    private static let lowEnergy: [(LEPHYSet, ManagementPHYs)] = [
        (.le1M, [.le1MTransmit, .le1MReceive]), (.le2M, [.le2MTransmit, .le2MReceive]),
        (.leCoded, [.leCodedTransmit, .leCodedReceive]),
    ]

    /// The PHYs of LE, in both directions.
    public init(_ phys: LEPHYSet) {
        self = Self.lowEnergy.filter { phys.contains($0.0) }.reduce(into: []) { $0.formUnion($1.1) }
    }

    /// The PHYs of LE that are in the set for at least one direction.
    public var lePHYs: LEPHYSet {
        Self.lowEnergy.filter { !isDisjoint(with: $0.1) }.reduce(into: []) { $0.formUnion($1.0) }
    }
}

extension ManagementPHYs: CustomStringConvertible {
    /// The names of the PHYs, separated by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "BR 1M 1 slot", 1: "BR 1M 3 slots", 2: "BR 1M 5 slots", 3: "EDR 2M 1 slot", 4: "EDR 2M 3 slots",
                5: "EDR 2M 5 slots", 6: "EDR 3M 1 slot", 7: "EDR 3M 3 slots", 8: "EDR 3M 5 slots",
                9: "LE 1M transmit", 10: "LE 1M receive", 11: "LE 2M transmit", 12: "LE 2M receive",
                13: "LE Coded transmit", 14: "LE Coded receive",
            ])
    }
}

/// Get PHY Configuration: reads the PHYs of the adapter, and those that the kernel uses.
public struct ManagementGetPHYConfiguration: ManagementCommand, EmptyPacket {
    /// The PHYs.
    public typealias Reply = PHYConfiguration
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0044, "Get PHY Configuration")

    /// The command.
    public init() {}
}

/// Set PHY Configuration: selects the PHYs with which the kernel scans and connects, and which it prefers for links.
/// Rejected while the adapter is off, unless nothing changes.
public struct ManagementSetPHYConfiguration: ManagementCommand, SingleValuePacket {
    /// The opcode and the name.
    public static let definition = ManagementCommandDefinition(0x0045, "Set PHY Configuration")
    /// The PHYs.
    public var value: ManagementPHYs

    /// The command with the parameter `value`.
    public init(_ value: ManagementPHYs) { self.value = value }
}

/// The reply to Get PHY Configuration.
public struct PHYConfiguration: ManagementReply {
    /// The PHYs of the controller.
    public var supported: ManagementPHYs
    /// Those that may be selected or not; the others of the controller always are.
    public var configurable: ManagementPHYs
    /// Those with which the kernel scans and connects, and which it prefers for links.
    public var selected: ManagementPHYs

    /// A configuration.
    public init(supported: ManagementPHYs, configurable: ManagementPHYs, selected: ManagementPHYs) {
        self.supported = supported
        self.configurable = configurable
        self.selected = selected
    }

    /// Reads the sets.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(supported: reader.read(), configurable: reader.read(), selected: reader.read())
    }

    /// Writes the sets.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(supported, configurable, selected)
    }

    /// The three sets.
    public var description: String { "supported \(supported); configurable \(configurable); selected \(selected)" }
}
