import ATT
import BluetoothPrimitives
import KernelHost
import Logging

/// Records what goes over a bearer, in the log and in the trace.
struct BearerRecord {
    /// The device at the other end.
    let peer: BluetoothAddress
    private let log: Logger
    private let trace: ChannelTrace?

    init(of peer: BluetoothAddress, in log: Logger, _ trace: ChannelTrace?) {
        (self.peer, self.log, self.trace) = (peer, log, trace)
    }

    // Inlined with what follows, as every packet passes here.
    @inline(__always) func sent(_ pdu: RawSpan) {
        trace?.sent(pdu)
        log.trace("ATT → \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    @inline(__always) func received(_ pdu: RawSpan) {
        trace?.received(pdu)
        log.trace("ATT ← \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    /// Takes note of an oddity.
    func note(_ oddity: @autoclosure () -> String) {
        log.debug("\(oddity())", metadata: ["peer": "\(peer)"])
    }
}
