/// An L2CAP channel of a link (Core Vol 3 Part A §2.1, §4.22).
public enum L2CAPChannel: Hashable, Sendable {
    /// A fixed channel with its channel identifier.
    case fixed(UInt16)
    /// A connection-oriented channel with its PSM.
    case dynamic(psm: UInt16)

    /// The Attribute Protocol's fixed channel on LE, 0x0004.
    public static let attribute = L2CAPChannel.fixed(0x0004)
}

/// The options of a socket, set before it connects or listens. Nil keeps the kernel's default.
public struct L2CAPOptions: Hashable, Sendable {
    /// The security level of the link; nil for no requirement.
    public var security: SecurityLevel?
    /// The maximum size of received packets in bytes (`BT_RCVMTU`); the kernel's default is 672.
    public var receiveMTU: UInt16?
    /// The maximum size of sent packets in bytes (`BT_SNDMTU`); the kernel's default is 672.
    public var sendMTU: UInt16?
    /// The size of the send buffer in bytes (`SO_SNDBUF`); a small one limits latency and applies back-pressure early.
    public var sendBuffer: Int?
    /// The size of the receive buffer in bytes (`SO_RCVBUFFORCE`, else `SO_RCVBUF`). On fixed channels the kernel drops
    /// packets that do not fit.
    public var receiveBuffer: Int?
    /// The timeout of a connection attempt (`SO_SNDTIMEO`); the kernel's default is 40 s.
    public var connectTimeout: Duration?
    /// The flow control mode of a connection-oriented channel (`BT_MODE`); the kernel's default is
    /// ``L2CAPFlowControl/leCreditBased``.
    public var flowControl: L2CAPFlowControl?

    /// The given options, with the kernel's defaults for all others.
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

/// The flow control mode of a connection-oriented channel on LE (`BT_MODE`; Core Vol 3 Part A §10.1, §10.2).
///
/// In both modes the receiver grants credits, one for each frame, and the sender waits while it has none.
public enum L2CAPFlowControl: UInt8, Sendable {
    /// LE Credit Based Flow Control Mode: an MTU of at least 23 bytes, supported by every kernel.
    case leCreditBased = 3
    /// Enhanced Credit Based Flow Control Mode (`enable_ecred`): an MTU of at least 64 bytes.
    case enhancedCreditBased = 4
}
