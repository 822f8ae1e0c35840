import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// The kernel's keys and parameters of devices, loaded or from pairing.
final class KeyStore {
    private(set) var longTermKeys: [LongTermKey] = []
    private(set) var identityResolvingKeys: [IdentityResolvingKey] = []
    /// Whether pairing exchanges identities, which it does after Load Identity Resolving Keys or Set Privacy.
    var exchangesIdentities = false
    private var connectionParameters: [BluetoothAddress: DeviceConnectionParameters] = [:]
    /// The devices whose entries of ``connectionParameters`` stay when a list replaces the others.
    private var keptParameters: Set<BluetoothAddress> = []
    private(set) var defaults = SystemDefaults()

    // MARK: Commands

    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        switch command {
        case let command as ManagementLoadLongTermKeys:
            let keys = command.value.elements
            // One invalid key refuses the whole list.
            guard keys.allSatisfy({ $0.address.isIdentity && $0.encryptionSize <= 16 }) else {
                return request.fail(.invalidParameters)
            }
            longTermKeys = keys
        case let command as ManagementLoadIdentityResolvingKeys:
            let keys = command.value.elements
            guard keys.allSatisfy(\.address.isIdentity) else { return request.fail(.invalidParameters) }
            identityResolvingKeys = keys
            exchangesIdentities = true
        case let command as ManagementLoadConnectionParameters:
            let all = command.value.elements
            // Fewer than two entries change a list that has them, and leave the others.
            if all.count > 1 || all.first.map({ connectionParameters[$0.address] == nil }) == true {
                connectionParameters = connectionParameters.filter { keptParameters.contains($0.key) }
            }
            // The kernel ignores invalid entries.
            for entry in all where entry.values.isValid { connectionParameters[entry.address] = entry }
        case is ManagementReadDefaultSystemConfiguration: return request.complete(SystemConfiguration(defaults.all))
        case let command as ManagementSetDefaultSystemConfiguration:
            let list = command.value.parameters
            guard !list.isEmpty, defaults.change(to: list) else { return request.fail(.invalidParameters) }
        default: return request.fail(.unknownCommand)
        }
        request.complete()
    }

    // MARK: Keys

    func store(_ key: IdentityResolvingKey) {
        identityResolvingKeys.removeAll { $0.address == key.address }
        identityResolvingKeys.append(key)
    }

    func replaceLongTermKeys(of peer: BluetoothAddress, with keys: [LongTermKey]) {
        longTermKeys.removeAll { $0.address == peer }
        longTermKeys += keys
    }

    /// Removes a device's keys; false when there are none.
    func forget(_ peer: BluetoothAddress) -> Bool {
        let hadKeys = longTermKeys.contains { $0.address == peer } || hasIdentityResolvingKey(of: peer)
        longTermKeys.removeAll { $0.address == peer }
        identityResolvingKeys.removeAll { $0.address == peer }
        return hadKeys
    }

    /// The parameters for connecting to a device.
    func parameters(for peer: BluetoothAddress) -> LEConnectionParameters {
        connectionParameters[peer]?.values ?? defaults.connection
    }

    /// Keeps the entry of a device to which a link was created, as the kernel does.
    func keepParameters(for peer: BluetoothAddress) {
        if connectionParameters[peer] != nil { keptParameters.insert(peer) }
    }

    /// The key for links with a device in a role.
    func longTermKey(of peer: BluetoothAddress, isCentral: Bool) -> LongTermKey? {
        longTermKeys.last { $0.address == peer && ($0.kind.isSecureConnections || $0.isCentral == isCentral) }
    }

    func hasIdentityResolvingKey(of peer: BluetoothAddress) -> Bool {
        identityResolvingKeys.contains { $0.address == peer }
    }

    /// The identity of a device with this address on the air, if that is private and its key is stored; otherwise the
    /// address.
    func identity(of node: RadioNode, at address: BluetoothAddress) -> BluetoothAddress {
        guard address.randomKind == .resolvablePrivate, let key = node.identityResolvingKey else { return address }
        return identityResolvingKeys.first { $0.value == key.value }?.address ?? address
    }
}

extension LongTermKey.Kind {
    var isSecureConnections: Bool { self == .unauthenticated || self == .authenticated || self == .debug }

    /// The security level of a link encrypted with such a key.
    var level: SecurityLevel {
        switch self {
        case .authenticatedLegacy: return .high
        case .authenticated: return .fips
        default: return .medium
        }
    }
}
