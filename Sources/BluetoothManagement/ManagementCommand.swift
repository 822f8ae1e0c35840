import BluetoothPrimitives

/// A request to the kernel's management socket.
///
/// Encodes for whoever sends it and decodes for a simulated kernel. A command that this type does not name is
/// ``unknown(_:parameters:)`` in both directions. Most commands need CAP_NET_ADMIN.
public enum ManagementCommand: Hashable, Sendable {
    // About no adapter.

    /// Asks for the version of the interface. Needs no privilege.
    case readVersionInformation
    /// Asks for the commands and events there are. Needs no privilege.
    case readSupportedCommands
    /// Asks for the adapters there are. Needs no privilege.
    case readControllerIndexList

    // About an adapter.

    /// Asks for addresses, settings and names. Needs no privilege.
    case readControllerInformation
    /// Switches the adapter on or off.
    case setPowered(Bool)
    /// Lets others connect, or not.
    case setConnectable(Bool)
    /// Makes pairing keep and tell its keys, or not.
    case setBondable(Bool)
    /// Switches LE on or off, whether the adapter is on or not.
    case setLowEnergy(Bool)
    /// Switches BR/EDR on or off; off is rejected while the adapter is on.
    case setBREDR(Bool)
    /// Switches Secure Simple Pairing on or off.
    case setSecureSimplePairing(Bool)
    /// Switches Secure Connections; a dual-mode adapter needs Secure Simple Pairing for it.
    case setSecureConnections(SecureConnectionsMode)
    /// Sets the static random address; zero is none. Rejected while the adapter is on.
    case setStaticAddress(BluetoothAddress)
    /// Makes the adapter use private addresses made with the key, or not. Rejected while the adapter is on.
    case setPrivacy(PrivacyMode, SecurityKey)
    /// Says what the user can see and enter when pairing.
    case setIOCapability(IOCapability)
    /// Sets the appearance that instances can add to their data.
    case setAppearance(UInt16)

    /// Ends the connection with a device.
    case disconnect(ManagementAddress)
    /// Asks for the connected devices.
    case getConnections
    /// Asks for signal strength and transmit power of a connection.
    case getConnectionInformation(ManagementAddress)
    /// Connects to a device by itself when it is heard, or tells of it, until removed.
    case addDevice(ManagementAddress, AddDeviceAction)
    /// Takes back Add Device; ``ManagementAddress/any`` for all devices.
    case removeDevice(ManagementAddress)
    /// Replaces what the kernel knows of devices' wanted connection parameters.
    case loadConnectionParameters([DeviceConnectionParameters])

    /// Pairs with a device, connecting to it if need be.
    case pairDevice(ManagementAddress, IOCapability)
    /// Stops pairing with a device.
    case cancelPairDevice(ManagementAddress)
    /// Forgets a device's keys and, if asked to, disconnects it.
    case unpairDevice(ManagementAddress, disconnect: Bool)
    /// Says yes to a User Confirmation Request.
    case userConfirmationReply(ManagementAddress)
    /// Says no to a User Confirmation Request.
    case userConfirmationNegativeReply(ManagementAddress)
    /// Answers a User Passkey Request with a number from 0 to 999999.
    case userPasskeyReply(ManagementAddress, passkey: UInt32)
    /// Says that there is no answer to a User Passkey Request.
    case userPasskeyNegativeReply(ManagementAddress)
    /// Replaces the long term keys the kernel knows; to be sent at start, even with none.
    case loadLongTermKeys([LongTermKey])
    /// Replaces the identity resolving keys the kernel knows; to be sent at start, even with none: only then are
    /// identities exchanged when pairing.
    case loadIdentityResolvingKeys([IdentityResolvingKey])

    /// Scans actively until stopped, or for about ten seconds.
    case startDiscovery(ManagementAddressTypes)
    /// Stops what Start Discovery or Start Service Discovery began.
    case stopDiscovery(ManagementAddressTypes)
    /// Scans for advertisers of one of the services, or all if none is given, with at least the signal strength in dBm,
    /// or any if nil. Unlike Start Discovery it tells of the same device again and again.
    case startServiceDiscovery(ManagementAddressTypes, rssiThreshold: Int8?, services: [BluetoothUUID])

    /// Advertises by a setting; Add Advertising is better, since outgoing connections fail beside this.
    case setAdvertising(AdvertisingMode)
    /// Asks for the means of advertising.
    case readAdvertisingFeatures
    /// Makes an advertising instance.
    case addAdvertising(AdvertisingInstance)
    /// Removes an advertising instance; zero is all of them.
    case removeAdvertising(UInt8)
    /// Begins making an advertising instance with parameters of one's own.
    case addExtendedAdvertisingParameters(ExtendedAdvertisingInstanceParameters)
    /// Gives an instance begun so its data, and advertises.
    case addExtendedAdvertisingData(ExtendedAdvertisingInstanceData)

    /// A command this type does not name.
    case unknown(ManagementOpcode, parameters: [UInt8])

    /// The command's code.
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
        case .pairDevice: return .pairDevice
        case .cancelPairDevice: return .cancelPairDevice
        case .unpairDevice: return .unpairDevice
        case .userConfirmationReply: return .userConfirmationReply
        case .userConfirmationNegativeReply: return .userConfirmationNegativeReply
        case .userPasskeyReply: return .userPasskeyReply
        case .userPasskeyNegativeReply: return .userPasskeyNegativeReply
        case .loadLongTermKeys: return .loadLongTermKeys
        case .loadIdentityResolvingKeys: return .loadIdentityResolvingKeys
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
    /// Throws ``BufferFull`` when `writer` or the command has no room for it, and leaves `writer` as it was.
    public func encode(
        for index: UInt16 = ManagementPacket.noController, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try writer.writePacket(code: opcode.rawValue, index: index) { (writer) throws(BufferFull) in
            try encodeParameters(into: &writer)
        }
    }

    /// At least as many bytes as the parameters take.
    private var parameterCapacity: Int {
        switch self {
        case .loadLongTermKeys(let keys): return 2 + LongTermKey.byteCount * keys.count
        case .loadIdentityResolvingKeys(let keys): return 2 + IdentityResolvingKey.byteCount * keys.count
        case .loadConnectionParameters(let list): return 2 + DeviceConnectionParameters.byteCount * list.count
        case .startServiceDiscovery(_, _, let services): return 4 + 16 * services.count
        case .addAdvertising, .addExtendedAdvertisingData: return 600
        case .unknown(_, let parameters): return parameters.count
        default: return 64
        }
    }
}

/// What Set Advertising switches on.
public struct AdvertisingMode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A mode of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// No advertising.
    public static let off = AdvertisingMode(rawValue: 0)
    /// Advertising, connectable if the setting says so.
    public static let on = AdvertisingMode(rawValue: 1)
    /// Connectable advertising, whatever the setting says.
    public static let connectable = AdvertisingMode(rawValue: 2)

    /// The mode in words.
    public var description: String { [0: "off", 1: "on", 2: "connectable"][rawValue] ?? "mode \(rawValue)" }
}

/// What the kernel does when it hears a device that was added.
public struct AddDeviceAction: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// An action of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Scans passively and tells with Device Found.
    public static let backgroundScan = AddDeviceAction(rawValue: 0)
    /// Lets the device connect; to LE devices by directed advertising.
    public static let allowIncomingConnection = AddDeviceAction(rawValue: 1)
    /// Connects, again and again.
    public static let autoConnect = AddDeviceAction(rawValue: 2)

    /// The action in words.
    public var description: String {
        [0: "background scan", 1: "allow incoming connection", 2: "auto-connect"][rawValue] ?? "action \(rawValue)"
    }
}
