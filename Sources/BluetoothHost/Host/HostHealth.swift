import BluetoothPrimitives

/// A sign that an adapter does not work as it should.
public enum RadioProblem: Hashable, Sendable {
    /// A scan has received nothing for this time, although it did before.
    case silent(Duration)
    /// The controller has reported a Hardware Error event with this code (Core Vol 4 Part E §7.7.16).
    case hardwareError(code: UInt8)
    /// The controller has not answered a command.
    case unanswered(command: String)
    /// A device has not responded, or a link has accepted no data, and the controller does not answer either.
    case linkStalled(BluetoothAddress)
    /// Nobody that this program knows of has powered the adapter off.
    case poweredOff
    /// The adapter is off but should be on, and could not be powered on.
    case powerOnFailed
    /// The controller answers with another public address than before, as some do that have lost their own in a reset.
    /// The program does not use it under that address, to which its bonds do not belong.
    case addressChanged(from: BluetoothAddress, to: BluetoothAddress)
}

extension RadioProblem: CustomStringConvertible {
    /// The problem in words.
    public var description: String {
        switch self {
        case .silent(let time): "no advertisement was received for \(time.inSeconds)"
        case .hardwareError(let code):
            "the controller reported a hardware error (0x\(hexadecimal(code, digits: 2)))"
        case .unanswered(let command): "the controller did not answer \(command)"
        case .linkStalled(let peer): "neither \(peer) nor the controller responds"
        case .poweredOff: "the adapter was powered off"
        case .powerOnFailed: "the adapter could not be powered on"
        case .addressChanged(let own, let other): "the controller reports the address \(other) instead of \(own)"
        }
    }
}

/// A step of an adapter's recovery, in the order in which they are tried; the mildest first.
public enum RecoveryStep: CaseIterable, Hashable, Sendable, Comparable {
    /// The scan is ended and started again.
    case restartScan
    /// The adapter is powered off and on (management `Set Powered`).
    case powerCycle
    /// The controller is reset (`HCIDEVRESET`).
    case reset
    /// The adapter is taken down and up (`HCIDEVDOWN`, `HCIDEVUP`), and prepared again.
    case restart
    /// The adapter's device is unbound from its driver and bound again, as if it were unplugged and plugged in (sysfs).
    case rebind
}

extension RecoveryStep: CustomStringConvertible {
    /// What the step does, such as `restart the scan`.
    public var description: String {
        switch self {
        case .restartScan: "restart the scan"
        case .powerCycle: "power the adapter off and on"
        case .reset: "reset the controller"
        case .restart: "take the adapter down and up"
        case .rebind: "bind the adapter's driver again"
        }
    }

    /// What the step does, such as `restarting the scan`.
    package var gerund: String {
        switch self {
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
