import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Every fault at every moment of a pairing: the pairing ends, with a typed error or success, nothing is left, and the
/// next pairing succeeds.
@Suite struct PairingFaultTests {
    /// The operation under way.
    enum Work: CaseIterable, Sendable {
        case pair, raise, read, connect
    }

    @Test(arguments: Fault.allCases, Work.allCases)
    func everyFaultAtEveryMomentEndsTyped(_ fault: Fault, _ work: Work) async throws {
        // Covers every moment of the undisturbed duration.
        let whole = try await Self.run(work, nil, after: .zero).duration
        #expect(whole > .zero)
        for step in 0..<12 {
            let outcome = try await Self.run(work, fault, after: whole * step / 11)
            guard let error = outcome.error else { continue }
            var codes = fault.codes.union([.pairingFailed])
            // The peer's own refusal, when the link ends right after it, and a connection attempt without a response.
            if work == .read { codes.insert(.attributeProtocol) }
            if work == .connect { codes.insert(.timedOut) }
            let isExpected = codes.contains(error.code)
            #expect(isExpected, "\(fault) at \(step): \(error)")
        }
    }

    private static func run(
        _ work: Work, _ fault: Fault?, after delay: Duration
    ) async throws -> (duration: Duration, error: BluetoothError?) {
        let outcome = Mutex<(Duration, BluetoothError?)>((.zero, nil))
        try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)) { fixture in
            let base = fixture.base
            try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly))
            let handle = try fixture.handle(SecurityFixture.encrypted)
            let connection = work == .connect ? nil : try await fixture.connect()
            let start = base.radio.now
            let task = base.begin { () async throws -> Void in
                guard let connection else {
                    var options = ConnectionOptions(timeout: .seconds(20), attempts: 1)
                    options.security.level = .high
                    let made = try await fixture.adapter.connect(to: fixture.peripheral.address, options: options)
                    await made.disconnect()
                    return
                }
                switch work {
                case .pair: try await connection.pair()
                case .raise: try await connection.raiseSecurity(to: .high)
                case .read, .connect: _ = try await connection.read(handle)
                }
            }
            if let fault {
                try await base.radio.sleep(for: delay)
                fault.happen(to: connection, of: fixture.peripheral, during: task, base)
            }
            let error = await failure { try await task.value }
            outcome.withLock { $0 = (start.duration(to: base.radio.now), error) }
            await connection?.disconnect()
            try await base.settle { base.kernel.links(adapter: 0).isEmpty }
            try await base.settle { await fixture.adapter.session.pairingQuestions.dialogs.isEmpty }
            let asking = await fixture.adapter.session.pairingQuestions.calls.count
            #expect(asking == 0)
            // Pairs on a machine that was restored.
            if try await Adapter.all(on: base.kernel).isEmpty { base.kernel.plug() }
            base.kernel.setRadioSwitch(adapter: 0)
            let again = try await Adapter.open(power: .powerOn, on: base.kernel)
            _ = try? await again.sendToManagement(
                ManagementUnpairDevice(ManagementAddress(fixture.peripheral.address), disconnect: false),
                to: again.information.index)
            fixture.peripheral.setSecurity(SimulatedSecurity())
            let next = try await again.connect(to: fixture.peripheral.address)
            let paired = try await next.pair()
            #expect(paired.isBonded)
            await next.disconnect()
            await again.close()
        }
        return outcome.withLock { $0 }
    }

    @Test func aPairingAbandonedByOneCallerContinuesForTheOther() async throws {
        try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)) { fixture in
            try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly))
            let connection = try await fixture.connect()
            let one = fixture.base.begin { try await connection.raiseSecurity(to: .medium) }
            let other = fixture.base.begin { try await connection.raiseSecurity(to: .medium) }
            try await fixture.base.radio.sleep(for: .milliseconds(60))
            one.cancel()
            #expect(await failure { _ = try await one.value }?.code == .cancelled)
            #expect(try await other.value.level == .fips)
            try await fixture.end(connection)
        }
    }

    @Test func aPairingWithoutACallerEndsWithItsLink() async throws {
        try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly)) { fixture in
            let agent = fixture.agent(.keyboardOnly, .sleeps)
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect()
            let pairing = fixture.base.begin { try await connection.pair() }
            try await fixture.base.settle { agent.asked == ["enter"] }
            pairing.cancel()
            #expect(await failure { _ = try await pairing.value }?.code == .cancelled)
            #expect(await connection.disconnected().disconnectReason == .local)
            try await fixture.base.settle { agent.cancelled == 1 }
            try await fixture.pairingWorksNow()
        }
    }

    @Test func aTimeLimitEndsAPairing() async throws {
        try await SecurityFixture.run(SimulatedSecurity(response: .silence)) { fixture in
            let connection = try await fixture.connect()
            let duration = await fixture.base.duration {
                let error = await failure { try await connection.pair(timeout: .seconds(5)) }
                #expect(error?.code == .timedOut)
            }
            #expect(duration == .seconds(5))
            #expect(await connection.disconnected().code == .disconnected)
            try await fixture.pairingWorksNow()
        }
    }

    @Test func aCancelledReadDoesNotEndThePairing() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let handle = try fixture.handle(SecurityFixture.encrypted)
            let read = fixture.base.begin { try await connection.read(handle) }
            try await fixture.base.settle { await connection.core { $0.protection.raise?.isUnderWay == true } }
            read.cancel()
            #expect(await failure { _ = try await read.value }?.code == .cancelled)
            try await fixture.base.settle { (try? await connection.security().level) == .medium }
            #expect(try await connection.read(handle).count == 60)
            try await fixture.end(connection)
        }
    }

    @Test func aRestoredAdapterGetsItsSettingsAgain() async throws {
        try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)) { fixture in
            let agent = fixture.agent(.keyboardOnly)
            try await fixture.adapter.setPairingAgent(agent)
            let controller = SimulatedController(address: fixture.adapter.information.publicAddress)
            fixture.base.kernel.unplug(0)
            try await fixture.base.settle { fixture.adapter.state == .absent }
            fixture.base.kernel.plug(controller)
            try await fixture.base.settle { fixture.adapter.state == .poweredOff || fixture.adapter.state.isReady }
            try await fixture.adapter.setPowered(true)
            let connection = try await fixture.connect()
            #expect(try await connection.pair().security.level == .fips)
            #expect(agent.asked == ["enter"])
            try await fixture.end(connection)
        }
    }
}
