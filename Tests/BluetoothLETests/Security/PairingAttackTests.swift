import BluetoothLoop
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Pairing during other activity.
@Suite struct PairingAttackTests {
    @Test("the adapter is closed at any moment of a pairing")
    func closing() async throws {
        for step in 0..<20 {
            try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)) { fixture in
                try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly))
                let connection = try await fixture.connect()
                let pairing = fixture.base.begin { try await connection.pair() }
                try await fixture.base.radio.sleep(for: .milliseconds(20 * step))
                await fixture.adapter.close()
                let error = await failure { _ = try await pairing.value }
                let isExpected = error.map { [.cancelled, .disconnected, .pairingFailed].contains($0.code) } ?? true
                #expect(isExpected, "\(step): \(error as Any)")
                await connection.disconnect()
                try await fixture.base.settle { await fixture.adapter.session.pairingQuestions.dialogs.isEmpty }
                #expect(await fixture.adapter.session.pairingQuestions.calls.isEmpty)
                try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
                let again = try await Adapter.open(on: fixture.base.kernel)
                try await again.setPairingAgent(fixture.agent(.keyboardOnly))
                let next = try await again.connect(to: fixture.peripheral.address)
                let outcome = try await next.pair()
                #expect(outcome.security.level == .fips)
                await next.disconnect()
                await again.close()
            }
        }
    }

    @Test func anUnansweredRequestEndsTheWaitingPairing() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let plain = try fixture.handle(0xFFF4)
            fixture.peripheral.setMute(true)
            let read = fixture.base.begin { try await connection.read(plain) }
            let pairing = fixture.base.begin { try await connection.pair() }
            let start = fixture.base.radio.now
            #expect(await failure { _ = try await read.value }?.code == .timedOut)
            let error = await failure { _ = try await pairing.value }
            #expect(error != nil)
            let duration = start.duration(to: fixture.base.radio.now)
            #expect(duration <= .seconds(31))
            fixture.peripheral.setMute(false)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            try await fixture.pairingWorksNow()
        }
    }

    @Test func aLateAnswerDoesNotAnswerTheNextQuestion() async throws {
        try await SecurityFixture.run { fixture in
            let agent = LateAgent(on: fixture.base.radio.loop)
            try await fixture.adapter.setPairingAgent(agent)
            let first = try await fixture.connect()
            fixture.peripheral.requestSecurity()
            try await fixture.remainsUsable(first)
            try await fixture.end(first)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            // The second question is open when the first is answered.
            let second = try await fixture.connect()
            fixture.peripheral.requestSecurity()
            try await fixture.base.settle { agent.waiting == 2 }
            fixture.base.radio.loop.execute { agent.answer(0, true) }
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(try await second.security().level == .low)
            fixture.base.radio.loop.execute { agent.answer(1, true) }
            try await fixture.base.settle { (try? await second.security().level) == .medium }
            try await fixture.end(second)
            #expect(await fixture.adapter.session.pairingQuestions.calls.isEmpty)
        }
    }

    @Test func aPasskeyWithoutBondingIsShownUntilThePairingEnds() async throws {
        for isSecure in [true, false] {
            try await PairingRoleTests.run(.keyboardOnly, .displayOnly, isSecure: isSecure) {
                fixture, central, peripheral in
                try await fixture.peripheral.setPairingAgent(peripheral.1, isBondable: false)
                try await fixture.central.setPairingAgent(
                    ReadingAgent(peripheral.1), secureConnections: isSecure ? .on : .off)
                let outcome = try await central.0.pair()
                #expect(outcome.security.isAuthenticated && !outcome.isBonded)
                let start = fixture.base.radio.now
                try await fixture.base.settle { peripheral.1.cancelled == 1 }
                let ended = start.duration(to: fixture.base.radio.now)
                #expect(ended < .seconds(1))
                #expect(await fixture.peripheral.session.pairingQuestions.dialogs.isEmpty)
            }
        }
    }

    @Test func aDeviceThatKeepsAskingIsAnsweredOncePerPairing() async throws {
        try await SecurityFixture.run { fixture in
            let agent = fixture.agent(.noInputNoOutput, .sleeps)
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect()
            for _ in 0..<200 { fixture.peripheral.requestSecurity() }
            try await fixture.base.settle { !agent.asked.isEmpty }
            let questions = await fixture.adapter.session.pairingQuestions
            #expect(questions.dialogs.count == 1 && questions.calls.count == 1)
            try await fixture.remainsUsable(connection)
            try await fixture.end(connection)
            try await fixture.pairingWorksNow()
        }
    }
}

/// An agent that answers when the test says so, even after cancellation.
private final class LateAgent: PairingAgent {
    private let calls = Mutex<[Promise<Bool, BluetoothError>]>([])
    private let loop: EventLoop

    init(on loop: EventLoop) { self.loop = loop }

    var waiting: Int { calls.withLock { $0.count } }

    func answer(_ index: Int, _ answer: Bool) { calls.withLock { $0[index] }.succeed(answer) }

    func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        let call = Promise<Bool, BluetoothError>()
        calls.withLock { $0.append(call) }
        // Ignores cancellation.
        return await Task(executorPreference: loop) { [loop] in
            (try? await call.value(.init("wait"), timeout: nil, on: loop)) ?? false
        }.value
    }
}

/// An agent that enters the passkey shown by another agent.
private struct ReadingAgent: PairingAgent {
    let other: TestAgent
    init(_ other: TestAgent) { self.other = other }
    var ioCapability: IOCapability { .keyboardOnly }
    func enterPasskey(_ request: PairingRequest) async throws -> Passkey? { other.shown }
}
