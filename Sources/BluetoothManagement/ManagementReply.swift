import BluetoothPackets
import BluetoothPrimitives

/// The RSSI and the transmit power of a connection.
public struct ConnectionInformation: Hashable, Sendable {
    /// The connected device.
    public var address: ManagementAddress
    /// The RSSI in dBm, if known.
    public var rssi: Int8?
    /// This side's transmit power in dBm, if known.
    public var transmitPower: Int8?
    /// This side's maximum transmit power in dBm, if known.
    public var maximumTransmitPower: Int8?

    /// Creates the information from its values.
    public init(address: ManagementAddress, rssi: Int8?, transmitPower: Int8?, maximumTransmitPower: Int8?) {
        self.address = address
        self.rssi = rssi
        self.transmitPower = transmitPower
        self.maximumTransmitPower = maximumTransmitPower
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        address = try ManagementAddress(reading: &reader)
        rssi = unlessUnavailable(try reader.readInt8())
        transmitPower = unlessUnavailable(try reader.readInt8())
        maximumTransmitPower = unlessUnavailable(try reader.readInt8())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try address.write(to: &writer)
        for power in [rssi, transmitPower, maximumTransmitPower] { try writer.write(power ?? powerUnavailable) }
    }
}

/// The return parameters of Command Complete events, by command.
public enum ManagementReply: Hashable, Sendable {
    /// Only the status: of commands without return parameters, of those not named here, and of most that failed.
    case none
    /// Read Management Version Information.
    case version(UInt8, revision: UInt16)
    /// Read Management Supported Commands: all but itself and the version, which every kernel has.
    case supported(commands: [ManagementOpcode], events: [ManagementEventCode])
    /// Read Controller Index List, in the kernel's order: the newest adapter first.
    case controllerIndexes([UInt16])
    /// Read Controller Information.
    case controllerInformation(ControllerInformation)
    /// The adapter's current settings: of all commands that change a setting.
    case settings(ManagementSettings)
    /// Get Connections.
    case connections([ManagementAddress])
    /// Get Connection Information.
    case connectionInformation(ConnectionInformation)
    /// The device of the command: of disconnecting, pairing, adding and removing devices, even of those that failed.
    case device(ManagementAddress)
    /// Read Local Out Of Band Extended Data, as AD structures.
    case outOfBandData(ManagementAddressTypes, [UInt8])
    /// Start and Stop Discovery, Start Service Discovery.
    case discovery(ManagementAddressTypes)
    /// Read Advertising Features.
    case advertisingFeatures(AdvertisingFeatures)
    /// Read Default System Configuration.
    case systemConfiguration([SystemParameter])
    /// Get PHY Configuration.
    case phyConfiguration(PHYConfiguration)
    /// Add and Remove Advertising, Add Extended Advertising Data.
    case advertisingInstance(UInt8)
    /// Add Extended Advertising Parameters.
    case extendedAdvertisingParameters(ExtendedAdvertisingInstanceLimits)

    /// Decodes the reply to the command that the event names.
    ///
    /// Throws when a command succeeded and its reply is too short.
    public init(decoding event: ManagementCommandComplete) throws(TruncatedBytes) {
        var reader = ByteReader(event.returnParameters)
        // Commands about a device name it in failures as well, if they got that far.
        if event.status.isSuccess || (event.opcode.repliesWithDevice && !reader.isAtEnd) {
            try self.init(to: event.opcode, reading: &reader)
        } else {
            self = .none
        }
    }

    private init(to opcode: ManagementOpcode, reading reader: inout ByteReader) throws(TruncatedBytes) {
        switch opcode {
        case _ where opcode.repliesWithDevice: self = .device(try ManagementAddress(reading: &reader))
        case .readVersionInformation:
            let version = try reader.readUInt8()
            self = .version(version, revision: try reader.readUInt16())
        case .readSupportedCommands:
            let commandCount = try reader.readUInt16()
            let eventCount = try reader.readUInt16()
            var commands: [ManagementOpcode] = []
            for _ in 0..<commandCount { commands.append(ManagementOpcode(rawValue: try reader.readUInt16())) }
            var events: [ManagementEventCode] = []
            for _ in 0..<eventCount { events.append(ManagementEventCode(rawValue: try reader.readUInt16())) }
            self = .supported(commands: commands, events: events)
        case .readControllerIndexList:
            var indexes: [UInt16] = []
            for _ in 0..<(try reader.readUInt16()) { indexes.append(try reader.readUInt16()) }
            self = .controllerIndexes(indexes)
        case .readControllerInformation: self = .controllerInformation(try ControllerInformation(reading: &reader))
        case .setPowered, .setConnectable, .setBondable, .setLowEnergy, .setBREDR, .setSecureSimplePairing,
            .setSecureConnections, .setStaticAddress, .setPrivacy, .setAdvertising, .setDiscoverable,
            .setFastConnectable, .setLinkSecurity, .setHighSpeed, .setDebugKeys, .setWidebandSpeech:
            self = .settings(ManagementSettings(rawValue: try reader.readUInt32()))
        case .getConnections:
            var addresses: [ManagementAddress] = []
            for _ in 0..<(try reader.readUInt16()) { addresses.append(try ManagementAddress(reading: &reader)) }
            self = .connections(addresses)
        case .getConnectionInformation: self = .connectionInformation(try ConnectionInformation(reading: &reader))
        case .readLocalOutOfBandExtendedData:
            let types = ManagementAddressTypes(rawValue: try reader.readUInt8())
            let count = Int(try reader.readUInt16())
            self = .outOfBandData(types, [UInt8](try reader.read(count)))
        case .startDiscovery, .stopDiscovery, .startServiceDiscovery:
            self = .discovery(ManagementAddressTypes(rawValue: try reader.readUInt8()))
        case .readAdvertisingFeatures: self = .advertisingFeatures(try AdvertisingFeatures(reading: &reader))
        case .readDefaultSystemConfiguration:
            self = .systemConfiguration(try SystemParameter.list(reading: &reader))
        case .getPHYConfiguration: self = .phyConfiguration(try PHYConfiguration(reading: &reader))
        case .addAdvertising, .removeAdvertising, .addExtendedAdvertisingData:
            self = .advertisingInstance(try reader.readUInt8())
        case .addExtendedAdvertisingParameters:
            self = .extendedAdvertisingParameters(try ExtendedAdvertisingInstanceLimits(reading: &reader))
        default: self = .none
        }
    }

    /// Encodes the return parameters, without the status.
    public func encode(into writer: inout ByteWriter) throws(BufferFull) {
        switch self {
        case .none: break
        case .version(let version, let revision):
            try writer.write(version)
            try writer.write(revision)
        case .supported(let commands, let events):
            for count in [commands.count, events.count] {
                guard let count = UInt16(exactly: count) else {
                    throw BufferFull(needed: count, available: Int(UInt16.max))
                }
                try writer.write(count)
            }
            for command in commands { try writer.write(command.rawValue) }
            for event in events { try writer.write(event.rawValue) }
        case .controllerIndexes(let indexes):
            try writer.writeList(indexes) { (index, writer) throws(BufferFull) in try writer.write(index) }
        case .controllerInformation(let information): try information.write(to: &writer)
        case .settings(let settings): try writer.write(settings.rawValue)
        case .connections(let addresses):
            try writer.writeList(addresses) { (address, writer) throws(BufferFull) in try address.write(to: &writer) }
        case .connectionInformation(let information): try information.write(to: &writer)
        case .device(let address): try address.write(to: &writer)
        case .outOfBandData(let types, let structures):
            try writer.write(types.rawValue)
            guard let count = UInt16(exactly: structures.count) else {
                throw BufferFull(needed: structures.count, available: Int(UInt16.max))
            }
            try writer.write(count)
            try writer.write(structures)
        case .discovery(let types): try writer.write(types.rawValue)
        case .advertisingFeatures(let features): try features.write(to: &writer)
        case .systemConfiguration(let list): for parameter in list { try parameter.write(to: &writer) }
        case .phyConfiguration(let configuration): try configuration.write(to: &writer)
        case .advertisingInstance(let instance): try writer.write(instance)
        case .extendedAdvertisingParameters(let limits): try limits.write(to: &writer)
        }
    }

    /// The Command Complete event with this reply, as a packet about the adapter hci`index` or about none.
    ///
    /// Throws ``BufferFull`` when a list takes more than 65535 bytes.
    public func commandComplete(
        _ opcode: ManagementOpcode, status: ManagementStatus = .success, index: UInt16 = ManagementPacket.noController
    ) throws(BufferFull) -> [UInt8] {
        var answer = ByteWriter(capacity: 0)
        answer.capacity = Int(UInt16.max)
        try encode(into: &answer)
        return try ManagementCommandComplete(
            opcode: opcode, status: status, returnParameters: answer.bytes.span.bytes
        ).packet(for: index)
    }
}

extension ManagementOpcode {
    /// Whether the reply is the device of the command.
    fileprivate var repliesWithDevice: Bool {
        switch self {
        case .disconnect, .pairDevice, .cancelPairDevice, .unpairDevice, .userConfirmationReply,
            .userConfirmationNegativeReply, .userPasskeyReply, .userPasskeyNegativeReply, .addDevice, .removeDevice,
            .addRemoteOutOfBandData, .removeRemoteOutOfBandData:
            return true
        default: return false
        }
    }
}

extension ManagementReply: CustomStringConvertible {
    /// The answer in words.
    public var description: String {
        switch self {
        case .none: return "no answer"
        case .version(let version, let revision): return "version \(version).\(revision)"
        case .supported(let commands, let events): return "\(commands.count) commands, \(events.count) events"
        case .controllerIndexes(let indexes): return "adapters \(indexes)"
        case .controllerInformation(let information): return "\(information)"
        case .settings(let settings): return "\(settings)"
        case .connections(let addresses): return "connections \(addresses)"
        case .connectionInformation(let information):
            return "\(information.address), RSSI \(power(information.rssi)), "
                + "transmit power \(power(information.transmitPower)), "
                + "at most \(power(information.maximumTransmitPower))"
        case .device(let address): return "\(address)"
        // The values are secret.
        case .outOfBandData(let types, _): return "\(types)"
        case .discovery(let types): return "\(types)"
        case .advertisingFeatures(let features):
            return "\(features.supportedFlags), data \(features.maximumAdvertisingDataLength), "
                + "scan response \(features.maximumScanResponseLength), "
                + "instances \(features.instances) of \(features.maximumInstances)"
        case .systemConfiguration(let list): return list.map(\.description).joined(separator: ", ")
        case .phyConfiguration(let configuration): return "\(configuration)"
        case .advertisingInstance(let instance): return "instance \(instance)"
        case .extendedAdvertisingParameters(let limits):
            return "instance \(limits.instance), transmit power \(limits.transmitPower) dBm, "
                + "data \(limits.maximumAdvertisingDataLength), scan response \(limits.maximumScanResponseLength)"
        }
    }

    private func power(_ value: Int8?) -> String { value.map { "\($0) dBm" } ?? "unknown" }
}
