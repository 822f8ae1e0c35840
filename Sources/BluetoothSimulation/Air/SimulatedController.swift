import BluetoothPrimitives
import BluetoothHCI

/// What kind of Bluetooth controller an adapter has, and how the kernel has it when the simulation begins.
public struct SimulatedController: Hashable, Sendable {
    /// The public address; nil has the radio make one up, zero is a controller without one.
    public var address: BluetoothAddress?
    /// Which generation of scanning, connecting and advertising commands it has; the other one it refuses with
    /// Command Disallowed.
    public var family: HCICommandFamily
    /// Whether it has BR/EDR beside LE. Such an adapter comes up with LE off unless ``isLEEnabled``.
    public var isDualMode: Bool
    /// Whether it has LE at all.
    public var hasLE: Bool
    /// Whether the kernel has it up.
    public var isPowered: Bool
    /// Whether somebody has switched LE on; always so for a controller without BR/EDR.
    public var isLEEnabled: Bool
    /// How strong others receive it, in dBm.
    public var signalStrength: Int8
    /// How strongly it sends, in dBm, where anybody asks.
    public var transmitPower: Int8 = 0
    /// Whether it tells of links that its own host has ended that this host did it (0x16), as most chips do. Others, such as
    /// emulators, tell the reason that the host gave.
    public var tellsOwnDisconnects = false
    /// Where it is plugged in, by which it is recognised when it has no public address; nil is by its index.
    public var place: String?
    /// How many advertising sets it has; 1 for legacy commands.
    public var advertisingSetCount: UInt8
    /// Whether it can scan on LE Coded; only with extended commands.
    public var hasCoded: Bool

    /// A controller that is up and ready, as on a machine where Bluetooth was set up before.
    public init(
        address: BluetoothAddress? = nil, family: HCICommandFamily = .extended, isDualMode: Bool = true,
        hasLE: Bool = true, isPowered: Bool = true, isLEEnabled: Bool = true, signalStrength: Int8 = -50,
        advertisingSetCount: UInt8 = 3, hasCoded: Bool = false
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

    /// Dual-mode and just plugged in: powered off, and LE not switched on.
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
