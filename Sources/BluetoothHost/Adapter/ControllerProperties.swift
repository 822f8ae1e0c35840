import BluetoothPrimitives
import BluetoothHCI

/// The properties of a controller, as it reports them itself: versions, features, buffers and limits.
///
/// A value that the controller does not report, since it does not support the command, is nil.
public struct ControllerProperties: Hashable, Sendable {
    /// A number of packets and their maximum length.
    public struct Buffers: Hashable, Sendable {
        /// The number of packets that the controller buffers.
        public var count: Int
        /// The maximum length of the data of a packet in bytes.
        public var packetLength: Int

        package init(count: Int, packetLength: Int) {
            (self.count, self.packetLength) = (count, packetLength)
        }
    }

    /// The HCI version as assigned by the Bluetooth SIG: 9 is 5.0.
    public var hciVersion: UInt8
    /// The HCI subversion, which the vendor defines.
    public var hciSubversion: UInt16
    /// The Link Layer version as assigned by the Bluetooth SIG.
    public var linkLayerVersion: UInt8
    /// The Link Layer subversion, which the vendor defines.
    public var linkLayerSubversion: UInt16
    /// The manufacturer.
    public var manufacturer: CompanyIdentifier
    /// The mask of the supported commands (Core Vol 4 Part E §6.27), 64 bytes.
    public var supportedCommands: [UInt8]
    /// The mask of the LE features (Core Vol 6 Part B §4.6).
    public var lowEnergyFeatures: UInt64
    /// The mask of the supported states and their combinations (Core Vol 4 Part E §7.8.27).
    public var supportedStates: UInt64?
    /// The buffers for LE data; nil also if the adapter has links, since reading them would disturb the kernel's flow
    /// control.
    public var buffers: Buffers?
    /// The maximum number of bytes in a packet on the air that it transmits.
    public var maximumDataLength: Int?
    /// The size of the filter accept list.
    public var filterAcceptListSize: Int?
    /// The size of the resolving list.
    public var resolvingListSize: Int?
    /// The maximum number of advertising sets at a time.
    public var advertisingSetCount: Int?
    /// The maximum length of advertising data in bytes.
    public var maximumAdvertisingDataLength: Int?
    /// The transmit powers in dBm, from the least to the greatest.
    public var transmitPowers: ClosedRange<Int>?
    /// The number of the adapter's links when this was read, those of other programs included; nil if it is unknown.
    public var linkCount: Int?

    package init(
        _ version: HCIVersionInformation, commands: HCICommandSupport, features: LEFeatures, linkCount: Int?
    ) {
        hciVersion = version.hciVersion
        hciSubversion = version.hciSubversion
        linkLayerVersion = version.linkLayerVersion
        linkLayerSubversion = version.linkLayerSubversion
        manufacturer = CompanyIdentifier(rawValue: version.companyIdentifier)
        supportedCommands = commands.octets
        lowEnergyFeatures = features.rawValue
        self.linkCount = linkCount
    }

    /// The names of the LE features; a feature without a name here is `bit N`.
    public var featureNames: [String] {
        (0..<64).filter { lowEnergyFeatures >> UInt64($0) & 1 == 1 }.map {
            codeName($0, Self.names) ?? "bit \($0)"
        }
    }

    /// The number of supported commands.
    public var supportedCommandCount: Int { supportedCommands.reduce(0) { $0 + $1.nonzeroBitCount } }

    // In the order of the bits.
    private static let names = [
        "LE Encryption", "Connection Parameters Request", "Extended Reject Indication",
        "Peripheral-initiated Features Exchange", "LE Ping", "LE Data Packet Length Extension", "LL Privacy",
        "Extended Scanning Filter Policies", "LE 2M PHY", "Stable Modulation Index - Transmitter",
        "Stable Modulation Index - Receiver", "LE Coded PHY", "LE Extended Advertising", "LE Periodic Advertising",
        "Channel Selection Algorithm #2", "LE Power Class 1", "Minimum Number of Used Channels",
    ]
}
