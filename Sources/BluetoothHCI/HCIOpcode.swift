import BluetoothPrimitives

/// An HCI opcode (Core Vol 4 Part E §5.4.1).
///
/// An open set: vendors have commands of their own (group 0x3F), and unnamed opcodes keep their value.
public struct HCIOpcode: RawRepresentable, Hashable, Sendable {
    /// The opcode: six bits of OGF, ten bits of OCF.
    public let rawValue: UInt16

    /// The opcode with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The opcode with the low six bits of `group` (OGF) and the low ten bits of `command` (OCF).
    @inlinable
    public init(group: UInt8, command: UInt16) {
        rawValue = UInt16(group & 0x3F) << 10 | command & 0x3FF
    }

    /// The opcode group field (OGF); 8 is that of the LE controller commands.
    @inlinable public var group: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 10) }

    /// The opcode command field (OCF).
    @inlinable public var command: UInt16 { rawValue & 0x3FF }

    /// No Operation; a Command Complete with it only updates the number of commands that the controller accepts.
    public static let none = HCIOpcode(rawValue: 0x0000)

    // Link control commands.

    /// Disconnect.
    public static let disconnect = HCIOpcode(rawValue: 0x0406)
    /// Read Remote Version Information.
    public static let readRemoteVersionInformation = HCIOpcode(rawValue: 0x041D)

    // Controller and baseband commands.

    /// Set Event Mask.
    public static let setEventMask = HCIOpcode(rawValue: 0x0C01)
    /// Reset.
    public static let reset = HCIOpcode(rawValue: 0x0C03)
    /// Read Transmit Power Level (§7.3.35).
    public static let readTransmitPowerLevel = HCIOpcode(rawValue: 0x0C2D)

    // Informational commands.

    /// Read Local Version Information.
    public static let readLocalVersionInformation = HCIOpcode(rawValue: 0x1001)
    /// Read Local Supported Commands.
    public static let readLocalSupportedCommands = HCIOpcode(rawValue: 0x1002)
    /// Read Local Supported Features.
    public static let readLocalSupportedFeatures = HCIOpcode(rawValue: 0x1003)
    /// Read Buffer Size.
    public static let readBufferSize = HCIOpcode(rawValue: 0x1005)
    /// Read BD_ADDR.
    public static let readBDADDR = HCIOpcode(rawValue: 0x1009)

    // Status commands.

    /// Read RSSI.
    public static let readRSSI = HCIOpcode(rawValue: 0x1405)

    // LE controller commands.

    /// LE Set Event Mask.
    public static let leSetEventMask = HCIOpcode(rawValue: 0x2001)
    /// LE Read Buffer Size.
    public static let leReadBufferSize = HCIOpcode(rawValue: 0x2002)
    /// LE Read Local Supported Features.
    public static let leReadLocalSupportedFeatures = HCIOpcode(rawValue: 0x2003)
    /// LE Set Random Address.
    public static let leSetRandomAddress = HCIOpcode(rawValue: 0x2005)
    /// LE Set Advertising Parameters.
    public static let leSetAdvertisingParameters = HCIOpcode(rawValue: 0x2006)
    /// LE Read Advertising Physical Channel Tx Power.
    public static let leReadAdvertisingPhysicalChannelTransmitPower = HCIOpcode(rawValue: 0x2007)
    /// LE Set Advertising Data.
    public static let leSetAdvertisingData = HCIOpcode(rawValue: 0x2008)
    /// LE Set Scan Response Data.
    public static let leSetScanResponseData = HCIOpcode(rawValue: 0x2009)
    /// LE Set Advertising Enable.
    public static let leSetAdvertisingEnable = HCIOpcode(rawValue: 0x200A)
    /// LE Set Scan Parameters.
    public static let leSetScanParameters = HCIOpcode(rawValue: 0x200B)
    /// LE Set Scan Enable.
    public static let leSetScanEnable = HCIOpcode(rawValue: 0x200C)
    /// LE Create Connection.
    public static let leCreateConnection = HCIOpcode(rawValue: 0x200D)
    /// LE Create Connection Cancel.
    public static let leCreateConnectionCancel = HCIOpcode(rawValue: 0x200E)
    /// LE Read Filter Accept List Size.
    public static let leReadFilterAcceptListSize = HCIOpcode(rawValue: 0x200F)
    /// LE Clear Filter Accept List.
    public static let leClearFilterAcceptList = HCIOpcode(rawValue: 0x2010)
    /// LE Add Device To Filter Accept List.
    public static let leAddDeviceToFilterAcceptList = HCIOpcode(rawValue: 0x2011)
    /// LE Remove Device From Filter Accept List.
    public static let leRemoveDeviceFromFilterAcceptList = HCIOpcode(rawValue: 0x2012)
    /// LE Connection Update.
    public static let leConnectionUpdate = HCIOpcode(rawValue: 0x2013)
    /// LE Read Remote Features.
    public static let leReadRemoteFeatures = HCIOpcode(rawValue: 0x2016)
    /// LE Encrypt.
    public static let leEncrypt = HCIOpcode(rawValue: 0x2017)
    /// LE Rand.
    public static let leRand = HCIOpcode(rawValue: 0x2018)
    /// LE Enable Encryption.
    public static let leEnableEncryption = HCIOpcode(rawValue: 0x2019)
    /// LE Long Term Key Request Reply.
    public static let leLongTermKeyRequestReply = HCIOpcode(rawValue: 0x201A)
    /// LE Long Term Key Request Negative Reply.
    public static let leLongTermKeyRequestNegativeReply = HCIOpcode(rawValue: 0x201B)
    /// LE Read Supported States.
    public static let leReadSupportedStates = HCIOpcode(rawValue: 0x201C)
    /// LE Remote Connection Parameter Request Reply.
    public static let leRemoteConnectionParameterRequestReply = HCIOpcode(rawValue: 0x2020)
    /// LE Remote Connection Parameter Request Negative Reply.
    public static let leRemoteConnectionParameterRequestNegativeReply = HCIOpcode(rawValue: 0x2021)
    /// LE Set Data Length.
    public static let leSetDataLength = HCIOpcode(rawValue: 0x2022)
    /// LE Read Suggested Default Data Length.
    public static let leReadSuggestedDefaultDataLength = HCIOpcode(rawValue: 0x2023)
    /// LE Write Suggested Default Data Length.
    public static let leWriteSuggestedDefaultDataLength = HCIOpcode(rawValue: 0x2024)
    /// LE Add Device To Resolving List.
    public static let leAddDeviceToResolvingList = HCIOpcode(rawValue: 0x2027)
    /// LE Remove Device From Resolving List.
    public static let leRemoveDeviceFromResolvingList = HCIOpcode(rawValue: 0x2028)
    /// LE Clear Resolving List.
    public static let leClearResolvingList = HCIOpcode(rawValue: 0x2029)
    /// LE Read Resolving List Size.
    public static let leReadResolvingListSize = HCIOpcode(rawValue: 0x202A)
    /// LE Set Address Resolution Enable.
    public static let leSetAddressResolutionEnable = HCIOpcode(rawValue: 0x202D)
    /// LE Set Resolvable Private Address Timeout.
    public static let leSetResolvablePrivateAddressTimeout = HCIOpcode(rawValue: 0x202E)
    /// LE Read Maximum Data Length.
    public static let leReadMaximumDataLength = HCIOpcode(rawValue: 0x202F)
    /// LE Read PHY.
    public static let leReadPHY = HCIOpcode(rawValue: 0x2030)
    /// LE Set Default PHY.
    public static let leSetDefaultPHY = HCIOpcode(rawValue: 0x2031)
    /// LE Set PHY.
    public static let leSetPHY = HCIOpcode(rawValue: 0x2032)
    /// LE Set Advertising Set Random Address.
    public static let leSetAdvertisingSetRandomAddress = HCIOpcode(rawValue: 0x2035)
    /// LE Set Extended Advertising Parameters.
    public static let leSetExtendedAdvertisingParameters = HCIOpcode(rawValue: 0x2036)
    /// LE Set Extended Advertising Data.
    public static let leSetExtendedAdvertisingData = HCIOpcode(rawValue: 0x2037)
    /// LE Set Extended Scan Response Data.
    public static let leSetExtendedScanResponseData = HCIOpcode(rawValue: 0x2038)
    /// LE Set Extended Advertising Enable.
    public static let leSetExtendedAdvertisingEnable = HCIOpcode(rawValue: 0x2039)
    /// LE Read Maximum Advertising Data Length.
    public static let leReadMaximumAdvertisingDataLength = HCIOpcode(rawValue: 0x203A)
    /// LE Read Number of Supported Advertising Sets.
    public static let leReadNumberOfSupportedAdvertisingSets = HCIOpcode(rawValue: 0x203B)
    /// LE Remove Advertising Set.
    public static let leRemoveAdvertisingSet = HCIOpcode(rawValue: 0x203C)
    /// LE Clear Advertising Sets.
    public static let leClearAdvertisingSets = HCIOpcode(rawValue: 0x203D)
    /// LE Set Extended Scan Parameters.
    public static let leSetExtendedScanParameters = HCIOpcode(rawValue: 0x2041)
    /// LE Set Extended Scan Enable.
    public static let leSetExtendedScanEnable = HCIOpcode(rawValue: 0x2042)
    /// LE Extended Create Connection.
    public static let leExtendedCreateConnection = HCIOpcode(rawValue: 0x2043)
    /// LE Read Transmit Power.
    public static let leReadTransmitPower = HCIOpcode(rawValue: 0x204B)
    /// LE Set Privacy Mode.
    public static let leSetPrivacyMode = HCIOpcode(rawValue: 0x204E)
    /// LE Read Buffer Size [v2].
    public static let leReadBufferSizeV2 = HCIOpcode(rawValue: 0x2060)
    /// LE Set Host Feature.
    public static let leSetHostFeature = HCIOpcode(rawValue: 0x2074)
    /// LE Subrate Request.
    public static let leSubrateRequest = HCIOpcode(rawValue: 0x207E)
}

extension HCIOpcode: CustomStringConvertible {
    /// The name in the specification, or the value of an unnamed opcode.
    public var description: String {
        switch self {
        case .none: return "No Operation"
        case .disconnect: return "Disconnect"
        case .readRemoteVersionInformation: return "Read Remote Version Information"
        case .setEventMask: return "Set Event Mask"
        case .reset: return "Reset"
        case .readTransmitPowerLevel: return "Read Transmit Power Level"
        case .readLocalVersionInformation: return "Read Local Version Information"
        case .readLocalSupportedCommands: return "Read Local Supported Commands"
        case .readLocalSupportedFeatures: return "Read Local Supported Features"
        case .readBufferSize: return "Read Buffer Size"
        case .readBDADDR: return "Read BD_ADDR"
        case .readRSSI: return "Read RSSI"
        case .leSetEventMask: return "LE Set Event Mask"
        case .leReadBufferSize: return "LE Read Buffer Size"
        case .leReadLocalSupportedFeatures: return "LE Read Local Supported Features"
        case .leSetRandomAddress: return "LE Set Random Address"
        case .leSetAdvertisingParameters: return "LE Set Advertising Parameters"
        case .leReadAdvertisingPhysicalChannelTransmitPower: return "LE Read Advertising Physical Channel Tx Power"
        case .leSetAdvertisingData: return "LE Set Advertising Data"
        case .leSetScanResponseData: return "LE Set Scan Response Data"
        case .leSetAdvertisingEnable: return "LE Set Advertising Enable"
        case .leSetScanParameters: return "LE Set Scan Parameters"
        case .leSetScanEnable: return "LE Set Scan Enable"
        case .leCreateConnection: return "LE Create Connection"
        case .leCreateConnectionCancel: return "LE Create Connection Cancel"
        case .leReadFilterAcceptListSize: return "LE Read Filter Accept List Size"
        case .leClearFilterAcceptList: return "LE Clear Filter Accept List"
        case .leAddDeviceToFilterAcceptList: return "LE Add Device To Filter Accept List"
        case .leRemoveDeviceFromFilterAcceptList: return "LE Remove Device From Filter Accept List"
        case .leConnectionUpdate: return "LE Connection Update"
        case .leReadRemoteFeatures: return "LE Read Remote Features"
        case .leEncrypt: return "LE Encrypt"
        case .leRand: return "LE Rand"
        case .leEnableEncryption: return "LE Enable Encryption"
        case .leLongTermKeyRequestReply: return "LE Long Term Key Request Reply"
        case .leLongTermKeyRequestNegativeReply: return "LE Long Term Key Request Negative Reply"
        case .leReadSupportedStates: return "LE Read Supported States"
        case .leRemoteConnectionParameterRequestReply: return "LE Remote Connection Parameter Request Reply"
        case .leRemoteConnectionParameterRequestNegativeReply:
            return "LE Remote Connection Parameter Request Negative Reply"
        case .leSetDataLength: return "LE Set Data Length"
        case .leReadSuggestedDefaultDataLength: return "LE Read Suggested Default Data Length"
        case .leWriteSuggestedDefaultDataLength: return "LE Write Suggested Default Data Length"
        case .leAddDeviceToResolvingList: return "LE Add Device To Resolving List"
        case .leRemoveDeviceFromResolvingList: return "LE Remove Device From Resolving List"
        case .leClearResolvingList: return "LE Clear Resolving List"
        case .leReadResolvingListSize: return "LE Read Resolving List Size"
        case .leSetAddressResolutionEnable: return "LE Set Address Resolution Enable"
        case .leSetResolvablePrivateAddressTimeout: return "LE Set Resolvable Private Address Timeout"
        case .leReadMaximumDataLength: return "LE Read Maximum Data Length"
        case .leReadPHY: return "LE Read PHY"
        case .leSetDefaultPHY: return "LE Set Default PHY"
        case .leSetPHY: return "LE Set PHY"
        case .leSetAdvertisingSetRandomAddress: return "LE Set Advertising Set Random Address"
        case .leSetExtendedAdvertisingParameters: return "LE Set Extended Advertising Parameters"
        case .leSetExtendedAdvertisingData: return "LE Set Extended Advertising Data"
        case .leSetExtendedScanResponseData: return "LE Set Extended Scan Response Data"
        case .leSetExtendedAdvertisingEnable: return "LE Set Extended Advertising Enable"
        case .leReadMaximumAdvertisingDataLength: return "LE Read Maximum Advertising Data Length"
        case .leReadNumberOfSupportedAdvertisingSets: return "LE Read Number of Supported Advertising Sets"
        case .leRemoveAdvertisingSet: return "LE Remove Advertising Set"
        case .leClearAdvertisingSets: return "LE Clear Advertising Sets"
        case .leSetExtendedScanParameters: return "LE Set Extended Scan Parameters"
        case .leSetExtendedScanEnable: return "LE Set Extended Scan Enable"
        case .leExtendedCreateConnection: return "LE Extended Create Connection"
        case .leReadTransmitPower: return "LE Read Transmit Power"
        case .leSetPrivacyMode: return "LE Set Privacy Mode"
        case .leReadBufferSizeV2: return "LE Read Buffer Size [v2]"
        case .leSetHostFeature: return "LE Set Host Feature"
        case .leSubrateRequest: return "LE Subrate Request"
        default: return "command 0x\(hexadecimal(rawValue, digits: 4))"
        }
    }
}
