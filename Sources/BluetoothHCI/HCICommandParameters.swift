import BluetoothPrimitives

extension HCICommand {
    /// Decodes a packet with its leading 0x01.
    ///
    /// A command without a case of its own is ``unknown(_:parameters:)``. Reserved values are preserved where the type
    /// can represent them, so that a command which encodes to other bytes had invalid values. Additional parameters are
    /// ignored.
    ///
    /// - Throws: ``HCIDecodingError`` when a known command has too few parameters.
    public init(decoding packet: RawSpan) throws(HCIDecodingError) {
        let packet = try HCICommandPacket(decoding: packet)
        do throws(TruncatedBytes) {
            self = try HCICommand(opcode: packet.opcode, parameters: packet.parameters)
        } catch {
            throw .truncated(error)
        }
    }

    private init(opcode: HCIOpcode, parameters: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(parameters)
        switch opcode {
        case .disconnect: self = .disconnect(try reader.readConnectionHandle(), reason: try reader.readStatus())
        case .setEventMask: self = .setEventMask(HCIEventMask(rawValue: try reader.readUInt64()))
        case .reset: self = .reset
        case .readTransmitPowerLevel:
            let handle = try reader.readConnectionHandle()
            self = .readTransmitPowerLevel(handle, maximum: try reader.readBool())
        case .readLocalVersionInformation: self = .readLocalVersionInformation
        case .readLocalSupportedCommands: self = .readLocalSupportedCommands
        case .readLocalSupportedFeatures: self = .readLocalSupportedFeatures
        case .readBDADDR: self = .readBDADDR
        case .readRSSI: self = .readRSSI(try reader.readConnectionHandle())
        case .leSetEventMask: self = .leSetEventMask(LEEventMask(rawValue: try reader.readUInt64()))
        case .leReadLocalSupportedFeatures: self = .leReadLocalSupportedFeatures
        case .leSetRandomAddress: self = .leSetRandomAddress(try reader.readAddress(.random))
        case .leSetAdvertisingParameters:
            self = .leSetAdvertisingParameters(try LEAdvertisingParameters(reading: &reader))
        case .leSetAdvertisingData: self = .leSetAdvertisingData(try LELegacyAdvertisingData.read(from: &reader))
        case .leSetScanResponseData: self = .leSetScanResponseData(try LELegacyAdvertisingData.read(from: &reader))
        case .leSetAdvertisingEnable: self = .leSetAdvertisingEnable(try reader.readBool())
        case .leSetScanParameters: self = .leSetScanParameters(try LEScanParameters(reading: &reader))
        case .leSetScanEnable:
            let isEnabled = try reader.readBool()
            self = .leSetScanEnable(isEnabled, duplicates: LEDuplicateFilter(rawValue: try reader.readUInt8()))
        case .leCreateConnection: self = .leCreateConnection(try LECreateConnectionParameters(reading: &reader))
        case .leCreateConnectionCancel: self = .leCreateConnectionCancel
        case .leClearFilterAcceptList: self = .leClearFilterAcceptList
        case .leAddDeviceToFilterAcceptList:
            self = .leAddDeviceToFilterAcceptList(try LEFilterAcceptListEntry(reading: &reader))
        case .leRemoveDeviceFromFilterAcceptList:
            self = .leRemoveDeviceFromFilterAcceptList(try LEFilterAcceptListEntry(reading: &reader))
        case .leConnectionUpdate:
            let handle = try reader.readConnectionHandle()
            let parameters = try LEConnectionParameters(reading: &reader)
            self = .leConnectionUpdate(handle, parameters, try LEConnectionEventLength(reading: &reader))
        case .leReadRemoteFeatures: self = .leReadRemoteFeatures(try reader.readConnectionHandle())
        case .leSetDataLength:
            let handle = try reader.readConnectionHandle()
            let octets = try reader.readUInt16()
            self = .leSetDataLength(handle, octets: octets, time: try reader.readUInt16())
        case .leReadPHY: self = .leReadPHY(try reader.readConnectionHandle())
        case .leSetPHY:
            self = .leSetPHY(try reader.readConnectionHandle(), try LEPHYPreference(reading: &reader))
        default:
            self =
                try HCICommand(extended: opcode, reading: &reader) ?? .unknown(opcode, parameters: [UInt8](parameters))
        }
    }

    /// Decodes the commands of extended advertising, scanning and connecting; nil for others.
    private init?(extended opcode: HCIOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case .leSetAdvertisingSetRandomAddress:
            self = .leSetAdvertisingSetRandomAddress(
                advertisingHandle: try reader.readUInt8(), try reader.readAddress(.random))
        case .leSetExtendedAdvertisingParameters:
            self = .leSetExtendedAdvertisingParameters(try LEExtendedAdvertisingParameters(reading: &reader))
        case .leSetExtendedAdvertisingData:
            self = .leSetExtendedAdvertisingData(try LEExtendedAdvertisingData(reading: &reader))
        case .leSetExtendedScanResponseData:
            self = .leSetExtendedScanResponseData(try LEExtendedAdvertisingData(reading: &reader))
        case .leSetExtendedAdvertisingEnable:
            let isEnabled = try reader.readBool()
            var sets: [LEAdvertisingSetEnable] = []
            for _ in 0..<(try reader.readUInt8()) { sets.append(try LEAdvertisingSetEnable(reading: &reader)) }
            self = .leSetExtendedAdvertisingEnable(isEnabled, sets: sets)
        case .leReadMaximumAdvertisingDataLength: self = .leReadMaximumAdvertisingDataLength
        case .leReadNumberOfSupportedAdvertisingSets: self = .leReadNumberOfSupportedAdvertisingSets
        case .leRemoveAdvertisingSet: self = .leRemoveAdvertisingSet(advertisingHandle: try reader.readUInt8())
        case .leClearAdvertisingSets: self = .leClearAdvertisingSets
        case .leSetExtendedScanParameters:
            self = .leSetExtendedScanParameters(try LEExtendedScanParameters(reading: &reader))
        case .leSetExtendedScanEnable: self = .leSetExtendedScanEnable(try LEExtendedScanEnable(reading: &reader))
        case .leExtendedCreateConnection:
            self = .leExtendedCreateConnection(try LEExtendedCreateConnectionParameters(reading: &reader))
        default: return nil
        }
    }

    func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .reset, .readLocalVersionInformation, .readLocalSupportedCommands, .readLocalSupportedFeatures,
            .readBDADDR, .leReadLocalSupportedFeatures, .leCreateConnectionCancel, .leClearFilterAcceptList,
            .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets, .leClearAdvertisingSets:
            break
        case .disconnect(let handle, let reason):
            try writer.write(handle)
            try writer.write(reason)
        case .setEventMask(let mask): try writer.write(mask.rawValue)
        case .readTransmitPowerLevel(let handle, let maximum):
            try writer.write(handle)
            try writer.write(maximum)
        case .readRSSI(let handle), .leReadRemoteFeatures(let handle), .leReadPHY(let handle): try writer.write(handle)
        case .leSetEventMask(let mask): try writer.write(mask.rawValue)
        case .leSetRandomAddress(let address): try writer.write(address)
        case .leSetAdvertisingParameters(let parameters): try parameters.write(to: &writer)
        case .leSetAdvertisingData(let data), .leSetScanResponseData(let data):
            try LELegacyAdvertisingData.write(data, to: &writer)
        case .leSetAdvertisingEnable(let isEnabled): try writer.write(isEnabled)
        case .leSetScanParameters(let parameters): try parameters.write(to: &writer)
        case .leSetScanEnable(let isEnabled, let duplicates):
            try writer.write(isEnabled)
            try writer.write(duplicates.rawValue)
        case .leCreateConnection(let parameters): try parameters.write(to: &writer)
        case .leAddDeviceToFilterAcceptList(let entry), .leRemoveDeviceFromFilterAcceptList(let entry):
            try entry.write(to: &writer)
        case .leConnectionUpdate(let handle, let parameters, let eventLength):
            try writer.write(handle)
            try parameters.write(to: &writer)
            try eventLength.write(to: &writer)
        case .leSetDataLength(let handle, let octets, let time):
            try writer.write(handle)
            try writer.write(octets)
            try writer.write(time)
        case .leSetPHY(let handle, let preference):
            try writer.write(handle)
            try preference.write(to: &writer)
        case .leSetAdvertisingSetRandomAddress(let advertisingHandle, let address):
            try writer.write(advertisingHandle)
            try writer.write(address)
        case .leSetExtendedAdvertisingParameters(let parameters): try parameters.write(to: &writer)
        case .leSetExtendedAdvertisingData(let data), .leSetExtendedScanResponseData(let data):
            try data.write(to: &writer)
        case .leSetExtendedAdvertisingEnable(let isEnabled, let sets):
            // The maximum of a command is 63 sets.
            guard let count = UInt8(exactly: sets.count) else {
                throw BufferFull(needed: 2 + 4 * sets.count, available: 255)
            }
            try writer.write(isEnabled)
            try writer.write(count)
            for set in sets { try set.write(to: &writer) }
        case .leRemoveAdvertisingSet(let advertisingHandle): try writer.write(advertisingHandle)
        case .leSetExtendedScanParameters(let parameters): try parameters.write(to: &writer)
        case .leSetExtendedScanEnable(let enable): try enable.write(to: &writer)
        case .leExtendedCreateConnection(let parameters): try parameters.write(to: &writer)
        case .unknown(_, let parameters): try writer.write(parameters)
        }
    }
}
