import BluetoothPrimitives

/// The pairing that a question to a pairing agent belongs to.
public struct PairingRequest: Hashable, Sendable {
    /// The device to pair with, under the kernel's present address for it.
    public var peer: BluetoothAddress
    /// The name of the adapter, such as `hci0`.
    public var adapter: String
    /// Whether this program began the pairing; otherwise the device did.
    public var isInitiatedHere: Bool
    /// The bond that the pairing would replace; nil if there is none, and on a link that is encrypted with its key.
    ///
    /// The device has lost its key, as after a reset, or it is another device with the same address.
    public var bond: Bond?

    /// Creates a request from its parts.
    public init(peer: BluetoothAddress, adapter: String, isInitiatedHere: Bool, bond: Bond? = nil) {
        self.peer = peer
        self.adapter = adapter
        self.isInitiatedHere = isInitiatedHere
        self.bond = bond
    }
}

/// An agent that answers the questions of pairings, in place of the user or with the user's help.
///
/// An agent has 25 s for each answer. When the pairing ends earlier, or the time is over, the asking task is cancelled
/// and its answer ignored. Throwing means no. Pairings with several devices may ask at the same time. As with the
/// handlers of published values, an agent that is not an actor is called on the event loop: it may suspend, but not
/// block.
public protocol PairingAgent: Sendable {
    /// The user's means of input and output, which determine the pairing method (Core Vol 3 Part H §2.3.5.1). Any other
    /// capability than `IOCapability.noInputNoOutput` requests protection against a man in the middle.
    var ioCapability: IOCapability { get }
    /// Whether pairings without a number (Just Works) are refused, also those that this program begins.
    var refusesJustWorks: Bool { get }

    /// Confirms a pairing without a number to compare (Just Works). Called when the device began it, and before a
    /// pairing with ``SecurityPolicy/ask``; not for a pairing that this program began itself.
    func confirmPairing(_ request: PairingRequest) async throws -> Bool
    /// Returns whether the device shows the same number (numeric comparison).
    func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool
    /// Returns the number that the device shows; nil for no.
    func enterPasskey(_ request: PairingRequest) async throws -> Passkey?
    /// Shows the number to enter at the device, until the task is cancelled or this returns.
    ///
    /// `enteredCount` is the number of digits entered so far, which most kernels and devices never report.
    func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws
}

// An agent that implements only some of the questions refuses the others.
extension PairingAgent {
    /// No input and no output.
    public var ioCapability: IOCapability { .noInputNoOutput }
    /// False.
    public var refusesJustWorks: Bool { false }
    /// Returns false.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool { false }
    /// Returns false.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool { false }
    /// Returns nil.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? { nil }
    /// Returns at once.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {}
}

/// An agent that refuses every pairing begun by a device, as an adapter without an agent does.
///
/// Pairings that this program begins still succeed with Just Works.
public struct RefusingPairingAgent: PairingAgent {
    /// Creates the agent.
    public init() {}
}

/// An agent that accepts every pairing without authenticating the device (Just Works).
public struct JustWorksPairingAgent: PairingAgent {
    private let replacesBonds: Bool

    /// Creates the agent.
    /// - Parameter replacesBonds: whether to accept pairings that replace an unauthenticated bond: then a device with
    ///   the address of a bonded one can take its place.
    public init(replacesBonds: Bool = false) {
        self.replacesBonds = replacesBonds
    }

    /// Returns true, unless the pairing would replace a bond.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        request.bond == nil || replacesBonds
    }
}

/// An agent that enters a passkey known beforehand, such as one printed on a device without a display.
///
/// The kernel cannot be given a number to show, so this serves the side that enters it. A permanent passkey protects
/// less than a new one for each attempt: an attempt with Secure Connections reveals a bit of it to an attacker (Core
/// Vol 3 Part H §2.3.5.6.3), one with legacy pairing all of it (§2.3.5.5). Choose
/// `SecureConnectionsMode.only` where the devices support it.
public struct FixedPasskeyAgent: PairingAgent {
    private let passkey: Passkey
    private let acceptsJustWorks: Bool

    /// Creates an agent with a passkey.
    /// - Parameters:
    ///   - passkey: the number to enter.
    ///   - acceptsJustWorks: whether to accept pairings with devices that cannot show a number, whichever side begins
    ///     them. Such a pairing is not authenticated.
    public init(_ passkey: Passkey, acceptsJustWorks: Bool = false) {
        self.passkey = passkey
        self.acceptsJustWorks = acceptsJustWorks
    }

    /// Keyboard only.
    public var ioCapability: IOCapability { .keyboardOnly }
    /// Whether the agent was created without `acceptsJustWorks`.
    public var refusesJustWorks: Bool { !acceptsJustWorks }
    /// Returns whether the agent accepts Just Works, and the pairing replaces no bond.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        acceptsJustWorks && request.bond == nil
    }
    /// Returns the passkey; nil if the pairing would replace a bond that a passkey has not protected.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        request.bond?.isAuthenticated ?? true ? passkey : nil
    }
}
