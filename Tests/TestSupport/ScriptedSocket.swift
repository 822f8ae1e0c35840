import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Synchronization

/// A step of a scripted peer: the packet it expects, and its answers.
package struct Exchange: Sendable {
    var expected: [UInt8]?
    var answers: [[UInt8]]
    var end: KernelError?
    var isOptional = false

    /// An optional step, the last: if `expected` arrives, it is answered.
    package static func optional(_ expected: String, _ answers: String...) -> Exchange {
        var exchange = Exchange(expected)
        exchange.answers = answers.map(hex)
        exchange.isOptional = true
        return exchange
    }

    /// Creates a step that expects `expected` (nil: anything) and answers with packets, then ends the socket if `end`
    /// is given.
    package init(_ expected: String?, _ answers: String..., end: KernelError? = nil) {
        self.expected = expected.map(hex)
        self.answers = answers.map(hex)
        self.end = end
    }
}

/// A socket whose peer follows a script of expected packets and answers.
///
/// Deviations are recorded in ``problems``, which a test checks at the end.
package final class ScriptedSocket: L2CAPSocket {
    private struct State {
        var script: [Exchange]
        var inbound: [[UInt8]] = []
        var end: KernelError?
        var isFull = false
        var isEncrypting = false
        var sendFailure: KernelError?
        var wantsWritable = false
        var isReading = true
        var isClosed = false
        var hasToldEnd = false
        var isScheduled = false
        var sent: [[UInt8]] = []
        var problems: [String] = []
        var security = LinkSecurity(level: .low, keySize: 0)
    }

    private let state: Mutex<State>
    private let loop: EventLoop
    private let handler: LoopBound<SocketHandler>
    /// The peer's address.
    package let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)

    /// A connected socket whose peer follows `script`.
    package init(_ script: [Exchange], on loop: EventLoop, _ handler: @escaping SocketHandler) {
        state = Mutex(State(script: script))
        self.loop = loop
        self.handler = LoopBound(handler, on: loop)
    }

    // MARK: Control and observation by the test

    /// The packets sent that the script did not expect, and those it expected in vain.
    package var problems: [String] {
        state.withLock { state in
            state.problems
                + state.script.filter { !$0.isOptional }.map { "not sent: \($0.expected?.hexadecimal ?? "anything")" }
        }
    }

    /// All packets sent.
    package var sent: [[UInt8]] { state.withLock { $0.sent } }

    /// Whether all delivered packets have been received.
    package var isDrained: Bool { state.withLock { $0.inbound.isEmpty } }

    /// Whether this end has closed it.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Delivers a packet of the peer without a request.
    package func deliver(_ packet: String) {
        state.withLock { $0.inbound.append(hex(packet)) }
        schedule()
    }

    /// Ends the socket.
    package func end(_ error: KernelError) {
        state.withLock { $0.end = error }
        schedule()
    }

    /// Makes sending fail with `error` once, and as not connected from then on, as on a socket whose end was not
    /// reported yet.
    package func failSends(_ error: KernelError) {
        state.withLock { $0.sendFailure = error }
    }

    /// Makes the send buffer full, or empty again.
    package func setFull(_ isFull: Bool) {
        state.withLock { $0.isFull = isFull }
        schedule()
    }

    /// Sets whether the link is being encrypted, so that the kernel refuses to send.
    package func setEncrypting(_ isEncrypting: Bool) {
        state.withLock { $0.isEncrypting = isEncrypting }
        schedule()
    }

    private func schedule() {
        let isFirst = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { loop.execute { [weak self] in self?.tell() } }
    }

    private func tell() {
        let event = state.withLock { state -> SocketEvent? in
            state.isScheduled = false
            guard !state.isClosed else { return nil }
            if !state.inbound.isEmpty, state.isReading { return .readable }
            if state.wantsWritable, !state.isFull, !state.isEncrypting, state.end == nil {
                state.wantsWritable = false
                return .writable
            }
            if let end = state.end, !state.hasToldEnd {
                state.hasToldEnd = true
                return .closed(end)
            }
            return nil
        }
        guard let event else { return }
        handler.value(event)
        schedule()
    }

    // MARK: PacketSocket

    /// Follows the script: compares the packet, and queues the answers.
    package func send(_ packet: RawSpan) -> SendOutcome {
        let bytes = [UInt8](packet)
        let outcome = state.withLock { state -> SendOutcome in
            if state.isClosed { return .failed(KernelError("send", .badFileDescriptor)) }
            if let error = state.sendFailure {
                state.sendFailure = KernelError("send", .notConnected)
                return .failed(error)
            }
            if state.end != nil { return .failed(KernelError("send", .notConnected)) }
            if state.isEncrypting { return .failed(KernelError("send", .notConnected)) }
            if state.isFull { return .wouldBlock }
            state.sent.append(bytes)
            guard !state.script.isEmpty else {
                state.problems.append("sent beyond the script: \(bytes.hexadecimal)")
                return .sent
            }
            let exchange = state.script.removeFirst()
            if let expected = exchange.expected, expected != bytes {
                state.problems.append("sent \(bytes.hexadecimal), expected \(expected.hexadecimal)")
            }
            state.inbound += exchange.answers
            state.end = exchange.end
            return .sent
        }
        schedule()
        return outcome
    }

    /// Returns the peer's packets.
    package func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        let packet = state.withLock { state in state.inbound.isEmpty ? nil : state.inbound.removeFirst() }
        guard let packet else {
            return state.withLock { $0.end }.map { .failed($0) } ?? .wouldBlock
        }
        body(packet.span.bytes)
        return .packet
    }

    /// Reports writability once ``setFull(_:)`` has made room.
    package func notifyWhenWritable() {
        state.withLock { $0.wantsWritable = true }
        schedule()
    }

    /// Pauses or resumes the events of packets.
    package func setReading(_ isOn: Bool) {
        state.withLock { $0.isReading = isOn }
        schedule()
    }

    /// Stops all events.
    package func close() {
        state.withLock { $0.isClosed = true }
    }

    // MARK: L2CAPSocket

    /// Constant; not available while the link is being encrypted.
    package func connectionHandle() throws(KernelError) -> UInt16 {
        guard !state.withLock({ $0.isEncrypting }) else { throw KernelError("getsockopt", .notConnected) }
        return 0x0040
    }

    /// The level requested by ``raiseSecurity(to:)``.
    package func security() throws(KernelError) -> LinkSecurity { state.withLock { $0.security } }

    /// Succeeds at once.
    package func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        state.withLock { $0.security = LinkSecurity(level: level, keySize: 16) }
    }

    /// The kernel's defaults.
    package func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) { (672, 672) }
}
