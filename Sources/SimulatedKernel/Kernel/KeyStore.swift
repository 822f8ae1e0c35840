import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// What the kernel keeps of devices it was told about or has paired with.
struct KeyStore {
    var longTermKeys: [LongTermKey] = []
    var identityResolvingKeys: [IdentityResolvingKey] = []
    /// Whether pairing exchanges identities, which it does once Load Identity Resolving Keys was sent.
    var exchangesIdentities = false
    var connectionParameters: [BluetoothAddress: DeviceConnectionParameters] = [:]

    mutating func store(_ key: IdentityResolvingKey) {
        identityResolvingKeys.removeAll { $0.address == key.address }
        identityResolvingKeys.append(key)
    }

    mutating func replaceLongTermKeys(of peer: BluetoothAddress, with keys: [LongTermKey]) {
        longTermKeys.removeAll { $0.address == peer }
        longTermKeys += keys
    }

    /// What to connect to a device with.
    func parameters(for peer: BluetoothAddress) -> LEConnectionParameters {
        guard let known = connectionParameters[peer] else {
            return LEConnectionParameters(
                intervalMinimum: 0x18, intervalMaximum: 0x28, latency: 0, supervisionTimeout: 0x2A)
        }
        return LEConnectionParameters(
            intervalMinimum: known.intervalMinimum, intervalMaximum: known.intervalMaximum, latency: known.latency,
            supervisionTimeout: known.supervisionTimeout)
    }

    /// The key for links with a device in a role.
    func longTermKey(of peer: BluetoothAddress, isCentral: Bool) -> LongTermKey? {
        longTermKeys.last { $0.address == peer && ($0.kind.isSecureConnections || $0.isCentral == isCentral) }
    }

    func hasIdentityResolvingKey(of peer: BluetoothAddress) -> Bool {
        identityResolvingKeys.contains { $0.address == peer }
    }

    /// Whose advertisement it is, where its address is private and its key is known.
    func identity(of advertiser: Advertiser) -> BluetoothAddress? {
        guard advertiser.address.randomKind == .resolvablePrivate else { return nil }
        return identity(of: advertiser.node)
    }

    func identity(ofDeviceBehind end: LinkEnd) -> BluetoothAddress? {
        guard end.localAddress.randomKind == .resolvablePrivate else { return nil }
        return identity(of: end.side.node)
    }

    private func identity(of node: RadioNode) -> BluetoothAddress? {
        guard let key = node.identityResolvingKey else { return nil }
        return identityResolvingKeys.first { $0.value == key.value }?.address
    }
}

extension LongTermKey.Kind {
    var isSecureConnections: Bool { self == .unauthenticated || self == .authenticated || self == .debug }

    /// What a link encrypted with such a key reaches.
    var level: SecurityLevel {
        switch self {
        case .authenticatedLegacy: return .high
        case .authenticated: return .fips
        default: return .medium
        }
    }
}
