import BluetoothPrimitives

/// A fault of a simulated controller: what it no longer does, or does too late, and what cures it.
public struct ControllerFault: Hashable, Sendable {
    /// What the controller no longer does, or does too late.
    public enum Symptom: Hashable, Sendable {
        /// It answers no command and sends no event.
        case hangs
        /// It answers commands, and reports no advertisement.
        case hearsNothing
        /// Its next link comes up only when the attempt is cancelled, and it refuses the cancellation, as it is too late:
        /// the kernel forgets such a link but does not end it. The link ends the fault.
        case connectsTooLate
        /// It has lost its public address and has this one instead, such as its manufacturer's default. The kernel reads it
        /// at the next power-on.
        case answersAs(BluetoothAddress)
    }

    /// The mildest intervention after which the controller works again; stronger ones cure it as well.
    public enum Cure: Hashable, Sendable, Comparable {
        /// Switching the scan off.
        case scanRestart
        /// Powering the adapter off.
        case powerOff
        /// A reset of the controller (`HCIDEVRESET`).
        case reset
        /// Taking the adapter down (`HCIDEVDOWN`).
        case takingDown
        /// Unbinding the driver.
        case unbinding
        /// Unplugging, or switching the machine off: nothing that a program can do.
        case losingPower
    }

    /// What the controller no longer does, or does too late.
    public var symptom: Symptom
    /// What cures it.
    public var cure: Cure

    /// A fault from its parts.
    public init(_ symptom: Symptom, until cure: Cure) {
        (self.symptom, self.cure) = (symptom, cure)
    }
}
