import BluetoothPackets
import BluetoothPrimitives

/// The opcode of a command.
///
/// The set is open: kernels add commands, and a code without a name keeps its value.
public struct ManagementOpcode: PacketCode, Hashable, Sendable {
    /// The number in the packet.
    public let rawValue: UInt16

    /// An opcode of any value.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Read Management Version Information.
    public static let readVersionInformation = ManagementOpcode(rawValue: 0x0001)
    /// Read Management Supported Commands.
    public static let readSupportedCommands = ManagementOpcode(rawValue: 0x0002)
    /// Read Controller Index List.
    public static let readControllerIndexList = ManagementOpcode(rawValue: 0x0003)
    /// Read Controller Information.
    public static let readControllerInformation = ManagementOpcode(rawValue: 0x0004)
    /// Set Powered.
    public static let setPowered = ManagementOpcode(rawValue: 0x0005)
    /// Set Discoverable.
    public static let setDiscoverable = ManagementOpcode(rawValue: 0x0006)
    /// Set Connectable.
    public static let setConnectable = ManagementOpcode(rawValue: 0x0007)
    /// Set Fast Connectable.
    public static let setFastConnectable = ManagementOpcode(rawValue: 0x0008)
    /// Set Bondable.
    public static let setBondable = ManagementOpcode(rawValue: 0x0009)
    /// Set Link Security.
    public static let setLinkSecurity = ManagementOpcode(rawValue: 0x000A)
    /// Set Secure Simple Pairing.
    public static let setSecureSimplePairing = ManagementOpcode(rawValue: 0x000B)
    /// Set High Speed.
    public static let setHighSpeed = ManagementOpcode(rawValue: 0x000C)
    /// Set Low Energy.
    public static let setLowEnergy = ManagementOpcode(rawValue: 0x000D)
    /// Set Device Class.
    public static let setDeviceClass = ManagementOpcode(rawValue: 0x000E)
    /// Set Local Name.
    public static let setLocalName = ManagementOpcode(rawValue: 0x000F)
    /// Add UUID.
    public static let addUUID = ManagementOpcode(rawValue: 0x0010)
    /// Remove UUID.
    public static let removeUUID = ManagementOpcode(rawValue: 0x0011)
    /// Load Link Keys.
    public static let loadLinkKeys = ManagementOpcode(rawValue: 0x0012)
    /// Load Long Term Keys.
    public static let loadLongTermKeys = ManagementOpcode(rawValue: 0x0013)
    /// Disconnect.
    public static let disconnect = ManagementOpcode(rawValue: 0x0014)
    /// Get Connections.
    public static let getConnections = ManagementOpcode(rawValue: 0x0015)
    /// PIN Code Reply.
    public static let pinCodeReply = ManagementOpcode(rawValue: 0x0016)
    /// PIN Code Negative Reply.
    public static let pinCodeNegativeReply = ManagementOpcode(rawValue: 0x0017)
    /// Set IO Capability.
    public static let setIOCapability = ManagementOpcode(rawValue: 0x0018)
    /// Pair Device.
    public static let pairDevice = ManagementOpcode(rawValue: 0x0019)
    /// Cancel Pair Device.
    public static let cancelPairDevice = ManagementOpcode(rawValue: 0x001A)
    /// Unpair Device.
    public static let unpairDevice = ManagementOpcode(rawValue: 0x001B)
    /// User Confirmation Reply.
    public static let userConfirmationReply = ManagementOpcode(rawValue: 0x001C)
    /// User Confirmation Negative Reply.
    public static let userConfirmationNegativeReply = ManagementOpcode(rawValue: 0x001D)
    /// User Passkey Reply.
    public static let userPasskeyReply = ManagementOpcode(rawValue: 0x001E)
    /// User Passkey Negative Reply.
    public static let userPasskeyNegativeReply = ManagementOpcode(rawValue: 0x001F)
    /// Read Local Out Of Band Data.
    public static let readLocalOutOfBandData = ManagementOpcode(rawValue: 0x0020)
    /// Add Remote Out Of Band Data.
    public static let addRemoteOutOfBandData = ManagementOpcode(rawValue: 0x0021)
    /// Remove Remote Out Of Band Data.
    public static let removeRemoteOutOfBandData = ManagementOpcode(rawValue: 0x0022)
    /// Start Discovery.
    public static let startDiscovery = ManagementOpcode(rawValue: 0x0023)
    /// Stop Discovery.
    public static let stopDiscovery = ManagementOpcode(rawValue: 0x0024)
    /// Confirm Name.
    public static let confirmName = ManagementOpcode(rawValue: 0x0025)
    /// Block Device.
    public static let blockDevice = ManagementOpcode(rawValue: 0x0026)
    /// Unblock Device.
    public static let unblockDevice = ManagementOpcode(rawValue: 0x0027)
    /// Set Device ID.
    public static let setDeviceID = ManagementOpcode(rawValue: 0x0028)
    /// Set Advertising.
    public static let setAdvertising = ManagementOpcode(rawValue: 0x0029)
    /// Set BR/EDR.
    public static let setBREDR = ManagementOpcode(rawValue: 0x002A)
    /// Set Static Address.
    public static let setStaticAddress = ManagementOpcode(rawValue: 0x002B)
    /// Set Scan Parameters.
    public static let setScanParameters = ManagementOpcode(rawValue: 0x002C)
    /// Set Secure Connections.
    public static let setSecureConnections = ManagementOpcode(rawValue: 0x002D)
    /// Set Debug Keys.
    public static let setDebugKeys = ManagementOpcode(rawValue: 0x002E)
    /// Set Privacy.
    public static let setPrivacy = ManagementOpcode(rawValue: 0x002F)
    /// Load Identity Resolving Keys.
    public static let loadIdentityResolvingKeys = ManagementOpcode(rawValue: 0x0030)
    /// Get Connection Information.
    public static let getConnectionInformation = ManagementOpcode(rawValue: 0x0031)
    /// Get Clock Information.
    public static let getClockInformation = ManagementOpcode(rawValue: 0x0032)
    /// Add Device.
    public static let addDevice = ManagementOpcode(rawValue: 0x0033)
    /// Remove Device.
    public static let removeDevice = ManagementOpcode(rawValue: 0x0034)
    /// Load Connection Parameters.
    public static let loadConnectionParameters = ManagementOpcode(rawValue: 0x0035)
    /// Read Unconfigured Controller Index List.
    public static let readUnconfiguredControllerIndexList = ManagementOpcode(rawValue: 0x0036)
    /// Read Controller Configuration Information.
    public static let readControllerConfigurationInformation = ManagementOpcode(rawValue: 0x0037)
    /// Set External Configuration.
    public static let setExternalConfiguration = ManagementOpcode(rawValue: 0x0038)
    /// Set Public Address.
    public static let setPublicAddress = ManagementOpcode(rawValue: 0x0039)
    /// Start Service Discovery.
    public static let startServiceDiscovery = ManagementOpcode(rawValue: 0x003A)
    /// Read Local Out Of Band Extended Data.
    public static let readLocalOutOfBandExtendedData = ManagementOpcode(rawValue: 0x003B)
    /// Read Extended Controller Index List.
    public static let readExtendedControllerIndexList = ManagementOpcode(rawValue: 0x003C)
    /// Read Advertising Features.
    public static let readAdvertisingFeatures = ManagementOpcode(rawValue: 0x003D)
    /// Add Advertising.
    public static let addAdvertising = ManagementOpcode(rawValue: 0x003E)
    /// Remove Advertising.
    public static let removeAdvertising = ManagementOpcode(rawValue: 0x003F)
    /// Get Advertising Size Information.
    public static let getAdvertisingSizeInformation = ManagementOpcode(rawValue: 0x0040)
    /// Start Limited Discovery.
    public static let startLimitedDiscovery = ManagementOpcode(rawValue: 0x0041)
    /// Read Extended Controller Information.
    public static let readExtendedControllerInformation = ManagementOpcode(rawValue: 0x0042)
    /// Set Appearance.
    public static let setAppearance = ManagementOpcode(rawValue: 0x0043)
    /// Get PHY Configuration.
    public static let getPHYConfiguration = ManagementOpcode(rawValue: 0x0044)
    /// Set PHY Configuration.
    public static let setPHYConfiguration = ManagementOpcode(rawValue: 0x0045)
    /// Load Blocked Keys.
    public static let loadBlockedKeys = ManagementOpcode(rawValue: 0x0046)
    /// Set Wideband Speech.
    public static let setWidebandSpeech = ManagementOpcode(rawValue: 0x0047)
    /// Read Controller Capabilities.
    public static let readControllerCapabilities = ManagementOpcode(rawValue: 0x0048)
    /// Read Experimental Features Information.
    public static let readExperimentalFeaturesInformation = ManagementOpcode(rawValue: 0x0049)
    /// Set Experimental Feature.
    public static let setExperimentalFeature = ManagementOpcode(rawValue: 0x004A)
    /// Read Default System Configuration.
    public static let readDefaultSystemConfiguration = ManagementOpcode(rawValue: 0x004B)
    /// Set Default System Configuration.
    public static let setDefaultSystemConfiguration = ManagementOpcode(rawValue: 0x004C)
    /// Read Default Runtime Configuration.
    public static let readDefaultRuntimeConfiguration = ManagementOpcode(rawValue: 0x004D)
    /// Set Default Runtime Configuration.
    public static let setDefaultRuntimeConfiguration = ManagementOpcode(rawValue: 0x004E)
    /// Get Device Flags.
    public static let getDeviceFlags = ManagementOpcode(rawValue: 0x004F)
    /// Set Device Flags.
    public static let setDeviceFlags = ManagementOpcode(rawValue: 0x0050)
    /// Read Advertisement Monitor Features.
    public static let readAdvertisementMonitorFeatures = ManagementOpcode(rawValue: 0x0051)
    /// Add Advertisement Patterns Monitor.
    public static let addAdvertisementPatternsMonitor = ManagementOpcode(rawValue: 0x0052)
    /// Remove Advertisement Monitor.
    public static let removeAdvertisementMonitor = ManagementOpcode(rawValue: 0x0053)
    /// Add Extended Advertising Parameters.
    public static let addExtendedAdvertisingParameters = ManagementOpcode(rawValue: 0x0054)
    /// Add Extended Advertising Data.
    public static let addExtendedAdvertisingData = ManagementOpcode(rawValue: 0x0055)
    /// Add Advertisement Patterns Monitor With RSSI Threshold.
    public static let addAdvertisementPatternsMonitorWithRSSIThreshold = ManagementOpcode(rawValue: 0x0056)
    /// Set Mesh Receiver.
    public static let setMeshReceiver = ManagementOpcode(rawValue: 0x0057)
    /// Read Mesh Features.
    public static let readMeshFeatures = ManagementOpcode(rawValue: 0x0058)
    /// Transmit Mesh Packet.
    public static let transmitMeshPacket = ManagementOpcode(rawValue: 0x0059)
    /// Cancel Transmit Mesh Packet.
    public static let cancelTransmitMeshPacket = ManagementOpcode(rawValue: 0x005A)
    /// Send HCI Command And Wait For Event.
    public static let hciCommandSync = ManagementOpcode(rawValue: 0x005B)
}

extension ManagementOpcode: CustomStringConvertible {
    /// The command's name in the kernel's documentation, or the code where it has none here.
    public var description: String {
        switch self {
        case .readVersionInformation: return "Read Management Version Information"
        case .readSupportedCommands: return "Read Management Supported Commands"
        case .readControllerIndexList: return "Read Controller Index List"
        case .readControllerInformation: return "Read Controller Information"
        case .setPowered: return "Set Powered"
        case .setDiscoverable: return "Set Discoverable"
        case .setConnectable: return "Set Connectable"
        case .setFastConnectable: return "Set Fast Connectable"
        case .setBondable: return "Set Bondable"
        case .setLinkSecurity: return "Set Link Security"
        case .setSecureSimplePairing: return "Set Secure Simple Pairing"
        case .setHighSpeed: return "Set High Speed"
        case .setLowEnergy: return "Set Low Energy"
        case .setDeviceClass: return "Set Device Class"
        case .setLocalName: return "Set Local Name"
        case .addUUID: return "Add UUID"
        case .removeUUID: return "Remove UUID"
        case .loadLinkKeys: return "Load Link Keys"
        case .loadLongTermKeys: return "Load Long Term Keys"
        case .disconnect: return "Disconnect"
        case .getConnections: return "Get Connections"
        case .pinCodeReply: return "PIN Code Reply"
        case .pinCodeNegativeReply: return "PIN Code Negative Reply"
        case .setIOCapability: return "Set IO Capability"
        case .pairDevice: return "Pair Device"
        case .cancelPairDevice: return "Cancel Pair Device"
        case .unpairDevice: return "Unpair Device"
        case .userConfirmationReply: return "User Confirmation Reply"
        case .userConfirmationNegativeReply: return "User Confirmation Negative Reply"
        case .userPasskeyReply: return "User Passkey Reply"
        case .userPasskeyNegativeReply: return "User Passkey Negative Reply"
        case .readLocalOutOfBandData: return "Read Local Out Of Band Data"
        case .addRemoteOutOfBandData: return "Add Remote Out Of Band Data"
        case .removeRemoteOutOfBandData: return "Remove Remote Out Of Band Data"
        case .startDiscovery: return "Start Discovery"
        case .stopDiscovery: return "Stop Discovery"
        case .confirmName: return "Confirm Name"
        case .blockDevice: return "Block Device"
        case .unblockDevice: return "Unblock Device"
        case .setDeviceID: return "Set Device ID"
        case .setAdvertising: return "Set Advertising"
        case .setBREDR: return "Set BR/EDR"
        case .setStaticAddress: return "Set Static Address"
        case .setScanParameters: return "Set Scan Parameters"
        case .setSecureConnections: return "Set Secure Connections"
        case .setDebugKeys: return "Set Debug Keys"
        case .setPrivacy: return "Set Privacy"
        case .loadIdentityResolvingKeys: return "Load Identity Resolving Keys"
        case .getConnectionInformation: return "Get Connection Information"
        case .getClockInformation: return "Get Clock Information"
        case .addDevice: return "Add Device"
        case .removeDevice: return "Remove Device"
        case .loadConnectionParameters: return "Load Connection Parameters"
        case .readUnconfiguredControllerIndexList: return "Read Unconfigured Controller Index List"
        case .readControllerConfigurationInformation: return "Read Controller Configuration Information"
        case .setExternalConfiguration: return "Set External Configuration"
        case .setPublicAddress: return "Set Public Address"
        case .startServiceDiscovery: return "Start Service Discovery"
        case .readLocalOutOfBandExtendedData: return "Read Local Out Of Band Extended Data"
        case .readExtendedControllerIndexList: return "Read Extended Controller Index List"
        case .readAdvertisingFeatures: return "Read Advertising Features"
        case .addAdvertising: return "Add Advertising"
        case .removeAdvertising: return "Remove Advertising"
        case .getAdvertisingSizeInformation: return "Get Advertising Size Information"
        case .startLimitedDiscovery: return "Start Limited Discovery"
        case .readExtendedControllerInformation: return "Read Extended Controller Information"
        case .setAppearance: return "Set Appearance"
        case .getPHYConfiguration: return "Get PHY Configuration"
        case .setPHYConfiguration: return "Set PHY Configuration"
        case .loadBlockedKeys: return "Load Blocked Keys"
        case .setWidebandSpeech: return "Set Wideband Speech"
        case .readControllerCapabilities: return "Read Controller Capabilities"
        case .readExperimentalFeaturesInformation: return "Read Experimental Features Information"
        case .setExperimentalFeature: return "Set Experimental Feature"
        case .readDefaultSystemConfiguration: return "Read Default System Configuration"
        case .setDefaultSystemConfiguration: return "Set Default System Configuration"
        case .readDefaultRuntimeConfiguration: return "Read Default Runtime Configuration"
        case .setDefaultRuntimeConfiguration: return "Set Default Runtime Configuration"
        case .getDeviceFlags: return "Get Device Flags"
        case .setDeviceFlags: return "Set Device Flags"
        case .readAdvertisementMonitorFeatures: return "Read Advertisement Monitor Features"
        case .addAdvertisementPatternsMonitor: return "Add Advertisement Patterns Monitor"
        case .removeAdvertisementMonitor: return "Remove Advertisement Monitor"
        case .addExtendedAdvertisingParameters: return "Add Extended Advertising Parameters"
        case .addExtendedAdvertisingData: return "Add Extended Advertising Data"
        case .addAdvertisementPatternsMonitorWithRSSIThreshold:
            return "Add Advertisement Patterns Monitor With RSSI Threshold"
        case .setMeshReceiver: return "Set Mesh Receiver"
        case .readMeshFeatures: return "Read Mesh Features"
        case .transmitMeshPacket: return "Transmit Mesh Packet"
        case .cancelTransmitMeshPacket: return "Cancel Transmit Mesh Packet"
        case .hciCommandSync: return "Send HCI Command And Wait For Event"
        default: return "command 0x\(hexadecimal(rawValue, digits: 4))"
        }
    }
}
