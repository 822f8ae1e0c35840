/// How a connection-oriented channel on LE is opened (`BT_MODE`; Core Vol 3 Part A §10.1, §10.2).
///
/// Either way the receiver gives out credits, one for each frame, and the sender waits while it has none.
public enum L2CAPFlowControl: UInt8, Sendable {
    /// LE Credit Based Flow Control Mode: an MTU of 23 bytes or more, every kernel has it.
    case leCreditBased = 3
    /// Enhanced Credit Based Flow Control Mode (`enable_ecred`): an MTU of 64 bytes or more.
    case enhancedCreditBased = 4
}
