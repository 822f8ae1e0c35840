import BluetoothLE
import LINBLE
import LINBLESimulation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct UARTConnectionTests {
    @Test func bytesGoOutAndTheAnswerComesBack() async throws {
        try await Fixture.run { fixture in
            let uart = try await fixture.openUART()
            #expect(uart.profile == .linble)
            try await uart.send(hex("0100"))
            #expect(try await uart.read(2) == hex("0100"))
            #expect(await uart.sentByteCount == 2)
            #expect(uart.receivedByteCount == 2)
            await uart.disconnect()
        }
    }

    @Test(arguments: [false, true], [23, 247, 517])
    func everythingComesBackFromAnEchoInOrder(splits: Bool, mtu: Int) async throws {
        let configuration = SimulatedLINBLE.Configuration(
            attached: .loopback, splitsAtRandom: splits, receiveMTU: mtu, bufferCapacity: 1 << 20)
        try await Fixture.run(configuration) { fixture in
            let uart = try await fixture.openUART()
            let bytes = pattern(102_400)
            async let sending: Void = uart.send(bytes)
            #expect(try await uart.read(bytes.count) == bytes)
            try await sending
            #expect(fixture.linble.statistics.bytesFromHosts == bytes.count)
            #expect(fixture.linble.statistics.bytesLost == 0)
        }
    }

    @Test func aChunkIsAsLongAsTheLinkTheProfileAndTheCallerAllow() async throws {
        try await Fixture.run { fixture in
            let uart = try await fixture.openUART()
            #expect(await uart.maximumChunkLength == 244)
        }
        try await Fixture.run { fixture in
            let uart = try await fixture.openUART(UARTOptions(maximumChunkLength: 20))
            #expect(await uart.maximumChunkLength == 20)
        }
        try await Fixture.run(.init(receiveMTU: 517)) { fixture in
            let uart = try await fixture.openUART()
            #expect(await uart.connection.maximumTransmissionUnit == 517)
            // Two whole packets with their headers, before the data length is extended and afterwards.
            #expect(await uart.maximumChunkLength == 2 * 251 - 7)
            try await uart.connection.requestDataLength(100)
            try await fixture.radio.settle { await uart.connection.dataLength?.transmitOctets == 100 }
            #expect(await uart.maximumChunkLength == 5 * 100 - 7)
            try await uart.connection.requestDataLength(251)
            try await fixture.radio.settle { await uart.connection.dataLength?.transmitOctets == 251 }
            #expect(await uart.maximumChunkLength == 2 * 251 - 7)
        }
        try await Fixture.run(.init(profile: .hm10)) { fixture in
            let uart = try await fixture.openUART(UARTOptions(profiles: [.hm10]))
            #expect(await uart.maximumChunkLength == 20)
        }
        try await Fixture.run(.init(receiveMTU: 23)) { fixture in
            let uart = try await fixture.openUART(UARTOptions(maximumChunkLength: 0))
            #expect(await uart.maximumChunkLength == 1)
        }
    }

    @Test func sendingKeepsThePace() async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            let options = UARTOptions(maximumChunkLength: 20, pacing: .baudRate(9600))
            let uart = try await fixture.openUART(options)
            let time = try await fixture.duration { try await uart.send(pattern(960)) }
            #expect(time > .milliseconds(970) && time < .milliseconds(1010), "\(time)")
        }
    }

    @Test func whatTasksSendStaysTogether() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART(UARTOptions(maximumChunkLength: 20))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for value in 1...4 as ClosedRange<UInt8> {
                    group.addTask { try await uart.send(Array(repeating: value, count: 200)) }
                }
                try await group.waitForAll()
            }
            let bytes = try await uart.read(800)
            let runs = bytes.indices.count { $0 == 0 || bytes[$0] != bytes[$0 - 1] }
            #expect(runs == 4)
        }
    }

    @Test(.seeded) func framesAreFoundHoweverTheUARTCutsThem() async throws {
        let seed = SeededGenerator.runSeed
        try await Fixture.run(.init(attached: .loopback, splitsAtRandom: true, seed: seed)) { fixture in
            let uart = try await fixture.openUART()
            let framer = DelimiterFramer()
            let lines = ["one", "", "three", "a longer line than the others"].map { Array($0.utf8) }
            try await uart.send(try lines.flatMap { try framer.encode($0) })
            var found: [[UInt8]] = []
            for try await line in uart.frames(framer) {
                found.append(line)
                if found.count == lines.count { break }
            }
            #expect(found == lines)
        }
    }

    @Test func aFrameThatIsTooLongIsAnErrorAfterWhichOneGoesOn() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART()
            try await uart.send(Array("much too long\nfine\n".utf8))
            var frames = uart.frames(DelimiterFramer(maximumFrameLength: 4)).makeAsyncIterator()
            #expect(await failureCode { _ = try await frames.next() } == .protocolViolation)
            #expect(try await frames.next() == Array("fine".utf8))
        }
    }

    @Test func readingEndsByTimeAndGoesOnAfterwards() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART()
            let time = await fixture.duration {
                #expect(await failureCode { _ = try await uart.read(timeout: .seconds(2)) } == .timedOut)
            }
            #expect(time >= .seconds(2) && time < .seconds(3))
            try await uart.send([1, 2, 3])
            #expect(try await uart.read(3) == [1, 2, 3])
        }
    }

    @Test func flushingWaitsUntilTheDeviceHasEverything() async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            let uart = try await fixture.openUART()
            try await uart.send(pattern(5000))
            try await uart.flush()
            #expect(fixture.linble.statistics.bytesFromHosts == 5000)
        }
    }

    // MARK: Failures

    @Test func aDeviceOfAnotherKindIsNamed() async throws {
        try await Fixture.run(.init(profile: .nordic)) { fixture in
            let error = await failure { _ = try await fixture.openUART() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("\(UARTProfile.nordic.service)") == true)
            #expect(error?.remedy?.contains("Nordic UART") == true)
        }
    }

    @Test func oneOfSeveralProfilesIsTaken() async throws {
        try await Fixture.run(.init(profile: .nordic, attached: .loopback)) { fixture in
            let uart = try await fixture.openUART(UARTOptions(profiles: UARTProfile.known))
            #expect(uart.profile == .nordic)
            try await uart.send([1, 2, 3])
            #expect(try await uart.read(3) == [1, 2, 3])
        }
    }

    @Test func bytesBeforeTheSubscriptionGoNowhere() async throws {
        try await Fixture.run { fixture in
            let connection = try await fixture.connect()
            let service = try #require(try await connection.discoverServices(UARTProfile.linble.service).first)
            let characteristics = try await connection.discoverCharacteristics(of: service)
            let toDevice = try #require(characteristics.first { $0.uuid == UARTProfile.linble.toDevice })
            try await connection.writeCommand(hex("0100"), to: toDevice)
            let uart = try await UARTConnection.attach(to: connection)
            try await uart.send(hex("0100"))
            #expect(try await uart.read(2) == hex("0100"))
            #expect(fixture.linble.statistics.bytesIgnoredOffline == 2)
            #expect(fixture.linble.statistics.bytesFromHosts == 2)
        }
    }

    @Test func aDeviceThatVanishesEndsReadingAndSending() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART()
            try await uart.send([1, 2, 3])
            #expect(try await uart.read(3) == [1, 2, 3])
            fixture.linble.peripheral.setHidden(true)
            async let reading = failureCode { _ = try await uart.read() }
            async let sending = failureCode { while true { try await uart.send(pattern(1000)) } }
            #expect(await reading == .disconnected)
            #expect(await sending == .disconnected)
        }
    }

    @Test func disconnectingEndsTheStreamAfterWhatHasArrived() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART()
            try await uart.send([1, 2, 3])
            while uart.receivedByteCount < 3 { try await uart.flush() }
            await uart.disconnect()
            #expect(try await uart.read() == [1, 2, 3])
            #expect(await failureCode { _ = try await uart.read() } == .disconnected)
            #expect(await failureCode { try await uart.send([1]) } == .disconnected)
        }
    }

    @Test func aDeviceThatDoesNotAnswerEndsEachStepInTime() async throws {
        try await Fixture.run { fixture in
            let connection = try await fixture.connect()
            fixture.linble.peripheral.setMute(true)
            let time = await fixture.duration {
                #expect(await failureCode { _ = try await UARTConnection.attach(to: connection) } == .timedOut)
            }
            #expect(time >= .seconds(5) && time < .seconds(6))
        }
    }

    @Test func aReaderThatSleepsLosesNothingUntilTheBuffersAreFull() async throws {
        try await Fixture.run(.init()) { fixture in
            let uart = try await fixture.openUART(UARTOptions(receiveCapacity: 1000))
            try await uart.send(pattern(20_000))
            try await uart.flush()
            #expect(try await uart.read(20_000) == pattern(20_000))
        }
    }
}
