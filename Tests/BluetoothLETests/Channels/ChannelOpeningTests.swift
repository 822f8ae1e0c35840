import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct ChannelOpeningTests {
    @Test func aMissingServiceIsRefused() async throws {
        try await TwoMachines.run { machines in
            let error = await failure {
                _ = try await machines.central.openChannel(to: machines.peer, psm: 0x0099)
            }
            #expect(error?.code == .connectionFailed)
            #expect(error?.message.contains("0x0099") == true)
        }
    }

    @Test func anImpossiblePSMIsAMistake() async throws {
        try await TwoMachines.run { machines in
            for psm in [0x0100, 0xFFFF] as [UInt16] {
                let opening = await failure { _ = try await machines.central.openChannel(to: machines.peer, psm: psm) }
                #expect(opening?.code == .invalidArgument)
                #expect(await failure { _ = try await machines.peripheral.listen(psm: psm) }?.code == .invalidArgument)
            }
        }
    }

    @Test func aServiceMayRequireSecurity() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in EchoHandler() }
            peripheral.setService(0x0085, receiveMTU: 100, security: .medium)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let user = try await PairingUser(fixture.kernel)
            let open = try await adapter.openChannel(to: peripheral.address, psm: 0x0085)
            #expect(user.count == 1)
            #expect(try await open.security().level >= .medium)
            try await open.send([5])
            #expect(try await open.read() == [5])
        }
    }

    @Test func aPeerThatRefusesToPairFailsTheChannel() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in EchoHandler() }
            peripheral.setService(0x0085, receiveMTU: 100)
            peripheral.setSecurity(SimulatedSecurity(response: .refuse))
            let adapter = try await Adapter.open(on: fixture.kernel)
            let error = await failure {
                _ = try await adapter.openChannel(
                    to: peripheral.address, psm: 0x0085, options: ChannelOptions(security: .medium))
            }
            #expect(error?.code == .connectionFailed)
        }
    }

    @Test func aKernelWithoutTheEnhancedModeSaysSo() async throws {
        try await TwoMachines.run { machines in
            machines.kernel.hasEnhancedFlowControl = false
            let options = ChannelOptions(flowControl: .enhancedCreditBased)
            let opening = await failure {
                _ = try await machines.central.openChannel(to: machines.peer, psm: 0x0085, options: options)
            }
            #expect(opening?.code == .unsupported)
            #expect(opening?.remedy?.contains("enable_ecred") == true)
            let listening = await failure { _ = try await machines.central.listen(options: options) }
            #expect(listening?.code == .unsupported)
        }
    }

    @Test func theTimeLimitIncludesTheLinkSetup() async throws {
        try await TwoMachines.run { machines in
            machines.kernel.setSilent(true, for: .stopDiscovery)
            machines.kernel.setSilent(true, adapter: 0)
            let time = await machines.fixture.duration {
                let options = ChannelOptions(timeout: .seconds(10))
                let error = await failure {
                    _ = try await machines.central.openChannel(to: machines.peer, psm: 0x85, options: options)
                }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(10))
        }
    }

    @Test func closingTheAdapterEndsAttemptsAndKeepsChannels() async throws {
        try await TwoMachines.run { machines in
            let connection = try await machines.central.connect(to: machines.peer)
            let (central, peripheral) = try await machines.channel()
            // Nothing requested from now on arrives.
            machines.kernel.setSending(false, adapter: 0)
            let elsewhere = BluetoothAddress(0xC098_E512_3456, kind: .random)
            let attempts = [
                machines.fixture.begin { _ = try await connection.openChannel(psm: 0x0086) },
                machines.fixture.begin { _ = try await machines.central.openChannel(to: machines.peer, psm: 0x0086) },
                machines.fixture.begin { _ = try await machines.central.openChannel(to: elsewhere, psm: 0x0086) },
            ]
            try await machines.fixture.radio.sleep(for: .seconds(1))
            await machines.central.close()
            for attempt in attempts { #expect(await failure { try await attempt.value }?.code == .cancelled) }

            machines.kernel.setSending(true, adapter: 0)
            try await central.send([1])
            #expect(try await peripheral.read() == [1])
        }
    }

    @Test func aChannelRetainsItsAdapterUntilItsEnd() async throws {
        try await TwoMachines.run { machines in
            let life: SessionLife
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            let channel: ConnectionOrientedChannel
            do {
                let adapter = try await Adapter.open(on: machines.kernel)
                life = SessionLife(session: adapter.session)
                channel = try await adapter.openChannel(to: machines.peer, psm: 0x0085)
            }
            try await machines.fixture.radio.sleep(for: .seconds(1))
            #expect(!life.isOver)
            machines.kernel.setPowered(false, adapter: 0)
            #expect(await channel.closed().code == .adapterOff)
            try await machines.fixture.settle { life.isOver }
            withExtendedLifetime((channel, listener)) {}
        }
    }
}
