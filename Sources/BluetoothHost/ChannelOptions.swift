import BluetoothPrimitives

/// How a connection-oriented channel is opened or offered.
public struct ChannelOptions: Hashable, Sendable {
    /// The most time until a channel is open, with the link where there is none yet and pairing where it is needed; nil
    /// for ever. Of no meaning to a listener.
    public var timeout: Duration?
    /// The largest SDU to receive: 23 to 65 535 bytes, with ``L2CAPFlowControl/enhancedCreditBased`` at least 64. What
    /// is less is raised to that.
    public var maximumTransmissionUnit: UInt16
    /// How the channel is opened; a peer accepts the one or the other or both.
    public var flowControl: L2CAPFlowControl
    /// How the link has to be protected: pairing begins by itself where it is not; nil leaves it as it is.
    public var security: SecurityLevel?
    /// The send buffer in bytes (`SO_SNDBUF`); nil leaves the kernel's choice, about 200 kB.
    public var sendBuffer: Int?
    /// The receive buffer in bytes (`SO_RCVBUF`); nil leaves the kernel's choice, about 200 kB. Credits for the peer are
    /// reckoned from what is free in it.
    public var receiveBuffer: Int?

    /// Options with the usual choices: 30 s, SDUs of up to 2048 bytes, LE credit based flow control, any link.
    public init(
        timeout: Duration? = .seconds(30), maximumTransmissionUnit: UInt16 = 2048,
        flowControl: L2CAPFlowControl = .leCreditBased, security: SecurityLevel? = nil, sendBuffer: Int? = nil,
        receiveBuffer: Int? = nil
    ) {
        self.timeout = timeout
        self.maximumTransmissionUnit = maximumTransmissionUnit
        self.flowControl = flowControl
        self.security = security
        self.sendBuffer = sendBuffer
        self.receiveBuffer = receiveBuffer
    }
}

extension ChannelOptions {
    /// The kernel gives up after 40 s by itself; our own time limit comes first.
    package var socketOptions: L2CAPOptions {
        let smallest: UInt16 = flowControl == .enhancedCreditBased ? 64 : 23
        return L2CAPOptions(
            security: security, receiveMTU: max(smallest, maximumTransmissionUnit), sendBuffer: sendBuffer,
            receiveBuffer: receiveBuffer, connectTimeout: (timeout ?? .seconds(86400)) + .seconds(5),
            flowControl: flowControl)
    }
}
