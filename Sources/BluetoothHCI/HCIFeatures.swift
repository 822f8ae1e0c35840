import BluetoothPrimitives

/// Which of two generations of commands to use. Most controllers refuse one generation after the other was used,
/// with Command Disallowed, until they are reset (Core Vol 4 Part E §3.1.1).
public enum HCICommandFamily: Sendable {
    /// The commands of Bluetooth 4.
    case legacy
    /// The extended commands of Bluetooth 5.
    case extended
}

/// The commands a controller has, as Read Local Supported Commands tells them (Core Vol 4 Part E §6.27).
public struct HCICommandSupport: Hashable, Sendable {
    /// A command's place in the table.
    public struct Bit: Hashable, Sendable {
        /// Which byte, 0 to 63.
        public var octet: Int
        /// Which bit of it, 0 to 7.
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

    /// How many bytes the table takes.
    public static let byteCount = 64

    /// The 64 bytes of the table.
    public private(set) var octets: [UInt8]

    /// The table with the given commands and no others.
    public init(_ bits: some Sequence<Bit> = []) {
        octets = [UInt8](repeating: 0, count: Self.byteCount)
        for bit in bits { insert(bit) }
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        octets = [UInt8](try reader.read(Self.byteCount))
    }

    /// Whether the controller has the command.
    public func contains(_ bit: Bit) -> Bool {
        guard octets.indices.contains(bit.octet), (0..<8).contains(bit.bit) else { return false }
        return octets[bit.octet] >> bit.bit & 1 == 1
    }

    /// Marks the command as supported; a place outside the table is ignored.
    public mutating func insert(_ bit: Bit) {
        guard octets.indices.contains(bit.octet), (0..<8).contains(bit.bit) else { return }
        octets[bit.octet] |= 1 << bit.bit
    }

    /// The commands the Linux kernel scans with on this controller; a raw scan beside it has to use the same.
    public var scanFamily: HCICommandFamily {
        contains(.leSetExtendedScanParameters) && contains(.leSetExtendedScanEnable) ? .extended : .legacy
    }

    /// The commands the Linux kernel connects with on this controller.
    public var connectFamily: HCICommandFamily { contains(.leExtendedCreateConnection) ? .extended : .legacy }
}

/// What a controller or a peer's link layer can do (Core Vol 6 Part B §4.6).
public struct LEFeatures: OptionSet, Hashable, Sendable {
    /// The 64 bits.
    public let rawValue: UInt64

    /// A set from its bits.
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
    /// LE Data Packet Length Extension: up to 251 bytes in a packet.
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

    /// The commands the Linux kernel advertises with on this controller; raw advertising has to use the same.
    public var advertisingFamily: HCICommandFamily { contains(.extendedAdvertising) ? .extended : .legacy }
}

extension LEFeatures: CustomStringConvertible {
    /// The names of the features, joined by commas.
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

/// Which events the controller sends (Core Vol 4 Part E §7.3.1).
public struct HCIEventMask: OptionSet, Hashable, Sendable {
    /// The 64 bits.
    public let rawValue: UInt64

    /// A set from its bits.
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
    /// LE Meta, which ``LEEventMask`` divides further.
    public static let leMeta = HCIEventMask(rawValue: 1 << 61)

    /// What a controller starts with after a reset.
    public static let `default` = HCIEventMask(rawValue: 0x0000_1FFF_FFFF_FFFF)
}

/// Which LE meta events the controller sends: bit n lets subevent n + 1 through (Core Vol 4 Part E §7.8.1).
public struct LEEventMask: OptionSet, Hashable, Sendable {
    /// The 64 bits.
    public let rawValue: UInt64

    /// A set from its bits.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The bit that lets `subevent` through; none for a code outside 1 to 64.
    public init(_ subevent: LESubeventCode) {
        rawValue = (1...64).contains(subevent.rawValue) ? 1 << UInt64(subevent.rawValue - 1) : 0
    }

    /// What a controller starts with after a reset.
    public static let `default` = LEEventMask(rawValue: 0x1F)
}
