import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import Logging

@testable import BluetoothKernelHost

let managementClient = FuzzTarget(name: "management-client") { InputLoop($0).run() }

/// The driver of a loop on the calling thread: when the loop would wait, an input follows, or time passes.
private final class InputLoop: EventLoopDriver, @unchecked Sendable {
    // Unchecked: it is used on the input's thread alone.
    private(set) var now = KernelInstant(nanoseconds: 0)
    let isOnLoopThread = true
    private var source: ByteSource
    private var next: (KernelInstant?) -> Void = { _ in }

    init(_ input: UnsafeRawBufferPointer) { source = ByteSource(input) }

    func run() {
        let loop = EventLoop(driver: self)
        loop.runMainActor {
            let story = ManagementStory(on: loop)
            next = { [unowned self, unowned loop] deadline in
                if let deadline, deadline <= now { return }
                switch source.byte() {
                case 0xE0..<0xF0: now = now.advanced(by: source.duration())
                case ..<0xE0 where !source.isEmpty: story.step(&source)
                default:
                    if let deadline { return now = deadline }
                    guard source.isEmpty else { return }
                    story.end()
                    loop.stop()
                }
            }
        }
        next = { _ in }
    }

    func start(_ body: @escaping @Sendable () -> Void) { fault("the loop has a thread") }
    func wait(until deadline: KernelInstant?) { next(deadline) }
    func wake() {}
}

/// A management socket of a kernel that has no other ones.
private final class InputSocket: PacketSocket, @unchecked Sendable {
    // Unchecked: it is used on the input's thread alone.
    private unowned let kernel: InputKernel
    private let handler: SocketHandler
    private var inbound: [[UInt8]] = []
    private(set) var isOpen = true
    /// The commands that the kernel has not answered.
    private(set) var outstanding: [(opcode: ManagementOpcode, index: UInt16)] = []

    init(_ kernel: InputKernel, _ handler: @escaping SocketHandler) { (self.kernel, self.handler) = (kernel, handler) }

    func deliver(_ packet: [UInt8]) {
        if let packet = try? ManagementPacket(decoding: packet.span.bytes) {
            let status = try? packet.as(ManagementCommandStatus.self)
            let complete = try? packet.commandComplete()
            let opcode = complete?.opcode ?? status?.opcode
            outstanding.removeAll { $0.opcode == opcode && $0.index == packet.index }
        }
        inbound.append(packet)
        handler(.readable)
        require(!isOpen || inbound.isEmpty, "\(packet) is not received")
    }

    func end() { handler(.closed(KernelError("read", .networkDown))) }

    func send(_ packet: RawSpan) -> SendOutcome {
        require(isOpen, "a packet is sent to a closed socket")
        guard kernel.outcome == .sent, let packet = try? ManagementPacket(decoding: packet) else {
            return kernel.outcome
        }
        let key = (ManagementOpcode(rawValue: packet.code), packet.index)
        require(!outstanding.contains { $0 == key }, "two commands \(key) are outstanding")
        outstanding.append(key)
        return .sent
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        guard let packet = inbound.popLast() else { return .wouldBlock }
        body(packet.span.bytes)
        return .packet
    }

    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {}
    func close() { isOpen = false }
}

private final class InputKernel: WrappingKernel, @unchecked Sendable {
    // Unchecked: it is used on the input's thread alone.
    private static let simulated = SimulatedRadio().makeKernel()
    let base = simulated
    let loop: EventLoop
    var outcome = SendOutcome.sent
    var refusesSockets = false
    private(set) var sockets: [InputSocket] = []

    init(_ loop: EventLoop) { self.loop = loop }

    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        if refusesSockets { throw KernelError("socket", .networkDown) }
        let socket = InputSocket(self, handler)
        sockets = sockets.filter(\.isOpen) + [socket]
        return socket
    }
}

/// Commands to a kernel whose replies are the input: of a kind one at a time for each adapter, and each ends once.
private final class ManagementStory: AdapterNoticeReceiver {
    private let (kernel, client): (InputKernel, ManagementClient)
    /// The commands without an end; false for one that was abandoned.
    private var pending: [Int: Bool] = [:]
    private var (count, isFollowing, isOver) = (0, false, false)
    private let log = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }

    init(on loop: EventLoop) {
        kernel = InputKernel(loop)
        client = ManagementClient(on: kernel, log: log)
    }

    private var open: [InputSocket] { kernel.sockets.filter(\.isOpen) }

    func step(_ source: inout ByteSource) {
        let index = UInt16(source.byte() & 1)
        switch source.number(below: 12) {
        case 0: send(ManagementSetConnectable(source.flag()), index, whenIdle: source.flag())
        case 1: send(ManagementSetPowered(source.flag()), index, whenIdle: source.flag())
        case 2: send(ManagementReadControllerInformation(), index, whenIdle: false)
        case 3, 4: reply(1, source.byte() & 0x1F, source.bytes(atMost: 20), &source)
        case 5: reply(2, source.byte() & 0x1F, [], &source)
        case 6: reply(2, ManagementStatus.busy.rawValue, [], &source)
        case 7:
            let event = source.bytes(atMost: 30)
            source.choose(open)?.deliver([source.byte() % 48, 0, UInt8(index), 0, UInt8(event.count), 0] + event)
        case 8:
            kernel.outcome = source.choose([.sent, .sent, .wouldBlock, .failed(.init("send", .networkDown))]) ?? .sent
        case 9: if let number = source.choose(pending.keys.sorted()) { pending[number] = false }
        case 10:
            client.unfollow(self)
            isFollowing = source.flag() && (try? client.follow(self)) != nil
        default:
            kernel.refusesSockets = source.flag()
            let choice = source.byte()
            if choice > 0xF8 { close() } else if choice > 0xF0 { source.choose(open)?.end() }
        }
        require(pending.count < 80 && open.count < 8, "\(pending.count) commands, \(open.count) sockets")
    }

    /// Replies to a command that a socket has sent.
    private func reply(_ event: UInt8, _ status: UInt8, _ value: [UInt8], _ source: inout ByteSource) {
        guard let socket = source.choose(open), let key = source.choose(socket.outstanding) else { return }
        let opcode = key.opcode.rawValue
        let answer = [UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), status] + value
        socket.deliver([event, 0, UInt8(key.index), 0, UInt8(answer.count), 0] + answer)
    }

    private func send(_ command: some ManagementCommand, _ index: UInt16, whenIdle: Bool) {
        count += 1
        let number = count
        pending[number] = true
        client.perform(
            command, on: index, whenIdle: whenIdle, isAbandoned: { [unowned self] in pending[number] == false }
        ) { [unowned self] _ in
            require(pending.removeValue(forKey: number) != nil, "command \(number) ends twice")
        }
        require(!isOver || pending[number] == nil, "a client that has ended takes a command")
    }

    func receive(_ notice: AdapterNotice) {
        require(isFollowing, "a notice for nobody")
        if case .lost = notice { isOver = true }
    }

    private func close() {
        client.close(.cancelled(.init("fuzz")))
        isOver = true
        require(!pending.values.contains(true) && open.isEmpty, "\(pending) after the end")
    }

    /// Ends the client, which has come to rest: no timer is set.
    func end() {
        require(!pending.values.contains(true), "\(pending) without an end")
        close()
    }
}
