import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Pairing while other things go on.
@Suite struct PairingAttackTests {
    @Test("the program closes its adapter at any moment of a pairing")
    func closing() async throws {
        for step in 0..<20 {
            try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)) { scene in
                try await scene.adapter.setPairingAgent(scene.agent(.keyboardOnly))
                let connection = try await scene.connect()
                let pairing = scene.fixture.begin { try await connection.pair() }
                try await scene.fixture.radio.sleep(for: .milliseconds(20 * step))
                await scene.adapter.close()
                let error = await failure { _ = try await pairing.value }
                let isExpected = error.map { [.cancelled, .disconnected, .pairingFailed].contains($0.code) } ?? true
                #expect(isExpected, "\(step): \(error as Any)")
                await connection.disconnect()
                try await scene.fixture.settle { await scene.adapter.session.pairingQuestions.dialogs.isEmpty }
                #expect(await scene.adapter.session.pairingQuestions.calls.isEmpty)
                try await scene.fixture.settle { scene.fixture.kernel.links(adapter: 0).isEmpty }
                let again = try await Adapter.open(on: scene.fixture.kernel)
                try await again.setPairingAgent(scene.agent(.keyboardOnly))
                let next = try await again.connect(to: scene.peripheral.address)
                let outcome = try await next.pair()
                #expect(outcome.security.level == .fips)
                await next.disconnect()
                await again.close()
            }
        }
    }

    @Test func aRequestThatIsNeverAnsweredEndsThePairingThatWaitsForIt() async throws {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect()
            let plain = try scene.handle(0xFFF4)
            scene.peripheral.setMute(true)
            let read = scene.fixture.begin { try await connection.read(plain) }
            let pairing = scene.fixture.begin { try await connection.pair() }
            let start = scene.fixture.radio.now
            #expect(await failure { _ = try await read.value }?.code == .timedOut)
            let error = await failure { _ = try await pairing.value }
            #expect(error != nil)
            let duration = start.duration(to: scene.fixture.radio.now)
            #expect(duration <= .seconds(31))
            scene.peripheral.setMute(false)
            try await scene.fixture.settle { scene.fixture.kernel.links(adapter: 0).isEmpty }
            try await scene.pairingWorksNow()
        }
    }

    @Test func anAnswerThatComesTooLateIsNotTheNextQuestions() async throws {
        try await SecurityFixture.run { scene in
            let agent = LateAgent(on: scene.fixture.radio.loop)
            try await scene.adapter.setPairingAgent(agent)
            let first = try await scene.connect()
            scene.peripheral.requestSecurity()
            #expect(await first.closed().pairingFailure == .notConfirmed)
            try await scene.fixture.settle { scene.fixture.kernel.links(adapter: 0).isEmpty }
            // The next question is open when the first is answered at last.
            let second = try await scene.connect()
            scene.peripheral.requestSecurity()
            try await scene.fixture.settle { agent.waiting == 2 }
            scene.fixture.radio.loop.execute { agent.answer(0, true) }
            try await scene.fixture.radio.sleep(for: .seconds(5))
            #expect(try await second.security().level == .low)
            scene.fixture.radio.loop.execute { agent.answer(1, true) }
            try await scene.fixture.settle { (try? await second.security().level) == .medium }
            try await scene.end(second)
            #expect(await scene.adapter.session.pairingQuestions.calls.isEmpty)
        }
    }

    @Test func whatIsShownWithoutBondingIsShownNoLongerThanThePairingLasts() async throws {
        for isSecure in [true, false] {
            try await PairingRoleTests.run(.keyboardOnly, .displayOnly, isSecure: isSecure) {
                scene, central, peripheral in
                try await scene.peripheral.setPairingAgent(peripheral.1, isBondable: false)
                try await scene.central.setPairingAgent(
                    ReadingAgent(peripheral.1), secureConnections: isSecure ? .on : .off)
                let outcome = try await central.0.pair()
                #expect(outcome.security.isAuthenticated && !outcome.isBonded)
                let start = scene.fixture.radio.now
                try await scene.fixture.settle { peripheral.1.cancelled == 1 }
                let ended = start.duration(to: scene.fixture.radio.now)
                #expect(ended < .seconds(1))
                #expect(await scene.peripheral.session.pairingQuestions.dialogs.isEmpty)
            }
        }
    }

    @Test func aDeviceThatAsksForeverIsAnsweredOncePerPairing() async throws {
        try await SecurityFixture.run { scene in
            let agent = scene.agent(.noInputNoOutput, .sleeps)
            try await scene.adapter.setPairingAgent(agent)
            let connection = try await scene.connect()
            for _ in 0..<200 { scene.peripheral.requestSecurity() }
            try await scene.fixture.settle { !agent.asked.isEmpty }
            let questions = await scene.adapter.session.pairingQuestions
            #expect(questions.dialogs.count == 1 && questions.calls.count == 1)
            _ = await connection.closed()
            try await scene.pairingWorksNow()
        }
    }
}

/// Answers when a test says so, whatever happens meanwhile.
private final class LateAgent: PairingAgent {
    private let calls = Mutex<[Promise<Bool, BluetoothError>]>([])
    private let loop: EventLoop

    init(on loop: EventLoop) { self.loop = loop }

    var waiting: Int { calls.withLock { $0.count } }

    func answer(_ index: Int, _ answer: Bool) { calls.withLock { $0[index] }.succeed(answer) }

    func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        let call = Promise<Bool, BluetoothError>()
        calls.withLock { $0.append(call) }
        // Takes no notice of being cancelled.
        return await Task(executorPreference: loop) { [loop] in
            (try? await call.value(.init("wait"), timeout: nil, on: loop)) ?? false
        }.value
    }
}

/// Enters what another agent shows.
private struct ReadingAgent: PairingAgent {
    let other: TestAgent
    init(_ other: TestAgent) { self.other = other }
    var ioCapability: IOCapability { .keyboardOnly }
    func enterPasskey(_ request: PairingRequest) async throws -> Passkey? { other.shown }
}
