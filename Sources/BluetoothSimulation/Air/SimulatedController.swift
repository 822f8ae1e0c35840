import BluetoothHCI

/// The Bluetooth controller of a simulated adapter, and its state in the kernel when the simulation begins.
public struct SimulatedController: Hashable, Sendable {
    /// The public address; nil for a generated one, zero for a controller without one.
    public var address: BluetoothAddress?
    /// The family of scanning, connecting and advertising commands that it supports; it refuses the other with Command
    /// Disallowed.
    public var family: HCICommandFamily
    /// Whether it has BR/EDR beside LE. Such an adapter starts with LE off unless ``isLEEnabled``.
    public var isDualMode: Bool
    /// Whether it supports LE.
    public var hasLE: Bool
    /// Whether the kernel has powered it on.
    public var isPowered: Bool
    /// Whether LE was switched on; always true for a controller without BR/EDR.
    public var isLEEnabled: Bool
    /// The RSSI at which others receive it, in dBm.
    public var signalStrength: Int8
    /// The transmit power in dBm that it reports.
    public var transmitPower: Int8 = 0
    /// Whether it reports links that its own host has ended with the reason 0x16 (terminated by local host), as most
    /// chips do. Others, such as emulators, report the reason that the host gave.
    public var reportsLocalDisconnects = false
    /// The place on the bus, which identifies it when it has no public address; nil for one by its index.
    public var place: String?
    /// The difference in dB between the RSSI at which it receives others and their ``signalStrength``, such as for one
    /// that is farther away.
    public var receiverGain: Int8 = 0
    /// The maximum number of links in both roles together; nil for no limit.
    ///
    /// Beyond it the controller refuses to connect, and as a peripheral answers no connection request.
    public var maximumLinks: Int?
    /// The status with which it refuses to connect beyond ``maximumLinks``: 0x09 (Connection Limit Exceeded), or
    /// 0x0D (Connection Rejected due to Limited Resources), as other chips do.
    public var linkRefusal = HCIStatus.connectionLimitExceeded
    /// The number of advertising sets, at most 255; 1 for legacy commands.
    public var advertisingSetCount: Int
    /// Whether it supports LE Coded, for scanning and for links; only with extended commands.
    public var hasCoded: Bool

    /// Creates a controller that is up and ready, as on a machine where Bluetooth was set up before.
    public init(
        address: BluetoothAddress? = nil, family: HCICommandFamily = .extended, isDualMode: Bool = true,
        hasLE: Bool = true, isPowered: Bool = true, isLEEnabled: Bool = true, signalStrength: Int8 = -50,
        advertisingSetCount: Int = 3, hasCoded: Bool = false
    ) {
        self.address = address
        self.family = family
        self.isDualMode = isDualMode
        self.hasLE = hasLE
        self.isPowered = isPowered
        self.isLEEnabled = isLEEnabled
        self.signalStrength = signalStrength
        self.advertisingSetCount = advertisingSetCount
        self.hasCoded = hasCoded && family == .extended
    }

    /// A dual-mode controller just plugged in: powered off, LE off.
    public static let fresh = SimulatedController(isPowered: false, isLEEnabled: false)

    var features: LEFeatures {
        var features: LEFeatures = [
            .encryption, .connectionParametersRequest, .extendedRejectIndication,
            .peripheralInitiatedFeaturesExchange, .ping, .dataPacketLengthExtension, .le2M,
        ]
        if family == .extended { features.insert(.extendedAdvertising) }
        if hasCoded { features.insert(.leCoded) }
        return features
    }

    var linkManagerFeatures: LMPFeatures {
        var features: LMPFeatures = []
        if hasLE { features.insert(.leSupported) }
        if !isDualMode { features.insert(.brEDRNotSupported) }
        return features
    }

    var commands: HCICommandSupport {
        var support = HCICommandSupport([
            .leSetScanParameters, .leSetScanEnable, .leCreateConnection, .leSetDataLength, .leReadPHY, .leSetPHY,
            .readRSSI,
        ])
        if family == .extended {
            support.insert(.leSetExtendedScanParameters)
            support.insert(.leSetExtendedScanEnable)
            support.insert(.leExtendedCreateConnection)
        }
        return support
    }

    var version: HCIVersionInformation {
        let version: UInt8 = family == .extended ? 9 : 8
        return HCIVersionInformation(hciVersion: version, linkLayerVersion: version, companyIdentifier: 0xFFFF)
    }
}
