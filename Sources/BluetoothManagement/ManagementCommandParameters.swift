import BluetoothPackets
import BluetoothPrimitives

extension ManagementCommand {
    /// Decodes the command of a packet.
    ///
    /// A command that this type does not name is ``unknown(_:parameters:)``. Throws when a named one has too few
    /// parameters. Excess parameters are ignored, and undefined values are kept where the type can hold them, so that a
    /// command which does not encode to the bytes it came from is one the kernel refuses with Invalid Parameters.
    public init(decoding packet: ManagementPacket) throws(TruncatedBytes) {
        let opcode = ManagementOpcode(rawValue: packet.code)
        var reader = ByteReader(packet.parameters)
        if let command = try ManagementCommand(setting: opcode, reading: &reader) {
            self = command
        } else if let command = try ManagementCommand(device: opcode, reading: &reader) {
            self = command
        } else if let command = try ManagementCommand(advertising: opcode, reading: &reader) {
            self = command
        } else {
            self = .unknown(opcode, parameters: [UInt8](packet.parameters))
        }
    }

    /// Decodes the commands about the interface, the adapter and its settings; nil for any other.
    private init?(setting opcode: ManagementOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case .readVersionInformation: self = .readVersionInformation
        case .readSupportedCommands: self = .readSupportedCommands
        case .readControllerIndexList: self = .readControllerIndexList
        case .readControllerInformation: self = .readControllerInformation
        case .setPowered: self = .setPowered(try reader.readBool())
        case .setConnectable: self = .setConnectable(try reader.readBool())
        case .setBondable: self = .setBondable(try reader.readBool())
        case .setLowEnergy: self = .setLowEnergy(try reader.readBool())
        case .setBREDR: self = .setBREDR(try reader.readBool())
        case .setSecureSimplePairing: self = .setSecureSimplePairing(try reader.readBool())
        case .setSecureConnections:
            self = .setSecureConnections(SecureConnectionsMode(rawValue: try reader.readUInt8()))
        case .setStaticAddress: self = .setStaticAddress(try reader.readAddress(.random))
        case .setPrivacy:
            self = .setPrivacy(PrivacyMode(rawValue: try reader.readUInt8()), try SecurityKey(reading: &reader))
        case .setIOCapability: self = .setIOCapability(IOCapability(rawValue: try reader.readUInt8()))
        case .setAppearance: self = .setAppearance(try reader.readUInt16())
        case .readDefaultSystemConfiguration: self = .readDefaultSystemConfiguration
        case .setDefaultSystemConfiguration:
            self = .setDefaultSystemConfiguration(try SystemParameter.list(reading: &reader))
        case .getPHYConfiguration: self = .getPHYConfiguration
        case .setPHYConfiguration: self = .setPHYConfiguration(ManagementPHYs(rawValue: try reader.readUInt32()))
        default: return nil
        }
    }

    /// Decodes the commands about other devices; nil for any other.
    private init?(device opcode: ManagementOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case .disconnect: self = .disconnect(try ManagementAddress(reading: &reader))
        case .getConnections: self = .getConnections
        case .getConnectionInformation: self = .getConnectionInformation(try ManagementAddress(reading: &reader))
        case .addDevice:
            let address = try ManagementAddress(reading: &reader)
            self = .addDevice(address, AddDeviceAction(rawValue: try reader.readUInt8()))
        case .removeDevice: self = .removeDevice(try ManagementAddress(reading: &reader))
        case .loadConnectionParameters:
            var list: [DeviceConnectionParameters] = []
            for _ in 0..<(try reader.readUInt16()) { list.append(try DeviceConnectionParameters(reading: &reader)) }
            self = .loadConnectionParameters(list)
        case .pairDevice:
            let address = try ManagementAddress(reading: &reader)
            self = .pairDevice(address, IOCapability(rawValue: try reader.readUInt8()))
        case .cancelPairDevice: self = .cancelPairDevice(try ManagementAddress(reading: &reader))
        case .unpairDevice:
            let address = try ManagementAddress(reading: &reader)
            self = .unpairDevice(address, disconnect: try reader.readBool())
        case .userConfirmationReply: self = .userConfirmationReply(try ManagementAddress(reading: &reader))
        case .userConfirmationNegativeReply:
            self = .userConfirmationNegativeReply(try ManagementAddress(reading: &reader))
        case .userPasskeyReply:
            let address = try ManagementAddress(reading: &reader)
            self = .userPasskeyReply(address, passkey: try reader.readUInt32())
        case .userPasskeyNegativeReply: self = .userPasskeyNegativeReply(try ManagementAddress(reading: &reader))
        case .loadLongTermKeys:
            var keys: [LongTermKey] = []
            for _ in 0..<(try reader.readUInt16()) { keys.append(try LongTermKey(reading: &reader)) }
            self = .loadLongTermKeys(keys)
        case .loadIdentityResolvingKeys:
            var keys: [IdentityResolvingKey] = []
            for _ in 0..<(try reader.readUInt16()) { keys.append(try IdentityResolvingKey(reading: &reader)) }
            self = .loadIdentityResolvingKeys(keys)
        case .readLocalOutOfBandExtendedData:
            self = .readLocalOutOfBandExtendedData(ManagementAddressTypes(rawValue: try reader.readUInt8()))
        case .addRemoteOutOfBandData:
            guard let command = try Self.addRemoteOutOfBandData(reading: &reader) else { return nil }
            self = command
        case .removeRemoteOutOfBandData:
            self = .removeRemoteOutOfBandData(try ManagementAddress(reading: &reader))
        default: return nil
        }
    }

    /// Nil with values for P-192, which are of BR/EDR or of legacy pairing.
    private static func addRemoteOutOfBandData(
        reading reader: inout ByteReader
    ) throws(TruncatedBytes) -> ManagementCommand? {
        let address = try ManagementAddress(reading: &reader)
        let older = (try SecurityKey(reading: &reader), try SecurityKey(reading: &reader))
        guard older == (.zero, .zero), !reader.isAtEnd else { return nil }
        return .addRemoteOutOfBandData(
            address, confirmation: try SecurityKey(reading: &reader), random: try SecurityKey(reading: &reader))
    }

    /// Decodes the commands of discovery and advertising; nil for any other.
    private init?(advertising opcode: ManagementOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case .startDiscovery: self = .startDiscovery(ManagementAddressTypes(rawValue: try reader.readUInt8()))
        case .stopDiscovery: self = .stopDiscovery(ManagementAddressTypes(rawValue: try reader.readUInt8()))
        case .startServiceDiscovery:
            let types = ManagementAddressTypes(rawValue: try reader.readUInt8())
            let threshold = unlessUnavailable(try reader.readInt8())
            var services: [BluetoothUUID] = []
            for _ in 0..<(try reader.readUInt16()) { services.append(try reader.readUUID(.bits128)) }
            self = .startServiceDiscovery(types, rssiThreshold: threshold, services: services)
        case .setAdvertising: self = .setAdvertising(AdvertisingMode(rawValue: try reader.readUInt8()))
        case .readAdvertisingFeatures: self = .readAdvertisingFeatures
        case .addAdvertising: self = .addAdvertising(try AdvertisingInstance(reading: &reader))
        case .removeAdvertising: self = .removeAdvertising(try reader.readUInt8())
        case .addExtendedAdvertisingParameters:
            self = .addExtendedAdvertisingParameters(try ExtendedAdvertisingInstanceParameters(reading: &reader))
        case .addExtendedAdvertisingData:
            self = .addExtendedAdvertisingData(try ExtendedAdvertisingInstanceData(reading: &reader))
        default: return nil
        }
    }

    func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .readVersionInformation, .readSupportedCommands, .readControllerIndexList, .readControllerInformation,
            .getConnections, .readAdvertisingFeatures, .readDefaultSystemConfiguration, .getPHYConfiguration:
            break
        case .setDefaultSystemConfiguration(let list):
            for parameter in list { try parameter.write(to: &writer) }
        case .setPHYConfiguration(let phys): try writer.write(phys.rawValue)
        case .setPowered(let isOn), .setConnectable(let isOn), .setBondable(let isOn), .setLowEnergy(let isOn),
            .setBREDR(let isOn), .setSecureSimplePairing(let isOn):
            try writer.write(isOn)
        case .setSecureConnections(let mode): try writer.write(mode.rawValue)
        case .setStaticAddress(let address): try writer.write(address)
        case .setPrivacy(let mode, let key):
            try writer.write(mode.rawValue)
            try key.write(to: &writer)
        case .setIOCapability(let capability): try writer.write(capability.rawValue)
        case .setAppearance(let appearance): try writer.write(appearance)
        case .disconnect(let address), .getConnectionInformation(let address), .removeDevice(let address),
            .cancelPairDevice(let address), .userConfirmationReply(let address),
            .userConfirmationNegativeReply(let address), .userPasskeyNegativeReply(let address),
            .removeRemoteOutOfBandData(let address):
            try address.write(to: &writer)
        case .addDevice(let address, let action):
            try address.write(to: &writer)
            try writer.write(action.rawValue)
        case .loadConnectionParameters(let list):
            try writer.writeList(list) { (element, writer) throws(BufferFull) in try element.write(to: &writer) }
        case .pairDevice(let address, let capability):
            try address.write(to: &writer)
            try writer.write(capability.rawValue)
        case .unpairDevice(let address, let disconnect):
            try address.write(to: &writer)
            try writer.write(disconnect)
        case .userPasskeyReply(let address, let passkey):
            try address.write(to: &writer)
            try writer.write(passkey)
        case .loadLongTermKeys(let keys):
            try writer.writeList(keys) { (key, writer) throws(BufferFull) in try key.write(to: &writer) }
        case .loadIdentityResolvingKeys(let keys):
            try writer.writeList(keys) { (key, writer) throws(BufferFull) in try key.write(to: &writer) }
        case .readLocalOutOfBandExtendedData(let types): try writer.write(types.rawValue)
        case .addRemoteOutOfBandData(let address, let confirmation, let random):
            try address.write(to: &writer)
            for value in [SecurityKey.zero, .zero, confirmation, random] { try value.write(to: &writer) }
        case .startDiscovery(let types), .stopDiscovery(let types): try writer.write(types.rawValue)
        case .startServiceDiscovery(let types, let threshold, let services):
            try writer.write(types.rawValue)
            try writer.write(threshold ?? powerUnavailable)
            try writer.writeList(services) { (uuid, writer) throws(BufferFull) in
                try writer.write(uuid, width: .bits128)
            }
        case .setAdvertising(let mode): try writer.write(mode.rawValue)
        case .addAdvertising(let instance): try instance.write(to: &writer)
        case .removeAdvertising(let instance): try writer.write(instance)
        case .addExtendedAdvertisingParameters(let parameters): try parameters.write(to: &writer)
        case .addExtendedAdvertisingData(let data): try data.write(to: &writer)
        case .unknown(_, let parameters): try writer.write(parameters)
        }
    }
}

/// The value for an unknown transmit power or RSSI.
let powerUnavailable: Int8 = 127

/// The value, or nil for the one that means "not available".
func unlessUnavailable(_ power: Int8) -> Int8? {
    power == powerUnavailable ? nil : power
}
