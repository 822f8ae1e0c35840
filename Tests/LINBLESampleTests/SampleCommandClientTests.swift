import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESample
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct SampleCommandClientTests {
    @Test(.seeded, arguments: SeededGenerator.seeds(10))
    func everyCommandIsAnsweredHoweverTheAnswersAreCut(seed: UInt64) async throws {
        try await Fixture.run(splitsAtRandom: true, seed: seed) { fixture in
            let client = SampleCommandClient(try await fixture.openUART())
            try await client.testLink()
            #expect(try await client.readRegister(2) == 0xFF)
            try await client.writeRegister(4, value: 0x0F)
            #expect(try await client.readRegister(4) == 0x0F)
            #expect(try await client.readVersion() == "1.2.3.987654")
            #expect(try await client.readName() == "Sample-UartController-001")
            try await client.writeName("Another name")
            #expect((fixture.linble.attached as? SampleMicrocontroller)?.name == "Another name")
            #expect(await client.unexpectedResponses == 0)
            #expect(await client.discardedPackets == 0)
        }
    }

    @Test func samplesComeUntilTheDeviceEndsThem() async throws {
        try await Fixture.run { fixture in
            let client = SampleCommandClient(try await fixture.openUART())
            var samples: [Float] = []
            let time = try await fixture.duration {
                for try await sample in try await client.samples(seconds: 2) { samples.append(sample) }
            }
            #expect(samples.count == 8)
            #expect(samples.first == 123)
            #expect(time > .seconds(2) && time < .seconds(3))
        }
    }

    @Test func commandsBetweenSamplesLoseNeither() async throws {
        try await Fixture.run(splitsAtRandom: true) { fixture in
            let client = SampleCommandClient(try await fixture.openUART())
            let readings = try await client.samples(seconds: 3)
            async let count = readings.reduce(0) { sum, _ in sum + 1 }
            for _ in 0..<20 { #expect(try await client.readRegister(1) == 0x11) }
            #expect(try await count == 12)
        }
    }

    @Test func severalTasksTakeTurns() async throws {
        try await Fixture.run { fixture in
            let client = SampleCommandClient(try await fixture.openUART())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for register in 0..<8 as Range<UInt8> {
                    group.addTask {
                        try await client.writeRegister(register, value: register &* 3)
                        #expect(try await client.readRegister(register) == register &* 3)
                    }
                }
                try await group.waitForAll()
            }
            #expect(await client.unexpectedResponses == 0)
        }
    }

    @Test func silenceIsATimeOut() async throws {
        try await Fixture.run(.silent) { fixture in
            let client = SampleCommandClient(try await fixture.openUART(), timeout: .seconds(3))
            let time = await fixture.duration {
                #expect(await failureCode { try await client.testLink() } == .timedOut)
            }
            #expect(time >= .seconds(3) && time < .seconds(4))
        }
    }

    @Test func valuesTheProtocolDoesNotHaveAreRefusedBeforeAnythingIsSent() async throws {
        try await Fixture.run { fixture in
            let client = SampleCommandClient(try await fixture.openUART())
            #expect(await failureCode { _ = try await client.readRegister(8) } == .invalidArgument)
            #expect(await failureCode { _ = try await client.samples(seconds: 0) } == .invalidArgument)
            #expect(await failureCode { try await client.writeName("ü") } == .invalidArgument)
            #expect(fixture.linble.statistics.bytesFromHosts == 0)
        }
    }

    @Test func thePacketsCanBeWatched() async throws {
        try await Fixture.run { fixture in
            let log = Mutex<[String]>([])
            let client = SampleCommandClient(try await fixture.openUART()) { direction, packet in
                log.withLock { $0.append("\(direction == .sent ? "Tx" : "Rx") | \(packet.hexadecimal)") }
            }
            try await client.testLink()
            _ = try await client.readRegister(2)
            #expect(log.withLock { $0 } == ["Tx | 0100", "Rx | 0140", "Tx | 020102", "Rx | 034102FF"])
        }
    }

    @Test func aLostLinkEndsTheCommand() async throws {
        try await Fixture.run(.silent) { fixture in
            let client = SampleCommandClient(try await fixture.openUART(), timeout: .seconds(100))
            async let code = failureCode { try await client.testLink() }
            fixture.linble.peripheral.breakLinks()
            #expect(await code == .disconnected)
        }
    }

    @Test func aMicrocontrollerStandsBehindAServedUART() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let (own, other) = (radio.makeKernel(), radio.makeKernel())
        let left = Mutex<SampleMicrocontroller?>(nil)
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            var microcontroller = SampleMicrocontroller()
            defer { left.withLock { $0 = microcontroller } }
            try await microcontroller.serve(central)
        }
        try await radio.run(limit: .seconds(600)) {
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(MemoryBondStore())), on: own)
            let server = Task(executorPreference: radio.loop) {
                try await UARTServer.run(on: adapter, serve: serve)
            }
            let visitor = try await Adapter.open(configuration: .init(bonds: .store(MemoryBondStore())), on: other)
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: visitor)
            let client = SampleCommandClient(uart)
            try await client.testLink()
            try await client.writeRegister(4, value: 0x0F)
            var samples = 0
            for try await _ in try await client.samples(seconds: 2) { samples += 1 }
            #expect(samples == 8)
            try await client.writeName("other")
            await uart.disconnect()
            let end = radio.now.advanced(by: .seconds(60))
            while left.withLock({ $0 == nil }), radio.now < end { try await radio.sleep(for: .milliseconds(10)) }
            #expect(left.withLock { $0?.name } == "other")
            #expect(left.withLock { $0?.registers[4] } == 0x0F)
            server.cancel()
            _ = await server.result
        }
    }

    @Test func aTaskThatIsCancelledWhileAnotherHasTheTurnSendsNothing() async throws {
        try await Fixture.run(.silent) { fixture in
            let client = SampleCommandClient(try await fixture.openUART(), timeout: .seconds(3))
            try await withThrowingTaskGroup(of: BluetoothError.Code?.self) { group in
                group.addTask { await failureCode { try await client.testLink() } }
                try await fixture.radio.sleep(for: .seconds(1))
                group.addTask { await failureCode { _ = try await client.readVersion() } }
                try await fixture.radio.sleep(for: .seconds(1))
                group.cancelAll()
                for try await code in group { #expect(code == .cancelled) }
            }
            #expect(fixture.linble.statistics.bytesFromHosts == 2)
        }
    }
}
