import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothPrimitives
import Logging

/// The core of a bearer and the PDU that it sends next.
///
/// Together, since an access to a variable of a class costs as much as encoding a PDU: there is one for each step.
struct BearerWire: ~Copyable {
    var core: ATTBearerCore
    private var writer = ByteWriter(growingTo: 517)

    init(_ core: consuming ATTBearerCore) { self.core = core }

    mutating func next() -> ATTBearerCore.Step? { core.next(into: &writer) }

    mutating func encodeCommand(_ value: RawSpan, to handle: AttributeHandle) -> Bool {
        core.encodeCommand(value, to: handle, into: &writer)
    }

    mutating func encodeNotification(
        _ value: RawSpan, of characteristic: AttributeHandle, database: borrowing AttributeDatabase
    ) -> Bool {
        core.encodeNotification(value, of: characteristic, database: database, into: &writer)
    }

    mutating func encodeValue(database: borrowing AttributeDatabase) -> Bool {
        core.encodeValue(database: database, into: &writer)
    }

    /// Sends the PDU, and logs it if it was sent. Nothing changes meanwhile: the log's handler may ask for the bearer's state.
    borrowing func send(on channel: any HostChannel, _ record: BearerRecord) -> ChannelSend {
        let outcome = channel.send(writer.span)
        if outcome == .sent { record.sent(writer.span) }
        return outcome
    }
}

/// The log of a bearer's PDUs.
struct BearerRecord {
    /// The device at the other end.
    let peer: BluetoothAddress
    private let log: Logger

    init(of peer: BluetoothAddress, in log: Logger) {
        (self.peer, self.log) = (peer, log)
    }

    // Inlined, as every packet passes here.
    @inline(__always) func sent(_ pdu: RawSpan) {
        log.trace("ATT → \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    @inline(__always) func received(_ pdu: RawSpan) {
        log.trace("ATT ← \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    /// Logs an oddity.
    func note(_ oddity: @autoclosure () -> String) {
        log.debug("\(oddity())", metadata: ["peer": "\(peer)"])
    }
}
