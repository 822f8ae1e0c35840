import BluetoothPackets
import BluetoothPrimitives

/// A command to the kernel's management socket.
///
/// It encodes for the sender and decodes for a simulated kernel. A command that this type does not name is
/// ``unknown(_:parameters:)`` in both directions. Most commands need CAP_NET_ADMIN.
public enum ManagementCommand: Hashable, Sendable {
    // Commands without an adapter.

    /// Reads the version of the interface. Needs no privilege.
    case readVersionInformation
    /// Reads the supported commands and events. Needs no privilege.
    case readSupportedCommands
    /// Reads the list of adapters. Needs no privilege.
    case readControllerIndexList

    // Commands about an adapter.

    /// Reads addresses, settings and names. Needs no privilege.
    case readControllerInformation
    /// Powers the adapter on or off.
    case setPowered(Bool)
    /// Allows or refuses incoming connections.
    case setConnectable(Bool)
    /// Makes pairing store and report its keys, or not.
    case setBondable(Bool)
    /// Switches LE on or off, whether the adapter is on or not.
    case setLowEnergy(Bool)
    /// Switches BR/EDR on or off; off is rejected while the adapter is on.
    case setBREDR(Bool)
    /// Switches Secure Simple Pairing on or off.
    case setSecureSimplePairing(Bool)
    /// Switches Secure Connections; a dual-mode adapter needs Secure Simple Pairing for it.
    case setSecureConnections(SecureConnectionsMode)
    /// Sets the static random address; zero removes it. Rejected while the adapter is on.
    case setStaticAddress(BluetoothAddress)
    /// Makes the adapter use private addresses generated with the key, or not. Rejected while the adapter is on.
    case setPrivacy(PrivacyMode, SecurityKey)
    /// Sets the input and output capabilities of this side for pairing.
    case setIOCapability(IOCapability)
    /// Sets the appearance that instances can add to their data.
    case setAppearance(UInt16)

    /// Ends the connection with a device.
    case disconnect(ManagementAddress)
    /// Reads the connected devices.
    case getConnections
    /// Reads RSSI and transmit power of a connection.
    case getConnectionInformation(ManagementAddress)
    /// Connects to a device automatically when it advertises, or reports it, until it is removed.
    case addDevice(ManagementAddress, AddDeviceAction)
    /// Reverts Add Device; ``ManagementAddress/any`` for all devices.
    case removeDevice(ManagementAddress)
    /// Replaces the kernel's connection parameters of devices.
    case loadConnectionParameters([DeviceConnectionParameters])

    /// Reads the parameters that the kernel uses where a program leaves them unset.
    case readDefaultSystemConfiguration
    /// Changes some of them, until the adapter is removed. The kernel ignores those that it does not know, and checks no
    /// ranges.
    case setDefaultSystemConfiguration([SystemParameter])
    /// Reads the PHYs of the adapter, and those that the kernel uses.
    case getPHYConfiguration
    /// Selects the PHYs with which the kernel scans and connects, and which it prefers for links. Rejected while the adapter
    /// is off, unless nothing changes.
    case setPHYConfiguration(ManagementPHYs)

    /// Pairs with a device, connecting to it first if needed.
    case pairDevice(ManagementAddress, IOCapability)
    /// Cancels pairing with a device.
    case cancelPairDevice(ManagementAddress)
    /// Removes a device's keys and, if `disconnect`, ends its connection.
    case unpairDevice(ManagementAddress, disconnect: Bool)
    /// Accepts a User Confirmation Request.
    case userConfirmationReply(ManagementAddress)
    /// Rejects a User Confirmation Request.
    case userConfirmationNegativeReply(ManagementAddress)
    /// Answers a User Passkey Request with a number from 0 to 999999.
    case userPasskeyReply(ManagementAddress, passkey: UInt32)
    /// Rejects a User Passkey Request.
    case userPasskeyNegativeReply(ManagementAddress)
    /// Replaces the kernel's long term keys; must be sent at start, even without any.
    case loadLongTermKeys([LongTermKey])
    /// Replaces the kernel's identity resolving keys; must be sent at start, even without any: only then does pairing
    /// exchange identities.
    case loadIdentityResolvingKeys([IdentityResolvingKey])
    /// Makes a new pair of out-of-band values of this side, which replace the former ones, and reads them.
    case readLocalOutOfBandExtendedData(ManagementAddressTypes)
    /// Sets the out-of-band values of a device for its next pairing with Secure Connections (P-256): the confirmation and
    /// the random value.
    case addRemoteOutOfBandData(ManagementAddress, confirmation: SecurityKey, random: SecurityKey)
    /// Removes the out-of-band values of a device; ``ManagementAddress/any`` those of all.
    case removeRemoteOutOfBandData(ManagementAddress)

    /// Scans actively until stopped, or for about ten seconds.
    case startDiscovery(ManagementAddressTypes)
    /// Ends Start Discovery or Start Service Discovery.
    case stopDiscovery(ManagementAddressTypes)
    /// Scans for advertisers of one of the services, or all if none is given, with at least the given RSSI in dBm, or
    /// any if nil. Unlike Start Discovery it reports the same device repeatedly.
    case startServiceDiscovery(ManagementAddressTypes, rssiThreshold: Int8?, services: [BluetoothUUID])

    /// Switches advertising by setting; Add Advertising is preferable, since outgoing connections fail beside this.
    case setAdvertising(AdvertisingMode)
    /// Reads the advertising features.
    case readAdvertisingFeatures
    /// Adds an advertising instance.
    case addAdvertising(AdvertisingInstance)
    /// Removes an advertising instance; zero removes all.
    case removeAdvertising(UInt8)
    /// Starts adding an advertising instance with parameters of its own.
    case addExtendedAdvertisingParameters(ExtendedAdvertisingInstanceParameters)
    /// Sets the data of an instance that was started, and advertises it.
    case addExtendedAdvertisingData(ExtendedAdvertisingInstanceData)

    /// A command this type does not name.
    case unknown(ManagementOpcode, parameters: [UInt8])

    /// The command's opcode.
    public var opcode: ManagementOpcode {
        switch self {
        case .readVersionInformation: return .readVersionInformation
        case .readSupportedCommands: return .readSupportedCommands
        case .readControllerIndexList: return .readControllerIndexList
        case .readControllerInformation: return .readControllerInformation
        case .setPowered: return .setPowered
        case .setConnectable: return .setConnectable
        case .setBondable: return .setBondable
        case .setLowEnergy: return .setLowEnergy
        case .setBREDR: return .setBREDR
        case .setSecureSimplePairing: return .setSecureSimplePairing
        case .setSecureConnections: return .setSecureConnections
        case .setStaticAddress: return .setStaticAddress
        case .setPrivacy: return .setPrivacy
        case .setIOCapability: return .setIOCapability
        case .setAppearance: return .setAppearance
        case .disconnect: return .disconnect
        case .getConnections: return .getConnections
        case .getConnectionInformation: return .getConnectionInformation
        case .addDevice: return .addDevice
        case .removeDevice: return .removeDevice
        case .loadConnectionParameters: return .loadConnectionParameters
        case .readDefaultSystemConfiguration: return .readDefaultSystemConfiguration
        case .setDefaultSystemConfiguration: return .setDefaultSystemConfiguration
        case .getPHYConfiguration: return .getPHYConfiguration
        case .setPHYConfiguration: return .setPHYConfiguration
        case .pairDevice: return .pairDevice
        case .cancelPairDevice: return .cancelPairDevice
        case .unpairDevice: return .unpairDevice
        case .userConfirmationReply: return .userConfirmationReply
        case .userConfirmationNegativeReply: return .userConfirmationNegativeReply
        case .userPasskeyReply: return .userPasskeyReply
        case .userPasskeyNegativeReply: return .userPasskeyNegativeReply
        case .loadLongTermKeys: return .loadLongTermKeys
        case .loadIdentityResolvingKeys: return .loadIdentityResolvingKeys
        case .readLocalOutOfBandExtendedData: return .readLocalOutOfBandExtendedData
        case .addRemoteOutOfBandData: return .addRemoteOutOfBandData
        case .removeRemoteOutOfBandData: return .removeRemoteOutOfBandData
        case .startDiscovery: return .startDiscovery
        case .stopDiscovery: return .stopDiscovery
        case .startServiceDiscovery: return .startServiceDiscovery
        case .setAdvertising: return .setAdvertising
        case .readAdvertisingFeatures: return .readAdvertisingFeatures
        case .addAdvertising: return .addAdvertising
        case .removeAdvertising: return .removeAdvertising
        case .addExtendedAdvertisingParameters: return .addExtendedAdvertisingParameters
        case .addExtendedAdvertisingData: return .addExtendedAdvertisingData
        case .unknown(let opcode, _): return opcode
        }
    }

    /// The command as a packet for the adapter hci`index`, or for none.
    ///
    /// Throws ``BufferFull`` when the parameters take more than 65535 bytes, or advertising data more than 255.
    public func packet(for index: UInt16 = ManagementPacket.noController) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: ManagementPacket.headerByteCount + parameterCapacity)
        try encode(for: index, into: &writer)
        return writer.bytes
    }

    /// Appends the command as a packet for the adapter hci`index`, or for none.
    ///
    /// Throws ``BufferFull`` when `writer` or the command has no room for it, leaving `writer` unchanged.
    public func encode(
        for index: UInt16 = ManagementPacket.noController, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try writer.writePacket(code: opcode.rawValue, index: index) { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }

    /// An upper bound of the parameters' size in bytes.
    private var parameterCapacity: Int {
        switch self {
        case .loadLongTermKeys(let keys): return 2 + LongTermKey.byteCount * keys.count
        case .loadIdentityResolvingKeys(let keys): return 2 + IdentityResolvingKey.byteCount * keys.count
        case .loadConnectionParameters(let list): return 2 + DeviceConnectionParameters.byteCount * list.count
        case .setDefaultSystemConfiguration(let list): return list.reduce(0) { $0 + 3 + $1.value.count }
        case .startServiceDiscovery(_, _, let services): return 4 + 16 * services.count
        case .addRemoteOutOfBandData: return 71
        case .addAdvertising, .addExtendedAdvertisingData: return 600
        case .unknown(_, let parameters): return parameters.count
        default: return 64
        }
    }
}

/// The mode of Set Advertising.
public struct AdvertisingMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A mode of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// No advertising.
    public static let off = AdvertisingMode(rawValue: 0)
    /// Advertising, connectable according to the setting.
    public static let on = AdvertisingMode(rawValue: 1)
    /// Connectable advertising, regardless of the setting.
    public static let connectable = AdvertisingMode(rawValue: 2)

    /// The mode in words.
    public var description: String { [0: "off", 1: "on", 2: "connectable"][rawValue] ?? "mode \(rawValue)" }
}

/// The kernel's action when an added device advertises.
public struct AddDeviceAction: PacketCode, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// An action of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Scan passively and report the device with Device Found.
    public static let backgroundScan = AddDeviceAction(rawValue: 0)
    /// Let the device connect; for LE devices by directed advertising.
    public static let allowIncomingConnection = AddDeviceAction(rawValue: 1)
    /// Connect, and reconnect after each end.
    public static let autoConnect = AddDeviceAction(rawValue: 2)

    /// The action in words.
    public var description: String {
        [0: "background scan", 1: "allow incoming connection", 2: "auto-connect"][rawValue] ?? "action \(rawValue)"
    }
}
