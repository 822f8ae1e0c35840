import BluetoothKernel
import BluetoothPrimitives
import KernelHost
import Logging

extension ConnectionOrientedChannel {
    /// A channel over a socket that is connected already, such as one of a pair that stands for a link in a test.
    /// - Parameters:
    ///   - connect: hands over the socket and is given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - psm: the service's number.
    ///   - loop: the loop that owns the socket.
    ///   - log: where the channel's end is told.
    public convenience init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop, log: Logger = Logger(label: "bluetooth.channel")
    ) async throws(KernelError) {
        self.init(
            sending: CreditBasedChannel(to: peer, psm: psm, on: loop, log: log), to: peer, psm: psm, on: loop)
        try await core { (channel) throws(KernelError) in
            try channel.adopt { (handler) throws(KernelError) in
                try KernelChannel(connect, of: peer, .dynamic(psm: psm), nil, on: loop, handler)
            }
        }
    }
}
