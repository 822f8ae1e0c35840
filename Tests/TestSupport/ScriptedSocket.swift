import BluetoothSockets
import BluetoothPrimitives
import Synchronization

/// What a scripted peer expects next, and what it does then.
public struct Exchange: Sendable {
    var expected: [UInt8]?
    var answers: [[UInt8]]
    var end: KernelError?
    var isOptional = false

    /// May see `expected`, last of all, and answers then.
    public static func optional(_ expected: String, _ answers: String...) -> Exchange {
        var exchange = Exchange(expected)
        exchange.answers = answers.map(hex)
        exchange.isOptional = true
        return exchange
    }

    /// Expects `expected` (nil: anything) and answers with packets, then ends the socket if told so.
    public init(_ expected: String?, _ answers: String..., end: KernelError? = nil) {
        self.expected = expected.map(hex)
        self.answers = answers.map(hex)
        self.end = end
    }
}

/// A socket whose other end follows a script: these bytes are expected, those are answered.
///
/// What deviates is kept in ``problems``, which a test looks at in the end.
public final class ScriptedSocket: L2CAPSocket {
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
    /// The other end's address.
    public let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)

    /// A connected socket whose peer follows `script`.
    public init(_ script: [Exchange], on loop: EventLoop, _ handler: @escaping SocketHandler) {
        state = Mutex(State(script: script))
        self.loop = loop
        self.handler = LoopBound(handler, on: loop)
    }

    // MARK: What the test does and sees

    /// What was sent that the script did not expect, and what it expected in vain.
    public var problems: [String] {
        state.withLock { state in
            state.problems
                + state.script.filter { !$0.isOptional }.map { "not sent: \($0.expected?.hexadecimal ?? "anything")" }
        }
    }

    /// Everything that was sent.
    public var sent: [[UInt8]] { state.withLock { $0.sent } }

    /// Whether everything that was delivered has been received.
    public var isDrained: Bool { state.withLock { $0.inbound.isEmpty } }

    /// Whether it has been closed from this end.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The other end sends a packet of its own accord.
    public func deliver(_ packet: String) {
        state.withLock { $0.inbound.append(hex(packet)) }
        schedule()
    }

    /// The socket ends.
    public func end(_ error: KernelError) {
        state.withLock { $0.end = error }
        schedule()
    }

    /// Sending fails with `error` once, and as not connected from then on, as on a socket whose end was not told yet.
    public func failSends(_ error: KernelError) {
        state.withLock { $0.sendFailure = error }
    }

    /// The send buffer is full, or has room again.
    public func setFull(_ isFull: Bool) {
        state.withLock { $0.isFull = isFull }
        schedule()
    }

    /// The link is being encrypted, so that the kernel refuses to send, or is no longer.
    public func setEncrypting(_ isEncrypting: Bool) {
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

    /// Follows the script: takes what it expects next, and answers.
    public func send(_ packet: RawSpan) -> SendOutcome {
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

    /// Hands out what the other end has sent.
    public func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        let packet = state.withLock { state in state.inbound.isEmpty ? nil : state.inbound.removeFirst() }
        guard let packet else {
            return state.withLock { $0.end }.map { .failed($0) } ?? .wouldBlock
        }
        body(packet.span.bytes)
        return .packet
    }

    /// Tells once ``setFull(_:)`` has made room.
    public func notifyWhenWritable() {
        state.withLock { $0.wantsWritable = true }
        schedule()
    }

    /// Stops or resumes telling of packets.
    public func setReading(_ isOn: Bool) {
        state.withLock { $0.isReading = isOn }
        schedule()
    }

    /// Tells nothing any more.
    public func close() {
        state.withLock { $0.isClosed = true }
    }

    // MARK: L2CAPSocket

    /// Always the same; nothing is told while the link is being encrypted.
    public func connectionHandle() throws(KernelError) -> UInt16 {
        guard !state.withLock({ $0.isEncrypting }) else { throw KernelError("getsockopt", .notConnected) }
        return 0x0040
    }

    /// What ``raiseSecurity(to:)`` was asked for.
    public func security() throws(KernelError) -> LinkSecurity { state.withLock { $0.security } }

    /// Is granted at once.
    public func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        state.withLock { $0.security = LinkSecurity(level: level, keySize: 16) }
    }

    /// The kernel's usual ones.
    public func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) { (672, 672) }
}
