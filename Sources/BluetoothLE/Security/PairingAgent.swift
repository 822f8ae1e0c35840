import BluetoothPrimitives

/// What a pairing agent is asked about.
public struct PairingRequest: Hashable, Sendable {
    /// The device to pair with, by the address the kernel knows it by.
    public var peer: BluetoothAddress
    /// The adapter, such as `hci0`.
    public var adapter: String
    /// Whether this program began it; otherwise the device did.
    public var isInitiatedHere: Bool

    /// A request from its parts.
    public init(peer: BluetoothAddress, adapter: String, isInitiatedHere: Bool) {
        self.peer = peer
        self.adapter = adapter
        self.isInitiatedHere = isInitiatedHere
    }
}

/// Answers the questions that pairing asks, in place of the user or with them.
///
/// A question is asked while its pairing lives. It has 25 s; an answer that comes later, or after the pairing has ended,
/// counts for nothing, and the task that asks is cancelled then. Throwing means no. Pairings with several devices may ask
/// at the same time. As with ``AttributeHandlers``, an agent that is no actor of its own is called on the event loop: it
/// may wait, but not block.
public protocol PairingAgent: Sendable {
    /// What the user can see and enter, which decides how two devices can make sure of each other (Core Vol 3 Part H
    /// §2.3.5.1). One that is not ``IOCapability/noInputNoOutput`` asks for protection against a man in the middle.
    var ioCapability: IOCapability { get }

    /// Whether to pair at all, where there is no number to compare (Just Works): asked when the device began it, and
    /// before a pairing with ``SecurityPolicy/ask``. A pairing that this program began itself is not asked about.
    func confirmPairing(_ request: PairingRequest) async throws -> Bool
    /// Whether the device shows this same number (numeric comparison).
    func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool
    /// The number that the device shows; nil when there is none.
    func enterPasskey(_ request: PairingRequest) async throws -> Passkey?
    /// Shows a number that is to be entered at the device, until the task is cancelled or this returns.
    ///
    /// `enteredCount` is how many digits have been entered so far, which most kernels and devices never tell.
    func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws
}

// Whoever answers only some of the questions says no to the others.
extension PairingAgent {
    /// Nothing can be seen or entered.
    public var ioCapability: IOCapability { .noInputNoOutput }
    /// Says no.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool { false }
    /// Says no.
    public func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool { false }
    /// Has none.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? { nil }
    /// Shows nothing.
    public func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {}
}

/// Refuses every pairing that a device begins, as an adapter without an agent does.
///
/// Pairings that this program begins still work, as far as they ask nothing (Just Works).
public struct RefusingPairingAgent: PairingAgent {
    /// An agent that says no.
    public init() {}
}

/// Pairs with every device that asks, without making sure who it is (Just Works).
public struct JustWorksPairingAgent: PairingAgent {
    /// An agent that says yes.
    public init() {}

    /// Says yes.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool { true }
}

/// Enters one passkey that is known beforehand, as that printed on a device without a display.
///
/// The kernel has no way to be told which number to show, so this is for the side that enters it. Secure Connections
/// reveal a bit of the passkey to an eavesdropper in each attempt (Core Vol 3 Part H §2.3.5.6.3), so one that is used for ever
/// protects less than one made anew each time.
public struct FixedPasskeyAgent: PairingAgent {
    private let passkey: Passkey
    private let acceptsJustWorks: Bool

    /// An agent that knows a passkey.
    /// - Parameters:
    ///   - passkey: what to enter.
    ///   - acceptsJustWorks: whether devices that begin a pairing and cannot show a number are accepted as well.
    public init(_ passkey: Passkey, acceptsJustWorks: Bool = false) {
        self.passkey = passkey
        self.acceptsJustWorks = acceptsJustWorks
    }

    /// Numbers can be entered.
    public var ioCapability: IOCapability { .keyboardOnly }
    /// Whether it was made to accept that.
    public func confirmPairing(_ request: PairingRequest) async throws -> Bool { acceptsJustWorks }
    /// The passkey.
    public func enterPasskey(_ request: PairingRequest) async throws -> Passkey? { passkey }
}
