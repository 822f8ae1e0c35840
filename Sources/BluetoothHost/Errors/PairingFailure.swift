/// The reason why a pairing, or the encryption of a link with a stored key, failed.
///
/// Read it from ``BluetoothError/pairingFailure``. An open set: switch with a default. The kernel does not report the
/// reason in a peer's Pairing Failed (Core Vol 3 Part H §3.5.5), so these are distinguished by when the pairing failed
/// and by what this side was asked and answered.
public struct PairingFailure: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the failure.
    public let rawValue: String

    /// Creates a failure by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name of the failure.
    public var description: String { rawValue }

    /// The peer answered Pairing Failed before any question was asked: it does not pair, or not now, or has no method
    /// in common with this side.
    public static let rejected = PairingFailure(rawValue: "rejected")
    /// The pairing failed after a number was shown, entered or compared: a wrong passkey, or the user on the other side
    /// rejected it.
    public static let authenticationFailed = PairingFailure(rawValue: "authenticationFailed")
    /// This side rejected the pairing: its agent refused, threw or did not answer in time, or there is no agent for the
    /// question.
    public static let notConfirmed = PairingFailure(rawValue: "notConfirmed")
    /// The peer sent nothing for 30 s (Core Vol 3 Part H §3.4).
    public static let timedOut = PairingFailure(rawValue: "timedOut")
    /// The peer refused to encrypt with the key stored here, or tried to replace an authenticated key by an
    /// unauthenticated one: it has lost its bond, or another device impersonates it.
    public static let keyMissing = PairingFailure(rawValue: "keyMissing")
    /// The link is encrypted, but below the requested level: the input and output capabilities of the two sides do not
    /// suffice.
    public static let insufficientLevel = PairingFailure(rawValue: "insufficientLevel")
    /// The link is encrypted with a shorter key than ``SecurityOptions/minimumKeySize``.
    public static let keyTooShort = PairingFailure(rawValue: "keyTooShort")
    /// The peer claimed the identity address of another bonded device, and has not shown that it is that device: its link
    /// had another address, which was not made with the stored identity resolving key.
    public static let identityClaimed = PairingFailure(rawValue: "identityClaimed")
    /// The link ended during pairing; ``BluetoothError/disconnectReason`` has the reason.
    public static let linkLost = PairingFailure(rawValue: "linkLost")
    /// The adapter's ``BondLimit`` is reached, and no bond can be replaced.
    public static let bondStoreFull = PairingFailure(rawValue: "bondStoreFull")
    /// The out-of-band data given for the peer is outdated or was already used, or the peer does not support it.
    public static let outOfBandDataRejected = PairingFailure(rawValue: "outOfBandDataRejected")
    /// Another program on this machine, BlueZ's daemon, is responsible for pairing.
    public static let ownedByDaemon = PairingFailure(rawValue: "ownedByDaemon")

    /// The failure as a sentence.
    package var sentence: String {
        switch self {
        case .rejected: "The peer refused to pair."
        case .authenticationFailed: "The pairing failed: the number was wrong, or the other side rejected it."
        case .notConfirmed: "The pairing was not confirmed on this side."
        case .timedOut: "The pairing timed out: the peer sent nothing for 30 s."
        case .keyMissing: "The peer no longer has the key of the earlier pairing."
        case .insufficientLevel: "The link could not be raised to the requested security level."
        case .keyTooShort: "The encryption key of the link is shorter than the minimum."
        case .identityClaimed: "The peer claimed the identity of another bonded device."
        case .linkLost: "The link ended during the pairing."
        case .outOfBandDataRejected:
            "The pairing with out-of-band data failed: the peer does not use the data, or has new data."
        case .bondStoreFull: "The limit of stored bonds is reached."
        case .ownedByDaemon: "BlueZ's daemon is responsible for pairing on this machine while it runs."
        default: "The pairing failed."
        }
    }

    /// The remedy, if there is one.
    package var remedy: String? {
        switch self {
        case .rejected: "Put the device into its pairing mode, if it has one, and try again."
        case .notConfirmed: "In code, set an agent that answers the questions of pairing: setPairingAgent(_:)."
        case .keyMissing:
            "Another program with other bonds may have replaced the kernel's keys: try again. If the device was reset, "
                + "remove its bond on this machine, and pair again: ble bonds remove ADDRESS; sudo ble pair"
        case .insufficientLevel:
            "In code, use an agent that can show or enter a number, if the device can enter or show it."
        case .identityClaimed:
            "If it is that device and was reset, first remove its bond, then pair again: ble bonds remove ADDRESS"
        case .keyTooShort:
            "To replace the key of an earlier pairing, pair again: ble bonds remove ADDRESS. A device that supports no "
                + "longer key needs a smaller minimum."
        case .outOfBandDataRejected: "Transfer new data: devices generate it for one pairing."
        case .bondStoreFull:
            "Remove an unused bond.\nIn code, open the adapter with a higher BondLimit."
        case .ownedByDaemon:
            "Stop the daemon, then pair: sudo systemctl stop bluetooth; sudo ble pair"
        default: nil
        }
    }

    /// Whether the same call may succeed when it is made again.
    package var isRetryable: Bool { self == .timedOut || self == .authenticationFailed || self == .linkLost }
}

extension BluetoothError {
    /// The error of a failed pairing; `end` is the error of the link's end, if it ended.
    package static func pairing(_ operation: Operation, _ failure: PairingFailure, end: BluetoothError? = nil)
        -> BluetoothError
    {
        var error = BluetoothError(
            .pairingFailed, operation, failure.sentence, remedy: failure.remedy, cause: end?.cause,
            isRetryable: failure.isRetryable, disconnectReason: end?.disconnectReason)
        error.pairingFailure = failure
        return error
    }

    /// The error of a link's end that a failed pairing explains.
    package func explained(by failure: PairingFailure) -> BluetoothError {
        var error = self
        (error.pairingFailure, error.remedy) = (failure, failure.remedy)
        error.message = "\(failure.sentence) The link is closed."
        return error
    }
}
