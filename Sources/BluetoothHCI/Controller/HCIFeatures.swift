import BluetoothPackets
import BluetoothPrimitives

/// One of the two generations of LE commands. After one was used, most controllers refuse the other with Command
/// Disallowed until a reset (Core Vol 4 Part E §3.1.1).
public enum HCICommandFamily: Sendable {
    /// The commands of Bluetooth 4.
    case legacy
    /// The extended commands of Bluetooth 5.
    case extended
}

/// The commands that a controller supports, from Read Local Supported Commands (Core Vol 4 Part E §6.27).
public struct HCICommandSupport: PacketField, Hashable, Sendable {
    /// The position of a command in the bit mask.
    public struct Bit: Hashable, Sendable {
        /// The byte, 0 to 63.
        public var octet: Int
        /// The bit of the byte, 0 to 7.
        public var bit: Int

        /// The bit at `octet` and `bit`.
        public init(octet: Int, bit: Int) {
            self.octet = octet
            self.bit = bit
        }

        /// LE Set Scan Parameters.
        public static let leSetScanParameters = Bit(octet: 26, bit: 2)
        /// LE Set Scan Enable.
        public static let leSetScanEnable = Bit(octet: 26, bit: 3)
        /// LE Create Connection.
        public static let leCreateConnection = Bit(octet: 26, bit: 4)
        /// LE Set Data Length.
        public static let leSetDataLength = Bit(octet: 33, bit: 6)
        /// LE Read PHY.
        public static let leReadPHY = Bit(octet: 35, bit: 4)
        /// LE Set PHY.
        public static let leSetPHY = Bit(octet: 35, bit: 6)
        /// LE Set Extended Scan Parameters.
        public static let leSetExtendedScanParameters = Bit(octet: 37, bit: 5)
        /// LE Set Extended Scan Enable.
        public static let leSetExtendedScanEnable = Bit(octet: 37, bit: 6)
        /// LE Extended Create Connection.
        public static let leExtendedCreateConnection = Bit(octet: 37, bit: 7)
        /// Read RSSI.
        public static let readRSSI = Bit(octet: 15, bit: 5)
    }

    /// The size of the bit mask in bytes.
    public static let byteCount = 64

    /// The 64 bytes of the bit mask.
    public private(set) var octets: [UInt8]

    /// A bit mask of the given commands.
    public init(_ bits: some Sequence<Bit> = []) {
        octets = [UInt8](repeating: 0, count: Self.byteCount)
        for bit in bits { insert(bit) }
    }

    /// Reads the bit mask.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        octets = [UInt8](try reader.read(Self.byteCount))
    }

    /// Writes the bit mask.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(octets) }

    /// Whether the controller supports the command.
    public func contains(_ bit: Bit) -> Bool {
        guard octets.indices.contains(bit.octet) else { return false }
        // A bit that a byte does not have is shifted out.
        return octets[bit.octet] >> bit.bit & 1 == 1
    }

    /// Adds a supported command; a position outside the bit mask is ignored.
    public mutating func insert(_ bit: Bit) {
        guard octets.indices.contains(bit.octet) else { return }
        octets[bit.octet] |= 1 << bit.bit
    }

    /// The commands with which the Linux kernel scans on this controller; a concurrent raw scan must use the same.
    public var scanFamily: HCICommandFamily {
        contains(.leSetExtendedScanParameters) && contains(.leSetExtendedScanEnable) ? .extended : .legacy
    }

    /// The commands with which the Linux kernel connects on this controller.
    public var connectFamily: HCICommandFamily { contains(.leExtendedCreateConnection) ? .extended : .legacy }
}

/// The LE features of a controller or a peer (Core Vol 6 Part B §4.6).
public struct LEFeatures: PacketCode, OptionSet, Hashable, Sendable {
    /// The 64 bits of the feature mask.
    public let rawValue: UInt64

    /// The features with the bits `rawValue`.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// LE Encryption.
    public static let encryption = LEFeatures(rawValue: 1 << 0)
    /// Connection Parameters Request Procedure.
    public static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
    /// Extended Reject Indication.
    public static let extendedRejectIndication = LEFeatures(rawValue: 1 << 2)
    /// Peripheral-initiated Features Exchange.
    public static let peripheralInitiatedFeaturesExchange = LEFeatures(rawValue: 1 << 3)
    /// LE Ping.
    public static let ping = LEFeatures(rawValue: 1 << 4)
    /// LE Data Packet Length Extension: up to 251 bytes in a data packet.
    public static let dataPacketLengthExtension = LEFeatures(rawValue: 1 << 5)
    /// LL Privacy: the controller resolves private addresses.
    public static let linkLayerPrivacy = LEFeatures(rawValue: 1 << 6)
    /// LE 2M PHY.
    public static let le2M = LEFeatures(rawValue: 1 << 8)
    /// LE Coded PHY.
    public static let leCoded = LEFeatures(rawValue: 1 << 11)
    /// LE Extended Advertising.
    public static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
    /// LE Periodic Advertising.
    public static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)

    /// The commands with which the Linux kernel advertises on this controller; raw advertising must use the same.
    public var advertisingFamily: HCICommandFamily { contains(.extendedAdvertising) ? .extended : .legacy }
}

extension LEFeatures: CustomStringConvertible {
    /// The names of the features, separated by commas.
    public var description: String {
        listed(
            rawValue,
            names: [
                0: "encryption", 1: "connection parameters request", 2: "extended reject indication",
                3: "peripheral-initiated features exchange", 4: "ping", 5: "data packet length extension",
                6: "link layer privacy", 8: "LE 2M", 11: "LE Coded", 12: "extended advertising",
                13: "periodic advertising",
            ])
    }
}

/// The events that the controller sends (Core Vol 4 Part E §7.3.1).
public struct HCIEventMask: PacketCode, OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The 64 bits of the event mask.
    public let rawValue: UInt64

    /// The mask with the bits `rawValue`.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Disconnection Complete.
    public static let disconnectionComplete = HCIEventMask(rawValue: 1 << 4)
    /// Encryption Change.
    public static let encryptionChange = HCIEventMask(rawValue: 1 << 7)
    /// Read Remote Version Information Complete.
    public static let readRemoteVersionInformationComplete = HCIEventMask(rawValue: 1 << 11)
    /// Hardware Error.
    public static let hardwareError = HCIEventMask(rawValue: 1 << 15)
    /// Encryption Key Refresh Complete.
    public static let encryptionKeyRefreshComplete = HCIEventMask(rawValue: 1 << 47)
    /// LE Meta; ``LEEventMask`` selects its subevents.
    public static let leMeta = HCIEventMask(rawValue: 1 << 61)

    /// The default after a reset.
    public static let `default` = HCIEventMask(rawValue: 0x0000_1FFF_FFFF_FFFF)

    /// The mask in hexadecimal.
    public var description: String { "0x\(hexadecimal(rawValue, digits: 16))" }
}

/// The LE subevents that the controller sends: bit n enables subevent n + 1 (Core Vol 4 Part E §7.8.1).
public struct LEEventMask: PacketCode, OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The 64 bits of the event mask.
    public let rawValue: UInt64

    /// The mask with the bits `rawValue`.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The mask that enables an LE event; empty for a subevent code outside 1 to 64.
    public init(_ code: HCIEventCode) {
        rawValue = (1...64).contains(code.subevent) ? 1 << UInt64(code.subevent - 1) : 0
    }

    /// The default after a reset.
    public static let `default` = LEEventMask(rawValue: 0x1F)

    /// The mask in hexadecimal.
    public var description: String { "0x\(hexadecimal(rawValue, digits: 16))" }
}
