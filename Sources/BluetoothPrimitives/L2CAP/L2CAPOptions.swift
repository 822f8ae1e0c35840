/// Which L2CAP channel of a link a socket is for (Core Vol 3 Part A §2.1, §4.22).
public enum L2CAPChannel: Hashable, Sendable {
    /// A fixed channel by its identifier.
    case fixed(UInt16)
    /// A connection-oriented channel by its protocol/service multiplexer.
    case dynamic(psm: UInt16)

    /// The Attribute Protocol's fixed channel on LE, 0x0004.
    public static let attribute = L2CAPChannel.fixed(0x0004)
}

/// What a socket is set up with before it connects or listens. A nil leaves the kernel's own choice.
public struct L2CAPOptions: Hashable, Sendable {
    /// The level to raise the link to once it is up; nil asks for none.
    public var security: SecurityLevel?
    /// The largest packet we take (`BT_RCVMTU`); the kernel's choice is 672.
    public var receiveMTU: UInt16?
    /// The largest packet we send (`BT_SNDMTU`); the kernel's choice is 672.
    public var sendMTU: UInt16?
    /// The send buffer in bytes (`SO_SNDBUF`); a small one bounds latency and gives early back-pressure.
    public var sendBuffer: Int?
    /// The receive buffer in bytes (`SO_RCVBUFFORCE`, else `SO_RCVBUF`). On fixed channels the kernel drops what does not fit.
    public var receiveBuffer: Int?
    /// How long the kernel tries to connect (`SO_SNDTIMEO`); its own choice is 40 s.
    public var connectTimeout: Duration?
    /// How a connection-oriented channel is opened (`BT_MODE`); the kernel's choice is ``L2CAPFlowControl/leCreditBased``.
    public var flowControl: L2CAPFlowControl?

    /// Options that leave every choice to the kernel unless given.
    public init(
        security: SecurityLevel? = nil, receiveMTU: UInt16? = nil, sendMTU: UInt16? = nil, sendBuffer: Int? = nil,
        receiveBuffer: Int? = nil, connectTimeout: Duration? = nil, flowControl: L2CAPFlowControl? = nil
    ) {
        self.security = security
        self.receiveMTU = receiveMTU
        self.sendMTU = sendMTU
        self.sendBuffer = sendBuffer
        self.receiveBuffer = receiveBuffer
        self.connectTimeout = connectTimeout
        self.flowControl = flowControl
    }
}

/// How a connection-oriented channel on LE is opened (`BT_MODE`; Core Vol 3 Part A §10.1, §10.2).
///
/// Either way the receiver gives out credits, one for each frame, and the sender waits while it has none.
public enum L2CAPFlowControl: UInt8, Sendable {
    /// LE Credit Based Flow Control Mode: an MTU of 23 bytes or more, every kernel has it.
    case leCreditBased = 3
    /// Enhanced Credit Based Flow Control Mode (`enable_ecred`): an MTU of 64 bytes or more.
    case enhancedCreditBased = 4
}
