import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothKernelHost
import Logging
import BluetoothManagement
import Synchronization
import TestSupport
import Testing

@testable import BluetoothSimulation

@Suite struct ManagementClientTests {
    /// Runs `body` on a machine with an adapter, in virtual time.
    private static func run(
        _ body: @escaping @Sendable (SimulatedRadio, SimulatedKernel) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [SimulatedController()])
        try await radio.run(limit: .seconds(600), stallGrace: .seconds(2)) { try await body(radio, kernel) }
        radio.close()
    }

    @Test func whatIsNeverAnsweredGivesUpItsPlace() async throws {
        try await Self.run { radio, kernel in
            let management = ManagementCaller(on: kernel)
            let notices = AdapterNotices()
            try await management.follow(notices)
            kernel.setSilent(true, for: .setConnectable)
            let lost = Task(executorPreference: radio.loop) {
                try await management.send(ManagementSetConnectable(true), to: 0)
            }
            try await radio.sleep(for: .seconds(5))
            // This one waits behind it, others do not.
            let behind = Task(executorPreference: radio.loop) {
                try await management.send(ManagementSetConnectable(true), to: 0)
            }
            _ = try await management.send(ManagementReadControllerIndexList())
            kernel.setSilent(false, for: .setConnectable)
            #expect(await failure { _ = try await lost.value }?.code == .timedOut)
            _ = try await behind.value
            #expect(radio.now.nanoseconds < 11_000_000_000)
            // From now on no command has to wait, and one socket reports every event once.
            let time = try await radio.duration {
                _ = try await management.send(ManagementSetConnectable(false), to: 0)
            }
            #expect(time < .seconds(1))
            #expect(kernel.managementSocketCount == 1)
            let before = notices.all.count
            kernel.unplug(0)
            try await radio.sleep(for: .seconds(1))
            #expect(notices.all.count - before == 2)
            await management.close(.cancelled(.init("test")))
        }
    }

    @Test func severalFollowUntilTheyDoNot() async throws {
        try await Self.run { radio, kernel in
            let management = ManagementCaller(on: kernel)
            let (first, second) = (AdapterNotices(), AdapterNotices())
            for notices in [first, second] { try await management.follow(notices) }
            kernel.setPowered(false, adapter: 0)
            try await radio.sleep(for: .seconds(1))
            await management.unfollow(first)
            // Changes by this client are reported as well.
            _ = try await management.send(ManagementSetPowered(true), to: 0)
            #expect([first.all.count, second.all.count] == [1, 2])
            await management.close(.cancelled(.init("test")))
            #expect(kernel.managementSocketCount == 0)
            #expect(await failure { try await management.follow(first) }?.code == .cancelled)
        }
    }

    /// Of three commands of a kind the second cannot be sent, since the adapter goes down just then.
    @Test func aCommandBehindOneThatCannotBeSentHasItsTurn() async throws {
        try await Self.run { radio, kernel in
            let faulty = FaultyManagement(kernel)
            let management = ManagementCaller(on: faulty)
            faulty.failSend(1)
            let calls = [true, false, true].map { isOn in
                Task(executorPreference: radio.loop) {
                    try await management.send(ManagementSetConnectable(isOn), to: 0)
                }
            }
            _ = try await calls[0].value
            #expect(await failure { _ = try await calls[1].value }?.code == .adapterOff)
            let time = try await radio.duration { _ = try await calls[2].value }
            #expect(time < .seconds(1))
            await management.close(.cancelled(.init("test")))
        }
    }

    /// The answer of an adapter that is off to a command that changes nothing, as Linux 6.12 can answer one that should.
    @Test func powerThatIsAnsweredButNotSwitchedIsSwitchedAgain() async throws {
        try await Self.run { _, kernel in
            let faulty = FaultyManagement(kernel)
            let management = ManagementCaller(on: faulty)
            _ = try await management.send(ManagementSetPowered(false), to: 0)
            faulty.clearLastByte(ofPacket: 0)
            let settings = try await management.sendWhenIdle(ManagementSetPowered(true), to: 0)
            #expect(settings.contains(.powered))
            faulty.clearLastByte(ofPacket: nil)
            _ = try await management.send(ManagementSetPowered(false), to: 0)
            faulty.clearLastByte(ofPacket: 0)
            #expect(await failure { _ = try await management.send(ManagementSetPowered(true), to: 0) }?.code == .busy)
            await management.close(.cancelled(.init("test")))
        }
    }

    @Test func aCallForWhichTheKernelWasBusyEndsWithTheClient() async throws {
        try await Self.run { radio, kernel in
            let faulty = FaultyManagement(kernel)
            let answers = Mutex<[BluetoothError.Code?]>([])
            kernel.setPowered(false, adapter: 0)
            faulty.clearLastByte(ofPacket: 0)
            let made = await radio.loop.run {
                LoopBound(ManagementClient(on: faulty, log: Logger(label: "test")), on: radio.loop)
            }
            await radio.loop.run {
                made.value.perform(ManagementSetPowered(true), on: 0, whenIdle: true) { error in
                    answers.withLock { $0.append(error?.code) }
                }
            }
            try await radio.sleep(for: .milliseconds(50))
            await radio.loop.run { made.value.close(.cancelled(.init("test"))) }
            #expect(answers.withLock { $0 } == [.cancelled])
        }
    }

    /// The socket of a command that is never answered is replaced, and no other can be opened.
    @Test func whoeverWaitsIsToldWhenTheSocketCannotBeOpenedAgain() async throws {
        try await Self.run { radio, kernel in
            let faulty = FaultyManagement(kernel)
            let answers = Mutex<[BluetoothError.Code?]>([])
            let made = await radio.loop.run {
                LoopBound(ManagementClient(on: faulty, log: Logger(label: "test")), on: radio.loop)
            }
            kernel.setSilent(true, for: .setConnectable)
            let notices = AdapterNotices()
            try await radio.loop.run {
                try made.value.follow(notices)
                made.value.perform(ManagementSetConnectable(true), on: 0) { error in
                    answers.withLock { $0.append(error?.code) }
                }
            }
            faulty.refuseOpening()
            try await radio.sleep(for: .seconds(11))
            #expect(answers.withLock { $0 } == [.timedOut])
            await radio.loop.run { made.value.close(.cancelled(.init("test"))) }
        }
    }
}

/// A kernel whose management sockets can fail.
private final class FaultyManagement: WrappingKernel {
    private struct State {
        var sent = 0
        var failing: Int?
        var changing: Int?
        var refusesOpening = false
    }

    let base: SimulatedKernel
    private let state = Mutex(State())

    init(_ base: SimulatedKernel) { self.base = base }

    /// Makes the packet with this number, from zero, fail.
    func failSend(_ number: Int) { state.withLock { ($0.sent, $0.failing) = (0, number) } }

    /// Makes opening further sockets fail.
    func refuseOpening() { state.withLock { $0.refusesOpening = true } }

    /// Sets the last byte of the packet with this number, from zero, to zero.
    func clearLastByte(ofPacket number: Int?) { state.withLock { ($0.sent, $0.changing) = (0, number) } }

    /// Whether the next packet fails, and whether it is changed.
    fileprivate func faultsOfNext() -> (fails: Bool, changes: Bool) {
        state.withLock { state in
            defer { state.sent += 1 }
            return (state.sent == state.failing, state.sent == state.changing)
        }
    }

    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        if state.withLock({ $0.refusesOpening }) { throw KernelError("socket", ErrorNumber(rawValue: 24)) }
        return FaultySocket(try base.openManagement(handler), self)
    }
}

private final class FaultySocket: PacketSocket {
    private let base: any PacketSocket
    private let kernel: FaultyManagement

    init(_ base: any PacketSocket, _ kernel: FaultyManagement) { (self.base, self.kernel) = (base, kernel) }

    func send(_ packet: RawSpan) -> SendOutcome {
        let faults = kernel.faultsOfNext()
        guard !faults.fails else { return .failed(KernelError("send", .networkDown)) }
        guard faults.changes else { return base.send(packet) }
        var bytes = [UInt8](packet)
        bytes[bytes.count - 1] = 0
        return base.send(bytes.span.bytes)
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome { base.receive(body) }
    func notifyWhenWritable() { base.notifyWhenWritable() }
    func setReading(_ isOn: Bool) { base.setReading(isOn) }
    func close() { base.close() }
}

extension SimulatedKernel {
    /// The number of open management sockets.
    fileprivate var managementSocketCount: Int { withHost { $0.management.sockets.count } }
}
