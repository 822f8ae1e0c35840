import BluetoothGateway
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Controllers that hang, noticed by programs that only connect.
@Suite struct UnansweredTests {
    private static func peripheral(_ fixture: Fixture) throws -> SimulatedPeripheral {
        SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([]))
    }

    /// A connect every ten seconds, until one succeeds; the errors before.
    private static func connectRepeatedly(
        _ fixture: Fixture, _ adapter: Adapter, _ peripheral: SimulatedPeripheral, timeout: Duration
    ) async throws -> [BluetoothError] {
        var failures: [BluetoothError] = []
        while failures.count < 20 {
            do throws(BluetoothError) {
                let options = ConnectionOptions(timeout: timeout)
                let connection = try await adapter.connect(to: peripheral.address, options: options)
                await connection.disconnect()
                return failures
            } catch {
                failures.append(error)
            }
            try await fixture.radio.sleep(for: .seconds(10))
        }
        return failures
    }

    @Test(arguments: [Duration.seconds(2), .seconds(8), .seconds(30)])
    func connectsHealTheAdapterAndTheirErrorsSpeakOfItMeanwhile(_ timeout: Duration) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let peripheral = try Self.peripheral(fixture)
            fixture.kernel.setFault(ControllerFault(.hangs, until: .reset), adapter: 0)
            let failures = try await Self.connectRepeatedly(fixture, adapter, peripheral, timeout: timeout)
            #expect((1...5).contains(failures.count), "\(failures)")
            // The answer to the check comes within a short limit only for the next connect.
            for failure in timeout > .seconds(6) ? failures[...] : failures.dropFirst() {
                let speaksOfTheAdapter = failure.code == .adapterOff || failure.message.contains("hci0")
                #expect(speaksOfTheAdapter, "\(failure)")
                #expect(failure.remedy?.contains("device is on") != true, "\(failure)")
            }
            await adapter.close()
        }
    }

    @Test func aDeviceThatIsNotThereIsNoProblemOfTheAdapter() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            let peripheral = try Self.peripheral(fixture)
            peripheral.setHidden(true)
            for _ in 0..<3 {
                let options = ConnectionOptions(timeout: .seconds(8))
                let error = await failure { _ = try await adapter.connect(to: peripheral.address, options: options) }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("hci0") == false)
            }
            await adapter.close()
            for try await event in events { Issue.record("\(event)") }
        }
    }

    enum Call: CaseIterable { case disconnect, openChannel, advertise, keep, keepByGroup }

    /// Whatever is not answered starts the check.
    @Test(arguments: Call.allCases) func aCallThatIsNotAnsweredIsNoticed(_ call: Call) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let peripheral = try Self.peripheral(fixture)
            let connection = call == .disconnect ? try await adapter.connect(to: peripheral.address) : nil
            let events = await adapter.healthEvents()
            fixture.kernel.setFault(ControllerFault(.hangs, until: .reset), adapter: 0)
            let start = fixture.radio.now
            var kept: KeptConnection?
            switch call {
            case .disconnect: await connection?.disconnect()
            case .openChannel: _ = try? await adapter.openChannel(to: peripheral.address, psm: 0x80)
            case .advertise: _ = try? await adapter.advertise(AdvertisementContent(localName: "hung"))
            case .keep: kept = adapter.keepConnected(to: peripheral.address)
            case .keepByGroup: kept = try await AdapterGroup([adapter]).keepConnected(to: peripheral.address)
            }
            let outcome = try await events.steps()
            // Powering off fails, but takes the adapter down; what is down cannot be reset.
            #expect(outcome.helped == .restart)
            #expect(start.duration(to: fixture.radio.now) < .seconds(kept == nil ? 90 : 700))
            await kept?.disconnect()
            await adapter.close()
        }
    }

    /// A channel's second attempt, which follows one without the key of the bond, is no exception.
    @Test func anAttemptThatIsRepeatedIsNoticed() async throws {
        try await SecurityFixture.run { fixture in
            let bonded = try await fixture.connect()
            #expect(try await bonded.pair().isBonded)
            try await fixture.end(bonded)
            fixture.peripheral.setAdvertising(false)
            var events = await fixture.adapter.healthEvents().makeAsyncIterator()
            let peer = fixture.peripheral.address
            let open = fixture.base.begin {
                let options = ChannelOptions(timeout: .seconds(8))
                _ = try await fixture.adapter.openChannel(to: peer, psm: 0x80, options: options)
            }
            try await fixture.base.radio.sleep(for: .seconds(1))
            fixture.base.kernel.setFault(ControllerFault(.hangs, until: .reset), adapter: 0)
            await fixture.adapter.session.hostLacksKey(of: peer)
            #expect(await failure { try await open.value }?.code == .timedOut)
            let event = try await events.next()
            #expect(event?.problem != nil, "\(String(describing: event))")
        }
    }
}
