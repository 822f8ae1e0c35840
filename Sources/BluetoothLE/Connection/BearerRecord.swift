import ATT
import BluetoothPrimitives
import Logging

/// Records what goes over a bearer, in the log.
struct BearerRecord {
    /// The device at the other end.
    let peer: BluetoothAddress
    private let log: Logger

    init(of peer: BluetoothAddress, in log: Logger) {
        (self.peer, self.log) = (peer, log)
    }

    // Inlined with what follows, as every packet passes here.
    @inline(__always) func sent(_ pdu: RawSpan) {
        log.trace("ATT → \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    @inline(__always) func received(_ pdu: RawSpan) {
        log.trace("ATT ← \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    /// Takes note of an oddity.
    func note(_ oddity: @autoclosure () -> String) {
        log.debug("\(oddity())", metadata: ["peer": "\(peer)"])
    }
}
