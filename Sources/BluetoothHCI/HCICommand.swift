import BluetoothPrimitives

/// A request of the host to its controller (Core Vol 4 Part E §5.4.1).
///
/// Encodes for whoever sends it and decodes for a simulated controller. A command that this type does not name is
/// ``unknown(_:parameters:)`` in both directions.
public enum HCICommand: Hashable, Sendable {
    /// Ends a connection (Core Vol 4 Part E §7.1.6).
    case disconnect(ConnectionHandle, reason: HCIStatus)
    /// Chooses the events to be sent (§7.3.1).
    case setEventMask(HCIEventMask)
    /// Sets the controller back to its initial state (§7.3.2).
    case reset
    /// Asks for the power a connection's packets are sent with: now, or at most (§7.3.35).
    case readTransmitPowerLevel(ConnectionHandle, maximum: Bool)
    /// Asks for versions and manufacturer (§7.4.1).
    case readLocalVersionInformation
    /// Asks for the commands the controller has (§7.4.2).
    case readLocalSupportedCommands
    /// Asks for the features of the BR/EDR link manager, which include whether LE is there (§7.4.3).
    case readLocalSupportedFeatures
    /// Asks for the public address (§7.4.6).
    case readBDADDR
    /// Asks for the signal strength of a connection (§7.5.4).
    case readRSSI(ConnectionHandle)

    /// Chooses the LE events to be sent (§7.8.1).
    case leSetEventMask(LEEventMask)
    /// Asks for the features of the LE link layer (§7.8.3).
    case leReadLocalSupportedFeatures
    /// Sets the random address for scanning, connecting and legacy advertising (§7.8.4).
    case leSetRandomAddress(BluetoothAddress)
    /// Says how to advertise (§7.8.5).
    case leSetAdvertisingParameters(LEAdvertisingParameters)
    /// Says what to advertise, at most 31 bytes (§7.8.7).
    case leSetAdvertisingData([UInt8])
    /// Says what to answer scanners, at most 31 bytes (§7.8.8).
    case leSetScanResponseData([UInt8])
    /// Switches legacy advertising on or off (§7.8.9).
    case leSetAdvertisingEnable(Bool)
    /// Says how to scan (§7.8.10).
    case leSetScanParameters(LEScanParameters)
    /// Switches legacy scanning on or off (§7.8.11).
    case leSetScanEnable(Bool, duplicates: LEDuplicateFilter)
    /// Connects (§7.8.12).
    case leCreateConnection(LECreateConnectionParameters)
    /// Gives up connecting (§7.8.13).
    case leCreateConnectionCancel
    /// Empties the filter accept list (§7.8.15).
    case leClearFilterAcceptList
    /// Adds to the filter accept list (§7.8.16).
    case leAddDeviceToFilterAcceptList(LEFilterAcceptListEntry)
    /// Removes from the filter accept list (§7.8.17).
    case leRemoveDeviceFromFilterAcceptList(LEFilterAcceptListEntry)
    /// Changes the parameters of a connection (§7.8.18).
    case leConnectionUpdate(ConnectionHandle, LEConnectionParameters, LEConnectionEventLength)
    /// Asks a peer for its features (§7.8.21).
    case leReadRemoteFeatures(ConnectionHandle)
    /// Suggests how much to send in one packet: `octets` 27 to 251, `time` in microseconds 328 to 17040 (§7.8.33).
    case leSetDataLength(ConnectionHandle, octets: UInt16, time: UInt16)
    /// Asks which PHYs a connection uses (§7.8.47).
    case leReadPHY(ConnectionHandle)
    /// Asks for other PHYs on a connection (§7.8.49).
    case leSetPHY(ConnectionHandle, LEPHYPreference)

    /// Sets the random address of an advertising set (§7.8.52).
    case leSetAdvertisingSetRandomAddress(advertisingHandle: UInt8, BluetoothAddress)
    /// Makes or changes an advertising set (§7.8.53).
    case leSetExtendedAdvertisingParameters(LEExtendedAdvertisingParameters)
    /// Says what an advertising set sends (§7.8.54).
    case leSetExtendedAdvertisingData(LEExtendedAdvertisingData)
    /// Says what an advertising set answers scanners (§7.8.55).
    case leSetExtendedScanResponseData(LEExtendedAdvertisingData)
    /// Switches advertising sets on or off; off without sets is off for all (§7.8.56).
    case leSetExtendedAdvertisingEnable(Bool, sets: [LEAdvertisingSetEnable])
    /// Asks how much an advertising set can hold (§7.8.57).
    case leReadMaximumAdvertisingDataLength
    /// Asks how many advertising sets there can be (§7.8.58).
    case leReadNumberOfSupportedAdvertisingSets
    /// Removes one advertising set (§7.8.59).
    case leRemoveAdvertisingSet(advertisingHandle: UInt8)
    /// Removes all advertising sets (§7.8.60).
    case leClearAdvertisingSets
    /// Says how to scan (§7.8.64).
    case leSetExtendedScanParameters(LEExtendedScanParameters)
    /// Switches extended scanning on or off (§7.8.65).
    case leSetExtendedScanEnable(LEExtendedScanEnable)
    /// Connects, on the PHYs chosen (§7.8.66).
    case leExtendedCreateConnection(LEExtendedCreateConnectionParameters)

    /// A command this type does not name, with at most 255 bytes of parameters.
    case unknown(HCIOpcode, parameters: [UInt8])

    /// The command's code.
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

    /// The command as a packet with its leading 0x01.
    ///
    /// Throws ``BufferFull`` when a list or data does not fit into the command.
    public func packet() throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: HCICommandPacket.maximumByteCount)
        try encode(into: &writer)
        return writer.bytes
    }

    /// Appends the command as a packet with its leading 0x01.
    ///
    /// Throws ``BufferFull`` when `writer` or the command has no room for it, and leaves `writer` as it was.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.writePacket { (writer) throws(BufferFull) in
            try writer.write(HCIPacketType.command.rawValue)
            try writer.write(opcode.rawValue)
        } parameters: { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }
}

/// The parts of a command packet: what is known of any command, named or not (Core Vol 4 Part E §5.4.1).
public struct HCICommandPacket: ~Escapable {
    /// The most bytes a command packet takes: type, opcode, length and 255 bytes of parameters.
    public static let maximumByteCount = 259

    /// Which command it is.
    public let opcode: HCIOpcode
    /// The bytes after the length.
    public let parameters: RawSpan

    /// Takes apart a packet with its leading 0x01; bytes after the length it gives are ignored.
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
