import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothKernelHost

@Suite struct HCICommandQueueTests {
    /// An input of the queue.
    private enum Input: CaseIterable {
        case send, sendAnother
        case complete, completeAnother, refuse
        case otherCommand, otherAnswer
        case socketIsFull, socketFails, socketOpens
        case socketCloses
        case rest, need, needNoMore
        case end, close, reopen
    }

    private static let features = LEReadLocalSupportedFeatures()
    private static let reset = HCIReset()
    private static let gone = BluetoothError(.adapterOff, .init("use the adapter"), "The adapter is off.")

    /// Every sequence of inputs of this length, on a simulated machine: the invariants hold after each.
    @Test func everyInputInEveryState() async throws {
        try await Self.onLoop { kernel in
            for first in Input.allCases {
                for second in Input.allCases {
                    for third in Input.allCases {
                        for fourth in Input.allCases {
                            let fixture = Fixture(kernel)
                            let inputs = [first, second, third, fourth]
                            for input in inputs { fixture.take(input) }
                            fixture.finish()
                            if let problem = fixture.problem {
                                Issue.record("\(inputs): \(problem)")
                                return
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func answersComeInTheOrderOfTheCommands() async throws {
        try await Self.onLoop { kernel in
            let fixture = Fixture(kernel)
            for input in [Input.send, .sendAnother, .complete, .completeAnother] { fixture.take(input) }
            #expect(fixture.answers == ["features", "reset"])
            #expect(fixture.socket?.sent == [LEReadLocalSupportedFeatures.opcode, HCIReset.opcode])
        }
    }

    /// The answer to another program's command is not taken for one of ours, even if the same command is pending.
    @Test func theAnswerToAnothersCommandIsAnothers() async throws {
        try await Self.onLoop { kernel in
            let fixture = Fixture(kernel)
            for input in [Input.sendAnother, .otherCommand, .otherAnswer] { fixture.take(input) }
            // Additional return parameters, which a later version may append, are ignored.
            fixture.take(.otherCommand)
            fixture.socket?.deliver([4, 0x0E, 5, 1, 0x03, 0x0C, 0, 0xFF])
            #expect(fixture.answers == [])
            #expect(fixture.receiver.others == [HCIReset.opcode, HCIReset.opcode])
            fixture.take(.completeAnother)
            #expect(fixture.answers == ["reset"])
        }
    }

    @Test func whatIsNeverAnsweredFailsAfterFiveSeconds() async throws {
        let radio = SimulatedRadio()
        let kernel = ScriptedController(radio.makeKernel())
        try await radio.run(limit: .seconds(60), stallGrace: .seconds(2)) {
            let fixture = await radio.loop.run { LoopBound(Fixture(kernel), on: radio.loop) }
            await radio.loop.run { for input in [Input.send, .sendAnother] { fixture.value.take(input) } }
            try await radio.sleep(for: .milliseconds(4900))
            #expect(await radio.loop.run { fixture.value.answers } == [])
            try await radio.sleep(for: .milliseconds(200))
            #expect(await radio.loop.run { fixture.value.answers } == ["timedOut"])
            #expect(await radio.loop.run { fixture.value.socket?.sent.count } == 2)
            await radio.loop.run { fixture.value.finish() }
        }
        radio.close()
    }

    /// They are read together after the time, or at once when a command is sent.
    @Test func whatIsNotUrgentWaitsInTheSocket() async throws {
        let radio = SimulatedRadio()
        let kernel = ScriptedController(radio.makeKernel())
        try await radio.run(limit: .seconds(60), stallGrace: .seconds(2)) {
            let fixture = await radio.loop.run { LoopBound(Fixture(kernel), on: radio.loop) }
            let takes: @Sendable ([Input]) async -> Void = { inputs in
                await radio.loop.run { for input in inputs { fixture.value.take(input) } }
            }
            let others: @Sendable () async -> Int = { await radio.loop.run { fixture.value.receiver.others.count } }
            await radio.loop.run { fixture.value.receiver.batching = .milliseconds(10) }
            await takes([.need, .send, .complete, .otherCommand, .otherAnswer])
            try await radio.sleep(for: .milliseconds(9))
            #expect(await others() == 0)
            await takes([.otherCommand, .otherAnswer])
            try await radio.sleep(for: .milliseconds(2))
            #expect(await others() == 2)
            // They have begun another batch.
            await takes([.otherCommand, .otherAnswer])
            try await radio.sleep(for: .milliseconds(1))
            #expect(await others() == 2)
            await takes([.sendAnother])
            try await radio.sleep(for: .milliseconds(1))
            #expect(await others() == 3)
            await takes([.completeAnother])
            #expect(await radio.loop.run { fixture.value.answers } == ["features", "reset"])
            // After a time without packets the next one is read at once.
            try await radio.sleep(for: .milliseconds(11))
            await takes([.otherCommand])
            try await radio.sleep(for: .milliseconds(11))
            await takes([.otherAnswer])
            #expect(await others() == 4)
            await radio.loop.run { fixture.value.finish() }
            #expect(await radio.loop.run { fixture.value.problem } == nil)
        }
        radio.close()
    }

    private static func onLoop(_ body: @escaping @Sendable (ScriptedController) throws -> Void) async throws {
        let radio = SimulatedRadio()
        let kernel = ScriptedController(radio.makeKernel())
        try await radio.run(limit: .seconds(60), stallGrace: .seconds(30)) {
            try await radio.loop.run { try body(kernel) }
        }
        radio.close()
    }

    // MARK: The fixture

    /// A queue with a model of its state. Lives on the loop.
    private final class Fixture {
        let kernel: ScriptedController
        let queue: HCICommandQueue
        let receiver = Receiver()
        /// The numbers of sent, unanswered commands.
        private var open: Set<Int> = []
        private var count = 0
        private(set) var answers: [String] = []
        private(set) var problem: String?

        init(_ kernel: ScriptedController) {
            self.kernel = kernel
            kernel.begin()
            queue = HCICommandQueue(adapter: 0, on: kernel, log: Logger(label: "test"), trace: nil)
            receiver.queue = queue
            queue.receiver = receiver
        }

        var socket: ScriptedHCISocket? { kernel.sockets.last }

        func take(_ input: Input) {
            switch input {
            case .send: send(features)
            case .sendAnother: send(reset)
            case .complete: socket?.deliver([4, 0x0E, 12, 1, 0x03, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0])
            case .completeAnother: socket?.deliver([4, 0x0E, 4, 1, 0x03, 0x0C, 0])
            case .refuse: socket?.deliver([4, 0x0F, 4, 0x0C, 1, 0x03, 0x20])
            case .otherCommand: socket?.deliver([1, 0x03, 0x0C, 0])
            case .otherAnswer: socket?.deliver([4, 0x0F, 4, 0, 1, 0x03, 0x0C])
            case .socketIsFull: kernel.outcome = .wouldBlock
            case .socketFails: kernel.outcome = .failed(KernelError("write", .networkDown))
            case .socketOpens: kernel.outcome = .sent
            case .socketCloses:
                socket?.end()
                // As the queue's owner does.
                if receiver.hasLost { finish() }
            case .rest:
                queue.closeIfIdle()
                if !receiver.needsSocket, open.isEmpty, queue.hasSocket, queue.end == nil {
                    problem = "it does not rest"
                }
            case .need: receiver.needsSocket = true
            case .needNoMore: receiver.needsSocket = false
            case .end: queue.refuse(gone)
            case .close: queue.close()
            case .reopen: queue.reopen(3)
            }
            check()
        }

        private func send<Command: HCICommand>(_ command: Command) {
            count += 1
            let number = count
            open.insert(number)
            let isOver = queue.end != nil
            queue.send(command) { [weak self] answer in self?.answered(number, answer) }
            if isOver, open.contains(number) { problem = "a queue that has ended takes a command" }
        }

        private func answered<Return>(_ number: Int, _ answer: Result<Return, BluetoothError>) {
            guard open.remove(number) != nil else { return problem = "command \(number) is answered twice" }
            switch answer {
            case .success(let value): answers.append(value is LEFeatures ? "features" : "reset")
            case .failure(let error): answers.append("\(error.code)")
            }
        }

        private func check() {
            if kernel.sockets.count(where: { !$0.isClosed }) > 1 { problem = "two sockets are open" }
            if (kernel.sockets.last.map { !$0.isClosed } ?? false) != queue.hasSocket, !receiver.hasLost {
                problem = "the socket is open, and has no owner"
            }
        }

        /// Ends the queue: every command is answered then, and no socket remains.
        func finish() {
            queue.refuse(gone)
            queue.close()
            if !open.isEmpty { problem = "\(open.count) commands are never answered" }
            if kernel.sockets.contains(where: { !$0.isClosed }) { problem = "a socket is left open" }
        }
    }

    private final class Receiver: HCIReceiver {
        var needsSocket = false
        var batching = Duration.zero
        private(set) var others: [HCIOpcode] = []
        private(set) var hasLost = false

        weak var queue: HCICommandQueue?

        func handle(_ event: SocketEvent) { queue?.handle(event, for: self) }
        func receive(_ reports: AdvertisingReports) {}
        func receive(_ event: HCIEventPacket) {}
        func receiveOthers(_ command: AnyHCICommand, _ status: HCIStatus) { others.append(command.opcode) }
        func wasUnanswered(_ command: HCIOpcode) {}
        func couldNotSend() {}
        func socketClosed(_ error: KernelError) { hasLost = true }
        func socketDidClose() {}
    }
}

/// A kernel with scripted raw sockets.
private final class ScriptedController: WrappingKernel {
    private struct State {
        var outcome = SendOutcome.sent
        var sockets: [ScriptedHCISocket] = []
    }

    let base: SimulatedKernel
    private let state = Mutex(State())

    init(_ base: SimulatedKernel) { self.base = base }

    /// The outcome of the next packets.
    var outcome: SendOutcome {
        get { state.withLock { $0.outcome } }
        set { state.withLock { $0.outcome = newValue } }
    }

    /// All opened sockets.
    var sockets: [ScriptedHCISocket] { state.withLock { $0.sockets } }

    /// Resets the state.
    func begin() { state.withLock { $0 = State() } }

    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        let socket = ScriptedHCISocket(self, LoopBound(handler, on: loop))
        state.withLock { $0.sockets.append(socket) }
        return socket
    }
}

private final class ScriptedHCISocket: HCISocket {
    private struct State {
        var sent: [HCIOpcode] = []
        var inbound: [[UInt8]] = []
        var isReading = true
        var isClosed = false
    }

    private let kernel: ScriptedController
    private let handler: LoopBound<SocketHandler>
    private let state = Mutex(State())

    init(_ kernel: ScriptedController, _ handler: LoopBound<SocketHandler>) {
        (self.kernel, self.handler) = (kernel, handler)
    }

    var sent: [HCIOpcode] { state.withLock { $0.sent } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Delivers a packet; does nothing if the socket is closed.
    func deliver(_ packet: [UInt8]) {
        guard !isClosed else { return }
        state.withLock { $0.inbound.append(packet) }
        tell()
    }

    /// Reports the next packet.
    private func tell() {
        if state.withLock({ $0.isReading && !$0.isClosed && !$0.inbound.isEmpty }) { handler.value(.readable) }
    }

    /// Ends the socket.
    func end() {
        if !isClosed { handler.value(.closed(KernelError("read", .networkDown))) }
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        let outcome = kernel.outcome
        if outcome == .sent, let command = try? HCICommandPacket(decoding: packet) {
            state.withLock { $0.sent.append(command.opcode) }
        }
        return outcome
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        guard let packet = state.withLock({ $0.inbound.isEmpty ? nil : $0.inbound.removeFirst() }) else {
            return .wouldBlock
        }
        body(packet.span.bytes)
        return .packet
    }

    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {
        let waiting = state.withLock { state in
            state.isReading = isOn
            return state.inbound.count
        }
        kernel.loop.execute { [self] in for _ in 0..<waiting { tell() } }
    }
    func close() { state.withLock { $0.isClosed = true } }
    func setFilter(_ filter: HCISocketFilter) throws(KernelError) {}
}
