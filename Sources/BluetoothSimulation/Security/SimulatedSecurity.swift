import BluetoothCryptography
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import BluetoothHCI
import BluetoothManagement

/// How a simulated peripheral behaves when it is asked to pair.
public struct SimulatedSecurity: Hashable, Sendable {
    /// What it does when a central asks.
    public enum Response: Hashable, Sendable {
        /// Pairs.
        case accept
        /// Sends Pairing Failed; the link stays.
        case refuse
        /// Does not answer.
        case silence
    }

    /// What its user does when something is asked.
    public enum User: Hashable, Sendable {
        /// Says yes, and enters what the other side shows.
        case agrees
        /// Says no.
        case refuses
        /// Says yes, and enters another number than the other side shows.
        case mistypes
        /// Does nothing.
        case isAbsent
    }

    /// What it does when a central asks.
    public var response: Response
    /// What its user does when something is asked.
    public var user = User.agrees
    /// What its user can see and enter.
    public var ioCapability: IOCapability
    /// Whether it asks for protection against an attacker in the middle.
    public var requiresProtection: Bool
    /// Whether it has LE Secure Connections, or legacy pairing only.
    public var hasSecureConnections: Bool
    /// Whether it keeps the keys.
    public var keepsKeys: Bool
    /// What it shows, where it shows a passkey.
    public var passkey: UInt32
    /// Whether pairing exchanges keys of signed writes.
    public var signs = false
    /// Who it really is, told in pairing to those who exchange identities; nil tells nobody.
    public var identity: BluetoothAddress?

    /// A peripheral without display and buttons that pairs with everybody.
    public init(
        response: Response = .accept, ioCapability: IOCapability = .noInputNoOutput, requiresProtection: Bool = false,
        hasSecureConnections: Bool = true, keepsKeys: Bool = true, passkey: UInt32 = 123_456,
        identity: BluetoothAddress? = nil
    ) {
        self.response = response
        self.ioCapability = ioCapability
        self.requiresProtection = requiresProtection
        self.hasSecureConnections = hasSecureConnections
        self.keepsKeys = keepsKeys
        self.passkey = passkey
        self.identity = identity
    }
}

extension SecurityKey {
    /// A resolvable private address made with the key (Core Vol 3 Part H §2.2.2, Vol 6 Part B §1.3.2.2).
    func makePrivateAddress(using generator: inout some RandomNumberGenerator) -> BluetoothAddress {
        let random = UInt64.random(in: 1..<0x3F_FFFF, using: &generator) | 1 << 22
        return BluetoothAddress(FourResolvingKeys(FourBlocks(first: number)).address(of: random), kind: .random)
    }
}

extension LinkEnd {
    /// Who is at the other end, for whom it has told so: its identity where it hides behind a private address.
    var peerIdentity: BluetoothAddress {
        guard peerAddress.randomKind == .resolvablePrivate else { return peerAddress }
        return other.side.node.identityResolvingKey?.address ?? peerAddress
    }
}
