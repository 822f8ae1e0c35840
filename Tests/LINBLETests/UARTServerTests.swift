import BluetoothLE
import Synchronization
import TestSupport
import Testing

@testable import LINBLE

@Suite(.timeLimit(.minutes(2))) struct UARTServerTests {
    @Test(arguments: [23, 60, 247, 517])
    func everythingComesBackFromALoopback(mtu: Int) async throws {
        try await ServerFixture.run { fixture in
            let uart = try await fixture.open(0, UARTOptions(maximumTransmissionUnit: mtu))
            #expect(uart.profile == .linble)
            #expect(await uart.connection.maximumTransmissionUnit == mtu)
            let bytes = pattern(102_400)
            async let sending: Void = uart.send(bytes)
            #expect(try await uart.read(bytes.count) == bytes)
            try await sending
            await uart.disconnect()
        }
    }

    @Test func theServersATTMTUCounts() async throws {
        try await ServerFixture.run(UARTServerOptions(maximumTransmissionUnit: 100, maximumChunkLength: 7)) { fixture in
            let uart = try await fixture.open()
            #expect(await uart.maximumChunkLength == 97)
            try await uart.send(pattern(20))
            let first = try await uart.read(timeout: .seconds(5))
            #expect(first?.count ?? 0 > 0)
            #expect((first?.count ?? 0) % 7 == 0)
        }
    }

    @Test func itAdvertisesAsALINBLEDoes() async throws {
        try await ServerFixture.run { fixture in
            let seen = try await fixture.centrals[0].firstAdvertisement(timeout: .seconds(5)) {
                $0.localName == "LINBLE-Z1"
            }
            #expect(seen.data.containsService(UARTProfile.linble.service))
            #expect(seen.isConnectable)
            let connection = try await fixture.centrals[0].connect(to: fixture.adapter.information.address)
            let service = try #require(try await connection.discover().service(UARTProfile.linble.service))
            #expect(
                service.characteristics.map(\.uuid) == [UARTProfile.linble.fromDevice, UARTProfile.linble.toDevice])
            #expect(service.characteristics.map(\.properties) == [.notify, .writeWithoutResponse])
            await connection.disconnect()
        }
    }

    @Test func severalCentralsAreToldApart() async throws {
        let count = 4
        try await ServerFixture.run(centrals: count) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    let uart = try await fixture.open(number)
                    group.addTask {
                        let bytes = pattern(20_000, seed: 1000 * number)
                        async let sending: Void = uart.send(bytes)
                        let back = try await uart.read(bytes.count)
                        #expect(back == bytes)
                        try await sending
                        await uart.disconnect()
                    }
                }
                try await group.waitForAll()
            }
            try await fixture.settle { fixture.events.count("offline") == count }
            #expect(fixture.events.count("online") == count)
            #expect(fixture.events.failures.withLock { $0 } == Array(repeating: .disconnected, count: count))
        }
    }

    @Test func oneThatVanishesInMidTransferLeavesTheOthersAlone() async throws {
        try await ServerFixture.run(centrals: 2) { fixture in
            let vanishing = try await fixture.open(0)
            let staying = try await fixture.open(1)
            let sending = Task(executorPreference: fixture.radio.loop) {
                while true { try await vanishing.send(pattern(1000)) }
            }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.centralKernels[0].setHidden(true, adapter: 0)
            let bytes = pattern(50_000)
            async let back: Void = staying.send(bytes)
            #expect(try await staying.read(bytes.count) == bytes)
            try await back
            try await fixture.settle { fixture.events.count("offline") == 1 }
            #expect(fixture.events.failures.withLock { $0 } == [.disconnected])
            sending.cancel()
            _ = await sending.result
            // The central may reconnect, and starts anew.
            fixture.centralKernels[0].setHidden(false, adapter: 0)
            let again = try await fixture.open(0)
            try await again.send([1, 2, 3])
            #expect(try await again.read(3) == [1, 2, 3])
        }
    }

    @Test func itGoesOnWhenTheAdapterWasOff() async throws {
        try await ServerFixture.run { fixture in
            let uart = try await fixture.open()
            try await uart.send([1])
            #expect(try await uart.read(1) == [1])
            fixture.kernel.setPowered(false, adapter: 0)
            #expect(await failureCode { _ = try await uart.read(timeout: .seconds(60)) } == .disconnected)
            try await fixture.settle { fixture.events.count("offline") == 1 }
            try await fixture.radio.sleep(for: .seconds(10))
            fixture.kernel.setPowered(true, adapter: 0)
            let again = try await fixture.open()
            try await again.send([1, 2, 3])
            #expect(try await again.read(3) == [1, 2, 3])
        }
    }

    @Test func beforeTheSubscriptionBytesGoNowhere() async throws {
        try await ServerFixture.run { fixture in
            let connection = try await fixture.centrals[0].connect(to: fixture.adapter.information.address)
            let service = try #require(try await connection.discoverServices(UARTProfile.linble.service).first)
            let characteristics = try await connection.discoverCharacteristics(of: service)
            let toDevice = try #require(characteristics.first { $0.uuid == UARTProfile.linble.toDevice })
            try await connection.writeCommand([9, 9, 9], to: toDevice)
            // A LINBLE accepts requests, too, although its properties do not include them.
            try await connection.write([9, 9, 9], to: toDevice)
            let uart = try await UARTConnection.attach(to: connection)
            try await uart.send([1, 2, 3])
            #expect(try await uart.read(3) == [1, 2, 3])
            try await connection.write([UInt8](repeating: 7, count: 500), to: toDevice)
            #expect(try await uart.read(500) == [UInt8](repeating: 7, count: 500))
        }
    }

    @Test func aSubscriptionThatEndsAndBeginsAgainIsAnotherStream() async throws {
        let received = Mutex<[[UInt8]]>([])
        let sendingAfterwards = Mutex<[BluetoothError.Code?]>([])
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            var all: [UInt8] = []
            try await central.send([0])
            for try await bytes in central.received { all += bytes }
            received.withLock { $0.append(all) }
            let code = await failureCode { try await central.send([1]) }
            sendingAfterwards.withLock { $0.append(code) }
        }
        try await ServerFixture.run(serve: serve) { fixture in
            let connection = try await fixture.centrals[0].connect(to: fixture.adapter.information.address)
            let service = try #require(try await connection.discoverServices(UARTProfile.linble.service).first)
            let characteristics = try await connection.discoverCharacteristics(of: service)
            let toDevice = try #require(characteristics.first { $0.uuid == UARTProfile.linble.toDevice })
            let fromDevice = try #require(characteristics.first { $0.uuid == UARTProfile.linble.fromDevice })
            for number in 1...3 {
                let byte = UInt8(number)
                // Leaving the loop ends the subscription.
                for try await value in try await connection.subscribe(to: fromDevice) {
                    #expect(value == [0])
                    try await connection.writeCommand([byte, byte], to: toDevice)
                    break
                }
                try await fixture.settle { fixture.events.count("offline") == number }
                try await connection.writeCommand([0], to: toDevice)
            }
            #expect(Set(received.withLock { $0 }) == [[1, 1], [2, 2], [3, 3]])
            #expect(sendingAfterwards.withLock { $0 } == Array(repeating: .notSubscribed, count: 3))
            #expect(await connection.isConnected)
        }
    }

    @Test func oneThatSendsMoreThanIsReadLosesItsLinkAndNothingInSecret() async throws {
        let received = Mutex<[UInt8]>([])
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            // No task reads until the link has ended.
            _ = await central.connection.disconnected()
            for try await bytes in central.received { received.withLock { $0 += bytes } }
        }
        try await ServerFixture.run(UARTServerOptions(receiveCapacity: 5000), serve: serve) { fixture in
            let uart = try await fixture.open()
            let bytes = pattern(20_000)
            #expect(await failureCode { while true { try await uart.send(bytes) } } == .disconnected)
            try await fixture.settle { fixture.events.count("offline") == 1 }
            #expect(fixture.events.failures.withLock { $0 } == [.overflow])
            let all = received.withLock { $0 }
            #expect(all.count > 4000 && all.count <= 5000)
            #expect(all == Array(bytes.prefix(all.count)))
        }
    }

    @Test func aRequestIsRefusedInPlaceOfThat() async throws {
        var profile = UARTProfile.nordic
        profile.writeType = .request
        let options = UARTServerOptions(profile: profile, receiveCapacity: 100)
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            guard await central.connection.loop.sleep(for: .seconds(20)) else { throw CancellationError() }
            try await ServerFixture.echo(central)
        }
        try await ServerFixture.run(options, serve: serve) { fixture in
            let uart = try await fixture.open(0, UARTOptions(profiles: [.nordic]))
            try await uart.send(pattern(100))
            #expect(await failureCode { try await uart.send([1]) } == .attributeProtocol)
            #expect(try await uart.read(100) == pattern(100))
            try await uart.send([1])
            #expect(try await uart.read(1) == [1])
        }
    }

    @Test func centralsTakeTurnsWhereThatIsAskedFor() async throws {
        try await ServerFixture.run(UARTServerOptions(isExclusive: true), centrals: 2) { fixture in
            let first = try await fixture.open(0)
            try await first.send([1])
            #expect(try await first.read(1) == [1])
            // It does not advertise meanwhile.
            let patience = UARTOptions(scanTimeout: .seconds(5), attempts: 1)
            #expect(await failureCode { _ = try await fixture.open(1, patience) } == .notFound)
            await first.disconnect()
            let second = try await fixture.open(1)
            try await second.send([2])
            #expect(try await second.read(1) == [2])
        }
    }

    @Test func oneThatDoesNotListenHoldsUpNobodyAndNothingPilesUp() async throws {
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            while true { try await central.send(pattern(1000)) }
        }
        try await ServerFixture.run(centrals: 2, serve: serve) { fixture in
            let silent = try await fixture.open(0)
            let stuck = try #require(fixture.centrals.first?.information.address)
            fixture.kernel.setSending(false, adapter: 0, to: stuck)
            let listening = try await fixture.open(1)
            _ = try await listening.read(20_000)
            #expect(silent.receivedByteCount < 100_000)
            fixture.kernel.setSending(true, adapter: 0, to: stuck)
            #expect(try await silent.read(3000).prefix(1000) == pattern(1000)[...])
        }
    }

    @Test func endingItTakesEverythingBack() async throws {
        try await ServerFixture.run { fixture in
            let uart = try await fixture.open()
            fixture.server.cancel()
            #expect(await failureCode { try await fixture.server.value } == .cancelled)
            #expect(await failureCode { _ = try await uart.read(timeout: .seconds(10)) } == .disconnected)
            #expect(try await fixture.adapter.removeForeignAdvertising() == 0)
            let patience = UARTOptions(scanTimeout: .seconds(5), attempts: 1)
            #expect(await failureCode { _ = try await fixture.open(0, patience) } == .notFound)
            // It can be offered again.
            let again = Task(executorPreference: fixture.radio.loop) {
                try await UARTServer.run(on: fixture.adapter, serve: ServerFixture.echo)
            }
            let second = try await fixture.open()
            try await second.send([1])
            #expect(try await second.read(1) == [1])
            again.cancel()
            _ = await again.result
        }
    }

    @Test func theServiceThatFailsEndsItsLinkOnly() async throws {
        struct Failure: Error {}
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            if try await central.read() == [0xFF] { throw Failure() }
            try await central.send([1])
            try await ServerFixture.echo(central)
        }
        try await ServerFixture.run(centrals: 2, serve: serve) { fixture in
            let good = try await fixture.open(0)
            let bad = try await fixture.open(1)
            try await good.send([1])
            try await bad.send([0xFF])
            #expect(await failureCode { _ = try await bad.read(timeout: .seconds(10)) } == .disconnected)
            try await good.send([2])
            #expect(try await good.read(2) == [1, 2])
        }
    }
}
