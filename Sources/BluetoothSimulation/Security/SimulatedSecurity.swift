import BluetoothCryptography
import BluetoothGATT
import BluetoothHCI
import BluetoothManagement

/// The behaviour of a simulated peripheral in pairing.
public struct SimulatedSecurity: Hashable, Sendable {
    /// The response to a pairing request.
    public enum Response: Hashable, Sendable {
        /// Pairs.
        case accept
        /// Sends Pairing Failed; the link stays.
        case refuse
        /// Does not answer.
        case silence
    }

    /// The behaviour of its user.
    public enum User: Hashable, Sendable {
        /// Confirms, and enters the number that the other side shows.
        case agrees
        /// Rejects.
        case refuses
        /// Confirms, and enters a number that differs from the one shown.
        case mistypes
        /// Does not answer.
        case isAbsent
    }

    /// The response to a pairing request.
    public var response: Response
    /// The behaviour of its user.
    public var user = User.agrees
    /// The input and output capabilities.
    public var ioCapability: IOCapability
    /// Whether it requires MITM protection.
    public var requiresProtection: Bool
    /// Whether it supports LE Secure Connections, or only legacy pairing.
    public var hasSecureConnections: Bool
    /// Whether it bonds, storing the keys.
    public var storesKeys: Bool
    /// The passkey that it shows, if it shows one.
    public var passkey: UInt32
    /// Whether pairing distributes signature resolving keys.
    public var signs = false
    /// The longest encryption key that it supports, 7 to 16 bytes.
    public var maximumKeySize = 16
    /// The identity address, distributed in pairing to devices that exchange identities; nil for none.
    public var identity: BluetoothAddress?

    /// Creates the behaviour of a peripheral without display and buttons that pairs with every central.
    public init(
        response: Response = .accept, ioCapability: IOCapability = .noInputNoOutput, requiresProtection: Bool = false,
        hasSecureConnections: Bool = true, storesKeys: Bool = true, passkey: UInt32 = 123_456,
        identity: BluetoothAddress? = nil
    ) {
        self.response = response
        self.ioCapability = ioCapability
        self.requiresProtection = requiresProtection
        self.hasSecureConnections = hasSecureConnections
        self.storesKeys = storesKeys
        self.passkey = passkey
        self.identity = identity
    }
}

extension SecurityKey {
    /// Generates a resolvable private address with the key (Core Vol 3 Part H §2.2.2, Vol 6 Part B §1.3.2.2).
    func makePrivateAddress(using generator: inout some RandomNumberGenerator) -> BluetoothAddress {
        let random = UInt64.random(in: 1..<0x3F_FFFF, using: &generator) | 1 << 22
        return BluetoothAddress(FourResolvingKeys(FourBlocks(first: number)).address(of: random), kind: .random)
    }
}

extension LinkEnd {
    /// The identity of the device at the other end, if it was distributed; otherwise its address.
    var peerIdentity: BluetoothAddress {
        guard peerAddress.randomKind == .resolvablePrivate else { return peerAddress }
        return other.side.node.identityResolvingKey?.address ?? peerAddress
    }
}
