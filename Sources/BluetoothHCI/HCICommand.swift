import BluetoothPrimitives

/// An HCI command (Core Vol 4 Part E §5.4.1).
///
/// Encoded by a host and decoded by a simulated controller. A command without a case of its own is
/// ``unknown(_:parameters:)`` in both directions.
public enum HCICommand: Hashable, Sendable {
    /// Disconnect (Core Vol 4 Part E §7.1.6).
    case disconnect(ConnectionHandle, reason: HCIStatus)
    /// Set Event Mask (§7.3.1).
    case setEventMask(HCIEventMask)
    /// Reset (§7.3.2).
    case reset
    /// Read Transmit Power Level, the current or the maximum level of a connection (§7.3.35).
    case readTransmitPowerLevel(ConnectionHandle, maximum: Bool)
    /// Read Local Version Information (§7.4.1).
    case readLocalVersionInformation
    /// Read Local Supported Commands (§7.4.2).
    case readLocalSupportedCommands
    /// Read Local Supported Features, the LMP features, which include LE support (§7.4.3).
    case readLocalSupportedFeatures
    /// Read BD_ADDR, the public address (§7.4.6).
    case readBDADDR
    /// Read RSSI of a connection (§7.5.4).
    case readRSSI(ConnectionHandle)

    /// LE Set Event Mask (§7.8.1).
    case leSetEventMask(LEEventMask)
    /// LE Read Local Supported Features (§7.8.3).
    case leReadLocalSupportedFeatures
    /// LE Set Random Address for scanning, connecting and legacy advertising (§7.8.4).
    case leSetRandomAddress(BluetoothAddress)
    /// LE Set Advertising Parameters (§7.8.5).
    case leSetAdvertisingParameters(LEAdvertisingParameters)
    /// LE Set Advertising Data, at most 31 bytes (§7.8.7).
    case leSetAdvertisingData([UInt8])
    /// LE Set Scan Response Data, at most 31 bytes (§7.8.8).
    case leSetScanResponseData([UInt8])
    /// LE Set Advertising Enable (§7.8.9).
    case leSetAdvertisingEnable(Bool)
    /// LE Set Scan Parameters (§7.8.10).
    case leSetScanParameters(LEScanParameters)
    /// LE Set Scan Enable (§7.8.11).
    case leSetScanEnable(Bool, duplicates: LEDuplicateFilter)
    /// LE Create Connection (§7.8.12).
    case leCreateConnection(LECreateConnectionParameters)
    /// LE Create Connection Cancel (§7.8.13).
    case leCreateConnectionCancel
    /// LE Clear Filter Accept List (§7.8.15).
    case leClearFilterAcceptList
    /// LE Add Device To Filter Accept List (§7.8.16).
    case leAddDeviceToFilterAcceptList(LEFilterAcceptListEntry)
    /// LE Remove Device From Filter Accept List (§7.8.17).
    case leRemoveDeviceFromFilterAcceptList(LEFilterAcceptListEntry)
    /// LE Connection Update (§7.8.18).
    case leConnectionUpdate(ConnectionHandle, LEConnectionParameters, LEConnectionEventLength)
    /// LE Read Remote Features (§7.8.21).
    case leReadRemoteFeatures(ConnectionHandle)
    /// LE Set Data Length: `octets` 27 to 251, `time` 328 to 17040 µs (§7.8.33).
    case leSetDataLength(ConnectionHandle, octets: UInt16, time: UInt16)
    /// LE Read PHY (§7.8.47).
    case leReadPHY(ConnectionHandle)
    /// LE Set PHY (§7.8.49).
    case leSetPHY(ConnectionHandle, LEPHYPreference)

    /// LE Set Advertising Set Random Address (§7.8.52).
    case leSetAdvertisingSetRandomAddress(advertisingHandle: UInt8, BluetoothAddress)
    /// LE Set Extended Advertising Parameters, which creates or changes a set (§7.8.53).
    case leSetExtendedAdvertisingParameters(LEExtendedAdvertisingParameters)
    /// LE Set Extended Advertising Data (§7.8.54).
    case leSetExtendedAdvertisingData(LEExtendedAdvertisingData)
    /// LE Set Extended Scan Response Data (§7.8.55).
    case leSetExtendedScanResponseData(LEExtendedAdvertisingData)
    /// LE Set Extended Advertising Enable; disabling without sets disables all (§7.8.56).
    case leSetExtendedAdvertisingEnable(Bool, sets: [LEAdvertisingSetEnable])
    /// LE Read Maximum Advertising Data Length (§7.8.57).
    case leReadMaximumAdvertisingDataLength
    /// LE Read Number of Supported Advertising Sets (§7.8.58).
    case leReadNumberOfSupportedAdvertisingSets
    /// LE Remove Advertising Set (§7.8.59).
    case leRemoveAdvertisingSet(advertisingHandle: UInt8)
    /// LE Clear Advertising Sets (§7.8.60).
    case leClearAdvertisingSets
    /// LE Set Extended Scan Parameters (§7.8.64).
    case leSetExtendedScanParameters(LEExtendedScanParameters)
    /// LE Set Extended Scan Enable (§7.8.65).
    case leSetExtendedScanEnable(LEExtendedScanEnable)
    /// LE Extended Create Connection (§7.8.66).
    case leExtendedCreateConnection(LEExtendedCreateConnectionParameters)

    /// Another command, with at most 255 bytes of parameters.
    case unknown(HCIOpcode, parameters: [UInt8])

    /// The opcode of the command.
    public var opcode: HCIOpcode {
        switch self {
        case .disconnect: return .disconnect
        case .setEventMask: return .setEventMask
        case .reset: return .reset
        case .readTransmitPowerLevel: return .readTransmitPowerLevel
        case .readLocalVersionInformation: return .readLocalVersionInformation
        case .readLocalSupportedCommands: return .readLocalSupportedCommands
        case .readLocalSupportedFeatures: return .readLocalSupportedFeatures
        case .readBDADDR: return .readBDADDR
        case .readRSSI: return .readRSSI
        case .leSetEventMask: return .leSetEventMask
        case .leReadLocalSupportedFeatures: return .leReadLocalSupportedFeatures
        case .leSetRandomAddress: return .leSetRandomAddress
        case .leSetAdvertisingParameters: return .leSetAdvertisingParameters
        case .leSetAdvertisingData: return .leSetAdvertisingData
        case .leSetScanResponseData: return .leSetScanResponseData
        case .leSetAdvertisingEnable: return .leSetAdvertisingEnable
        case .leSetScanParameters: return .leSetScanParameters
        case .leSetScanEnable: return .leSetScanEnable
        case .leCreateConnection: return .leCreateConnection
        case .leCreateConnectionCancel: return .leCreateConnectionCancel
        case .leClearFilterAcceptList: return .leClearFilterAcceptList
        case .leAddDeviceToFilterAcceptList: return .leAddDeviceToFilterAcceptList
        case .leRemoveDeviceFromFilterAcceptList: return .leRemoveDeviceFromFilterAcceptList
        case .leConnectionUpdate: return .leConnectionUpdate
        case .leReadRemoteFeatures: return .leReadRemoteFeatures
        case .leSetDataLength: return .leSetDataLength
        case .leReadPHY: return .leReadPHY
        case .leSetPHY: return .leSetPHY
        case .leSetAdvertisingSetRandomAddress: return .leSetAdvertisingSetRandomAddress
        case .leSetExtendedAdvertisingParameters: return .leSetExtendedAdvertisingParameters
        case .leSetExtendedAdvertisingData: return .leSetExtendedAdvertisingData
        case .leSetExtendedScanResponseData: return .leSetExtendedScanResponseData
        case .leSetExtendedAdvertisingEnable: return .leSetExtendedAdvertisingEnable
        case .leReadMaximumAdvertisingDataLength: return .leReadMaximumAdvertisingDataLength
        case .leReadNumberOfSupportedAdvertisingSets: return .leReadNumberOfSupportedAdvertisingSets
        case .leRemoveAdvertisingSet: return .leRemoveAdvertisingSet
        case .leClearAdvertisingSets: return .leClearAdvertisingSets
        case .leSetExtendedScanParameters: return .leSetExtendedScanParameters
        case .leSetExtendedScanEnable: return .leSetExtendedScanEnable
        case .leExtendedCreateConnection: return .leExtendedCreateConnection
        case .unknown(let opcode, _): return opcode
        }
    }

    /// The command packet with its leading 0x01.
    ///
    /// - Throws: `BufferFull` when a list or data does not fit into the command.
    public func packet() throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: HCICommandPacket.maximumByteCount)
        try encode(into: &writer)
        return writer.bytes
    }

    /// Appends the command packet with its leading 0x01.
    ///
    /// - Throws: `BufferFull` when `writer` or the command has no room for it; `writer` is then unchanged.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.writePacket { (writer) throws(BufferFull) in
            try writer.write(HCIPacketType.command.rawValue)
            try writer.write(opcode.rawValue)
        } parameters: { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }
}

/// The opcode and parameters of a command packet (Core Vol 4 Part E §5.4.1).
public struct HCICommandPacket: ~Escapable {
    /// The maximum size of a command packet in bytes: type, opcode, length and 255 bytes of parameters.
    public static let maximumByteCount = 259

    /// The opcode.
    public let opcode: HCIOpcode
    /// The parameters, the bytes after the length.
    public let parameters: RawSpan

    /// Decodes a packet with its leading 0x01, ignoring bytes after its length.
    @_lifetime(copy packet)
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        var reader = ByteReader(packet)
        let type: HCIPacketType
        do throws(TruncatedBytes) {
            type = HCIPacketType(rawValue: try reader.readUInt8())
            opcode = HCIOpcode(rawValue: try reader.readUInt16())
            let count = Int(try reader.readUInt8())
            parameters = try reader.read(count)
        } catch {
            throw .truncated(error)
        }
        guard type == .command else { throw .unexpectedPacketType(type) }
    }
}
