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

    // Names for programs that simulate a kernel's faults.

    /// Read Management Version Information.
    public static let readVersionInformation = ManagementReadVersionInformation.opcode
    /// Read Management Supported Commands.
    public static let readSupportedCommands = ManagementReadSupportedCommands.opcode
    /// Read Controller Index List.
    public static let readControllerIndexList = ManagementReadControllerIndexList.opcode
    /// Read Controller Information.
    public static let readControllerInformation = ManagementReadControllerInformation.opcode
    /// Set Powered.
    public static let setPowered = ManagementSetPowered.opcode
    /// Set Connectable.
    public static let setConnectable = ManagementSetConnectable.opcode
    /// Set Bondable.
    public static let setBondable = ManagementSetBondable.opcode
    /// Set Secure Simple Pairing.
    public static let setSecureSimplePairing = ManagementSetSecureSimplePairing.opcode
    /// Set Low Energy.
    public static let setLowEnergy = ManagementSetLowEnergy.opcode
    /// Load Long Term Keys.
    public static let loadLongTermKeys = ManagementLoadLongTermKeys.opcode
    /// Disconnect.
    public static let disconnect = ManagementDisconnect.opcode
    /// Get Connections.
    public static let getConnections = ManagementGetConnections.opcode
    /// Set IO Capability.
    public static let setIOCapability = ManagementSetIOCapability.opcode
    /// Pair Device.
    public static let pairDevice = ManagementPairDevice.opcode
    /// Cancel Pair Device.
    public static let cancelPairDevice = ManagementCancelPairDevice.opcode
    /// Unpair Device.
    public static let unpairDevice = ManagementUnpairDevice.opcode
    /// User Confirmation Reply.
    public static let userConfirmationReply = ManagementUserConfirmationReply.opcode
    /// User Confirmation Negative Reply.
    public static let userConfirmationNegativeReply = ManagementUserConfirmationNegativeReply.opcode
    /// User Passkey Reply.
    public static let userPasskeyReply = ManagementUserPasskeyReply.opcode
    /// User Passkey Negative Reply.
    public static let userPasskeyNegativeReply = ManagementUserPasskeyNegativeReply.opcode
    /// Add Remote Out Of Band Data.
    public static let addRemoteOutOfBandData = ManagementAddRemoteOutOfBandData.opcode
    /// Remove Remote Out Of Band Data.
    public static let removeRemoteOutOfBandData = ManagementRemoveRemoteOutOfBandData.opcode
    /// Start Discovery.
    public static let startDiscovery = ManagementStartDiscovery.opcode
    /// Stop Discovery.
    public static let stopDiscovery = ManagementStopDiscovery.opcode
    /// Set Advertising.
    public static let setAdvertising = ManagementSetAdvertising.opcode
    /// Set BR/EDR.
    public static let setBREDR = ManagementSetBREDR.opcode
    /// Set Static Address.
    public static let setStaticAddress = ManagementSetStaticAddress.opcode
    /// Set Secure Connections.
    public static let setSecureConnections = ManagementSetSecureConnections.opcode
    /// Set Privacy.
    public static let setPrivacy = ManagementSetPrivacy.opcode
    /// Load Identity Resolving Keys.
    public static let loadIdentityResolvingKeys = ManagementLoadIdentityResolvingKeys.opcode
    /// Get Connection Information.
    public static let getConnectionInformation = ManagementGetConnectionInformation.opcode
    /// Add Device.
    public static let addDevice = ManagementAddDevice.opcode
    /// Remove Device.
    public static let removeDevice = ManagementRemoveDevice.opcode
    /// Load Connection Parameters.
    public static let loadConnectionParameters = ManagementLoadConnectionParameters.opcode
    /// Start Service Discovery.
    public static let startServiceDiscovery = ManagementStartServiceDiscovery.opcode
    /// Read Local Out Of Band Extended Data.
    public static let readLocalOutOfBandExtendedData = ManagementReadLocalOutOfBandExtendedData.opcode
    /// Read Advertising Features.
    public static let readAdvertisingFeatures = ManagementReadAdvertisingFeatures.opcode
    /// Add Advertising.
    public static let addAdvertising = ManagementAddAdvertising.opcode
    /// Remove Advertising.
    public static let removeAdvertising = ManagementRemoveAdvertising.opcode
    /// Set Appearance.
    public static let setAppearance = ManagementSetAppearance.opcode
    /// Get PHY Configuration.
    public static let getPHYConfiguration = ManagementGetPHYConfiguration.opcode
    /// Set PHY Configuration.
    public static let setPHYConfiguration = ManagementSetPHYConfiguration.opcode
    /// Read Default System Configuration.
    public static let readDefaultSystemConfiguration = ManagementReadDefaultSystemConfiguration.opcode
    /// Set Default System Configuration.
    public static let setDefaultSystemConfiguration = ManagementSetDefaultSystemConfiguration.opcode
    /// Add Extended Advertising Parameters.
    public static let addExtendedAdvertisingParameters = ManagementAddExtendedAdvertisingParameters.opcode
    /// Add Extended Advertising Data.
    public static let addExtendedAdvertisingData = ManagementAddExtendedAdvertisingData.opcode

    /// The type of the opcode's command; nil if it has none.
    package var type: (any ManagementCommand.Type)? { Self.typesByOpcode[self] }

    private static let typesByOpcode = Dictionary(uniqueKeysWithValues: types.map { ($0.opcode, $0) })

    /// All commands that have a type.
    package static let types: [any ManagementCommand.Type] = [
        ManagementReadVersionInformation.self,
        ManagementReadSupportedCommands.self,
        ManagementReadControllerIndexList.self,
        ManagementReadControllerInformation.self,
        ManagementSetPowered.self,
        ManagementSetConnectable.self,
        ManagementSetBondable.self,
        ManagementSetSecureSimplePairing.self,
        ManagementSetLowEnergy.self,
        ManagementLoadLongTermKeys.self,
        ManagementDisconnect.self,
        ManagementGetConnections.self,
        ManagementSetIOCapability.self,
        ManagementPairDevice.self,
        ManagementCancelPairDevice.self,
        ManagementUnpairDevice.self,
        ManagementUserConfirmationReply.self,
        ManagementUserConfirmationNegativeReply.self,
        ManagementUserPasskeyReply.self,
        ManagementUserPasskeyNegativeReply.self,
        ManagementAddRemoteOutOfBandData.self,
        ManagementRemoveRemoteOutOfBandData.self,
        ManagementStartDiscovery.self,
        ManagementStopDiscovery.self,
        ManagementSetAdvertising.self,
        ManagementSetBREDR.self,
        ManagementSetStaticAddress.self,
        ManagementSetSecureConnections.self,
        ManagementSetPrivacy.self,
        ManagementLoadIdentityResolvingKeys.self,
        ManagementGetConnectionInformation.self,
        ManagementAddDevice.self,
        ManagementRemoveDevice.self,
        ManagementLoadConnectionParameters.self,
        ManagementStartServiceDiscovery.self,
        ManagementReadLocalOutOfBandExtendedData.self,
        ManagementReadAdvertisingFeatures.self,
        ManagementAddAdvertising.self,
        ManagementRemoveAdvertising.self,
        ManagementSetAppearance.self,
        ManagementGetPHYConfiguration.self,
        ManagementSetPHYConfiguration.self,
        ManagementReadDefaultSystemConfiguration.self,
        ManagementSetDefaultSystemConfiguration.self,
        ManagementAddExtendedAdvertisingParameters.self,
        ManagementAddExtendedAdvertisingData.self,
    ]

    /// Whether the command's parameters contain a key, a passkey or out-of-band data, which must not be printed or recorded.
    public var carriesSecret: Bool {
        // Load Link Keys, PIN Code Reply, Load Blocked Keys, and the one that may contain any command to the controller.
        type?.carriesSecret ?? [0x0012, 0x0016, 0x0046, 0x005B].contains(rawValue)
    }

    /// Whether the reply contains out-of-band data, or a controller's answer to an arbitrary command.
    public var returnsSecret: Bool { type?.returnsSecret ?? [0x0020, 0x005B].contains(rawValue) }

    /// The Command Complete event with a status and a reply, as a packet about the adapter hci`index` or about none.
    ///
    /// Throws ``BufferFull`` when a list takes more than 65535 bytes.
    package func complete(
        _ reply: some PacketField = ManagementNoReply(), status: ManagementStatus = .success,
        index: UInt16 = ManagementPacket.noController
    ) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(growingTo: Int(UInt16.max))
        try writer.write(reply)
        return try ManagementCommandComplete(
            opcode: self, status: status, returnParameters: writer.span
        ).packet(for: index)
    }
}

extension ManagementOpcode: CustomStringConvertible {
    /// The command's name in the kernel's documentation, or the code where it has none here.
    public var description: String {
        type?.definition.name ?? Self.namesWithoutType[rawValue] ?? "command 0x\(hexadecimal(rawValue, digits: 4))"
    }

    /// The names of the commands that have no type.
    private static let namesWithoutType: [UInt16: String] = [
        0x0006: "Set Discoverable", 0x0008: "Set Fast Connectable", 0x000A: "Set Link Security",
        0x000C: "Set High Speed", 0x000E: "Set Device Class", 0x000F: "Set Local Name", 0x0010: "Add UUID",
        0x0011: "Remove UUID", 0x0012: "Load Link Keys", 0x0016: "PIN Code Reply", 0x0017: "PIN Code Negative Reply",
        0x0020: "Read Local Out Of Band Data", 0x0025: "Confirm Name", 0x0026: "Block Device",
        0x0027: "Unblock Device", 0x0028: "Set Device ID", 0x002C: "Set Scan Parameters", 0x002E: "Set Debug Keys",
        0x0032: "Get Clock Information", 0x0036: "Read Unconfigured Controller Index List",
        0x0037: "Read Controller Configuration Information", 0x0038: "Set External Configuration",
        0x0039: "Set Public Address", 0x003C: "Read Extended Controller Index List",
        0x0040: "Get Advertising Size Information", 0x0041: "Start Limited Discovery",
        0x0042: "Read Extended Controller Information", 0x0046: "Load Blocked Keys", 0x0047: "Set Wideband Speech",
        0x0048: "Read Controller Capabilities", 0x0049: "Read Experimental Features Information",
        0x004A: "Set Experimental Feature", 0x004D: "Read Default Runtime Configuration",
        0x004E: "Set Default Runtime Configuration", 0x004F: "Get Device Flags", 0x0050: "Set Device Flags",
        0x0051: "Read Advertisement Monitor Features", 0x0052: "Add Advertisement Patterns Monitor",
        0x0053: "Remove Advertisement Monitor", 0x0056: "Add Advertisement Patterns Monitor With RSSI Threshold",
        0x0057: "Set Mesh Receiver", 0x0058: "Read Mesh Features", 0x0059: "Transmit Mesh Packet",
        0x005A: "Cancel Transmit Mesh Packet", 0x005B: "Send HCI Command And Wait For Event",
    ]
}
