import BluetoothPrimitives

/// A sign that an adapter does not work as it should. An open set: ask for the problems that the program knows.
public struct RadioProblem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A scan has received nothing for this time, although it did before.
        case silent(Duration)
        case hardwareError(code: UInt8)
        /// The controller has not answered a command.
        case unanswered(command: String)
        /// A device has not responded, or a link has accepted no data, and the controller does not answer either.
        case linkStalled(BluetoothAddress)
        case poweredOff, powerOnFailed
        case addressChanged(from: BluetoothAddress, to: BluetoothAddress)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// Nobody that this program knows of has powered the adapter off.
    public static let poweredOff = RadioProblem(.poweredOff)
    /// The adapter is off but should be on, and could not be powered on.
    public static let powerOnFailed = RadioProblem(.powerOnFailed)

    /// The time for which a scan has received nothing, although it did before; nil for other problems.
    public var silence: Duration? { if case .silent(let time) = kind { time } else { nil } }
    /// The code of the controller's Hardware Error event (Core Vol 4 Part E §7.7.16); nil for other problems.
    public var hardwareErrorCode: UInt8? { if case .hardwareError(let code) = kind { code } else { nil } }
    /// The command that the controller has not answered; nil for other problems.
    public var unansweredCommand: String? { if case .unanswered(let command) = kind { command } else { nil } }
    /// The device of the link that has stalled: it has not responded, or accepted no data, and the controller does not
    /// answer either; nil for other problems.
    public var stalledPeer: BluetoothAddress? { if case .linkStalled(let peer) = kind { peer } else { nil } }
    /// The public address with which the controller answers instead of its own, as some do that have lost theirs in a
    /// reset; nil for other problems. The program does not use the adapter under that address, to which its bonds do not
    /// belong.
    public var otherAddress: BluetoothAddress? { if case .addressChanged(_, let other) = kind { other } else { nil } }
}

extension RadioProblem: CustomStringConvertible {
    /// The problem in words.
    public var description: String {
        switch kind {
        case .silent(let time): "no advertisement was received for \(time.inSeconds)"
        case .hardwareError(let code):
            "the controller reported a hardware error (0x\(hexadecimal(code, digits: 2)))"
        case .unanswered(let command): "the controller did not answer \(command)"
        case .linkStalled(let peer): "neither \(peer.digits) nor the controller responds"
        case .poweredOff: "the adapter was powered off"
        case .powerOnFailed: "the adapter could not be powered on"
        case .addressChanged(let own, let other):
            "the controller reports the address \(other.digits) instead of \(own.digits)"
        }
    }
}

/// A step of an adapter's recovery, in the order in which they are tried; the mildest first. An open set: switch with a
/// default.
public struct RecoveryStep: CaseIterable, Hashable, Sendable, Comparable {
    package enum Kind: CaseIterable, Hashable, Sendable, Comparable {
        case restartScan, powerCycle, reset, restart, rebind
    }

    package let kind: Kind

    /// The scan is ended and started again.
    public static let restartScan = RecoveryStep(kind: .restartScan)
    /// The adapter is powered off and on (management `Set Powered`).
    public static let powerCycle = RecoveryStep(kind: .powerCycle)
    /// The controller is reset (`HCIDEVRESET`).
    public static let reset = RecoveryStep(kind: .reset)
    /// The adapter is taken down and up (`HCIDEVDOWN`, `HCIDEVUP`), and prepared again.
    public static let restart = RecoveryStep(kind: .restart)
    /// The adapter's device is unbound from its driver and bound again, as if it were unplugged and plugged in (sysfs).
    public static let rebind = RecoveryStep(kind: .rebind)

    /// The steps in their order.
    public static var allCases: [RecoveryStep] { Kind.allCases.map { RecoveryStep(kind: $0) } }

    /// Whether a step is milder than another, and tried before it.
    public static func < (left: RecoveryStep, right: RecoveryStep) -> Bool { left.kind < right.kind }
}

extension RecoveryStep: CustomStringConvertible {
    /// What the step does, such as `restart the scan`.
    public var description: String {
        switch kind {
        case .restartScan: "restart the scan"
        case .powerCycle: "power the adapter off and on"
        case .reset: "reset the controller"
        case .restart: "take the adapter down and up"
        case .rebind: "bind the adapter's driver again"
        }
    }

    /// What the step does, such as `restarting the scan`.
    package var gerund: String {
        switch kind {
        case .restartScan: "restarting the scan"
        case .powerCycle: "power-cycling the adapter"
        case .reset: "resetting the controller"
        case .restart: "taking the adapter down and up"
        case .rebind: "rebinding the adapter's driver"
        }
    }
}

/// The health of an adapter: what its host notices, and the steps that may help.
//
// Lives on the loop, with the session. Completions are called on the loop, once.
package protocol HostHealth: AnyObject {
    /// Reads what the controller reports of itself.
    nonisolated(nonsending) func controllerProperties(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties

    /// Asks whether the controller answers a harmless command.
    func probe(then completion: @escaping (Bool) -> Void)

    /// Whether an adapter could not be powered on because its controller did not answer.
    func showsHang(_ failure: BluetoothError) -> Bool

    /// The number of the adapter's links, this program's and others'; nil if they cannot be counted.
    func countLinks() -> Int?

    /// Whether another session of this process runs a recovery step that makes the adapter temporarily unavailable.
    var isRecoveredElsewhere: Bool { get }

    /// Carries out a step; the scan, advertising and everything else that is declared is restored automatically.
    /// - Parameter completion: receives why the step could not be carried out.
    func perform(_ step: RecoveryStep, then completion: @escaping (BluetoothError?) -> Void)
}
