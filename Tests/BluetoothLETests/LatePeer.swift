import BluetoothATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothGATT
import BluetoothSimulation
import Synchronization

/// A device that responds to one kind of request, or confirms indications, later than the rest.
///
/// ```
/// 0001 service FFF0   0002 0003 FFF1 stored, read, write, 0004 CCCD   0005 0006 FFF2 stored, 40 bytes
/// ```
final class LatePeer: Sendable {
    private struct State {
        var database: AttributeDatabase
        var late: ATTOpcode?
        var delay = Duration.zero
        var received: [[UInt8]] = []
        var links: [SimulatedLink] = []
    }

    static let short: AttributeHandle = 0x03
    static let configuration: AttributeHandle = 0x04
    static let long: AttributeHandle = 0x06
    private static let longValue = [UInt8](0..<40)

    private let state: Mutex<State>

    init() throws {
        let service = GATTService(
            0xFFF0,
            characteristics: [
                GATTCharacteristic(0xFFF1, properties: [.read, .write, .notify], value: .stored([1])),
                GATTCharacteristic(0xFFF2, properties: [.read, .write], value: .stored(Self.longValue)),
            ])
        state = Mutex(State(database: try AttributeDatabase([service])))
    }

    func peripheral(on radio: SimulatedRadio) -> SimulatedPeripheral {
        SimulatedPeripheral(on: radio) { link in
            self.state.withLock { $0.links.append(link) }
            return Session(self, radio.loop)
        }
    }

    /// Responds at once from now on, but to `opcode` after `delay`.
    func delay(_ opcode: ATTOpcode?, by delay: Duration = .zero) {
        state.withLock { ($0.late, $0.delay) = (opcode, delay) }
    }

    /// Sends an unsolicited PDU on the newest link.
    func send(_ pdu: [UInt8]) {
        _ = state.withLock { $0.links.last }?.send(pdu)
    }

    /// The number of links so far.
    var linkCount: Int { state.withLock { $0.links.count } }

    /// The number of received PDUs with this opcode.
    func count(of opcode: ATTOpcode) -> Int {
        state.withLock { $0.received.count { $0.first == opcode.rawValue } }
    }

    /// The response and its delay.
    fileprivate func take(_ pdu: RawSpan, _ server: inout GATTServer) -> (answer: [UInt8], delay: Duration) {
        let bytes = [UInt8](pdu)
        return state.withLock { state in
            state.received.append(bytes)
            let opcode = ATTOpcode(bytes.first ?? 0)
            let delay = opcode == state.late ? state.delay : .zero
            if opcode == .handleValueIndication { return ([ATTOpcode.handleValueConfirmation.rawValue], delay) }
            var writer = ByteWriter(growingTo: 517)
            _ = server.receive(bytes.span.bytes, database: &state.database, into: &writer)
            return (writer.bytes, delay)
        }
    }

    private final class Session: SimulatedLinkHandler {
        private let peer: LatePeer
        private let loop: EventLoop
        private let server = Mutex(GATTServer())
        private let timers = Mutex<[LoopTimer]>([])

        init(_ peer: LatePeer, _ loop: EventLoop) {
            self.peer = peer
            self.loop = loop
        }

        func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
            let (answer, delay) = server.withLock { peer.take(packet, &$0) }
            guard !answer.isEmpty else { return }
            guard delay > .zero else {
                link.send(answer)
                return
            }
            let timer = loop.makeTimer { link.send(answer) }
            timer.set(after: delay)
            timers.withLock { $0.append(timer) }
        }
    }
}
