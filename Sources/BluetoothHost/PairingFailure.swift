/// Why a pairing, or the encryption of a link with a key from an earlier one, came to nothing.
///
/// Read from ``BluetoothError/pairingFailure``. An open set: switch with a default. The kernel does not hand on the reason
/// that a peer's Pairing Failed carries (Core Vol 3 Part H §3.5.5), so what is told apart here is told apart by when it
/// happened and by what was asked and answered on this side.
public struct PairingFailure: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the failure.
    public let rawValue: String

    /// A failure by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name.
    public var description: String { rawValue }

    /// The peer answered with Pairing Failed before anybody was asked anything: it does not pair, not now, or not in a
    /// way that both sides can.
    public static let rejected = PairingFailure(rawValue: "rejected")
    /// The pairing failed after a number was shown, entered or compared: a wrong passkey, or the other side's user said no.
    public static let authenticationFailed = PairingFailure(rawValue: "authenticationFailed")
    /// This side said no: its agent refused, threw, had no answer or none in time, or there is no agent for such a question.
    public static let notConfirmed = PairingFailure(rawValue: "notConfirmed")
    /// Nothing came from the peer for 30 s (Core Vol 3 Part H §3.4).
    public static let timedOut = PairingFailure(rawValue: "timedOut")
    /// This machine has a key, and the peer refused to encrypt with it, or wanted to replace one that made sure of it by one
    /// that does not: the peer has lost its bond, or somebody else has taken its place.
    public static let keyMissing = PairingFailure(rawValue: "keyMissing")
    /// The link is encrypted, but not as well as was asked: what the two sides can show and enter is not enough.
    public static let insufficientLevel = PairingFailure(rawValue: "insufficientLevel")
    /// The link ended meanwhile; ``BluetoothError/disconnectReason`` says why.
    public static let linkLost = PairingFailure(rawValue: "linkLost")
    /// The adapter's ``BondLimit`` is reached, and no bond can be replaced.
    public static let bondStoreFull = PairingFailure(rawValue: "bondStoreFull")
    /// Another program on this machine, BlueZ's daemon, owns pairing.
    public static let ownedByDaemon = PairingFailure(rawValue: "ownedByDaemon")

    /// The failure in one sentence.
    package var sentence: String {
        switch self {
        case .rejected: "The peer refused to pair."
        case .authenticationFailed: "The pairing failed: the number was wrong, or the other side said no."
        case .notConfirmed: "The pairing was not confirmed on this side."
        case .timedOut: "The pairing came to a standstill for 30 s."
        case .keyMissing: "The peer does not know the key from the earlier pairing any more."
        case .insufficientLevel: "The link could not be protected as well as was asked."
        case .linkLost: "The link ended during the pairing."
        case .bondStoreFull: "The limit of stored bonds is reached."
        case .ownedByDaemon: "BlueZ's daemon owns pairing on this machine while it runs."
        default: "The pairing failed."
        }
    }

    /// What to do about it, where that can be said.
    package var remedy: String? {
        switch self {
        case .rejected: "Put the device into its pairing mode, if it has one, and try again."
        case .notConfirmed: "A program that pairs has to say how: setPairingAgent(_:) takes an agent that answers."
        case .keyMissing: "Remove the device's bond on this machine, and pair again."
        case .insufficientLevel:
            "Use an agent that can show or enter a number, as far as the device can do the other."
        case .bondStoreFull:
            "Remove a bond that is not used any more, or open the adapter with a higher BondLimit."
        case .ownedByDaemon:
            "Pair in bluetoothctl, or stop the daemon for now: sudo systemctl stop bluetooth"
        default: nil
        }
    }

    /// Whether the same call may succeed when it is made again.
    package var isRetryable: Bool { self == .timedOut || self == .authenticationFailed || self == .linkLost }
}

extension BluetoothError {
    /// A pairing that came to nothing, of which `end` is how the link ended, if it did.
    package static func pairing(_ operation: Operation, _ failure: PairingFailure, end: BluetoothError? = nil)
        -> BluetoothError
    {
        var error = BluetoothError(
            .pairingFailed, operation, failure.sentence, remedy: failure.remedy, cause: end?.cause,
            isRetryable: failure.isRetryable, disconnectReason: end?.disconnectReason)
        error.pairingFailure = failure
        return error
    }
}
