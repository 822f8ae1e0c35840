import BluetoothATT
import BluetoothPrimitives

/// Options of a connection-oriented channel that is opened or listened for.
public struct ChannelOptions: Hashable, Sendable {
    /// The time limit until the channel is open, including the link and pairing where they are needed; nil for none. A
    /// listener ignores it.
    public var timeout: Duration?
    /// The largest SDU to receive: 23 to 65 535 bytes, with ``L2CAPFlowControl/enhancedCreditBased`` at least 64.
    /// Other values are clamped.
    public var maximumTransmissionUnit: Int
    /// The flow control mode; a peer accepts one of the two or both.
    public var flowControl: L2CAPFlowControl
    /// The security level required of the link: a link below it is paired automatically; nil leaves the link as it is.
    public var security: SecurityLevel?
    /// Whether a channel to a device with a bond is opened without encryption with the bond's key, which
    /// `Adapter.openChannel` asks for otherwise: any device can have the address of another. A listener ignores it.
    public var leavesBondedLinksUnencrypted = false
    /// The send buffer in bytes (`SO_SNDBUF`); nil leaves the kernel's default, about 200 kB.
    public var sendBuffer: Int?
    /// The receive buffer in bytes (`SO_RCVBUF`); nil leaves the kernel's default, about 200 kB. The credits given to
    /// the peer follow from its free space.
    public var receiveBuffer: Int?

    /// Creates options with the usual defaults: 30 s, SDUs of up to 2048 bytes, LE credit based flow control, no
    /// security requirement.
    public init(
        timeout: Duration? = .seconds(30), maximumTransmissionUnit: Int = 2048,
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

extension L2CAPChannel {
    /// An enhanced attribute bearer.
    package static let enhancedBearer = L2CAPChannel.dynamic(
        psm: AttributeProtocol.enhancedProtocolServiceMultiplexer)
}

extension ChannelOptions {
    /// The socket options.
    package var socketOptions: L2CAPOptions {
        let smallest = flowControl == .enhancedCreditBased ? 64 : 23
        return L2CAPOptions(
            security: security, receiveMTU: UInt16(clamping: max(smallest, maximumTransmissionUnit)),
            sendBuffer: sendBuffer,
            receiveBuffer: receiveBuffer, flowControl: flowControl)
    }
}
