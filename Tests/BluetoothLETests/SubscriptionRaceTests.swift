import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let characteristic = RemoteCharacteristic(
    uuid: 0x2A37, properties: [.notify, .indicate], declarationHandle: 2, valueHandle: 3, endHandle: 4,
    descriptors: [RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)])

/// Several subscribers of one characteristic that subscribe and unsubscribe while the configuration is being written.
@Suite struct SubscriptionRaceTests {
    @Test("a second subscription to the same kind sends nothing")
    func second() async throws {
        try await withConnection(Exchange("12 0400 0100", "13"), Exchange.optional("12 0400 0000", "13")) {
            connection, socket in
            var first: BoundedStream? = try await connection.subscribe(to: characteristic)
            var second = try await connection.subscribe(to: characteristic).makeAsyncIterator()
            withExtendedLifetime(first) {}
            first = nil
            socket.deliver("1B 0300 01")
            #expect(try await second.next() == [1])
            #expect(socket.sent.count == 1)
        }
    }

    @Test("a subscriber added while the last one is removed is subscribed")
    func resubscribing() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0000"), Exchange("12 0400 0100", "13"),
            Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            _ = try await connection.subscribe(to: characteristic)
            await connection.settle { socket.sent.count == 2 }
            async let next = connection.subscribe(to: characteristic)
            await connection.settle { await connection.isWanted(3) }
            socket.deliver("13")
            var values = try await next.makeAsyncIterator()
            socket.deliver("1B 0300 07")
            #expect(try await values.next() == [7])
        }
    }

    @Test("a subscriber removed before its write sends nothing")
    func leavingEarly() async throws {
        try await withConnection(Exchange("0A 0900"), Exchange("0A 0A00", "0B 02")) { connection, socket in
            async let read = connection.read(AttributeHandle(9))
            await connection.settle { socket.sent.count == 1 }
            let error = await failure {
                _ = try await connection.subscribe(to: characteristic, timeout: .milliseconds(10))
            }
            #expect(error?.code == .timedOut)
            socket.deliver("0B 01")
            _ = try await read
            #expect(try await connection.read(AttributeHandle(10)) == [2])
        }
    }

    @Test("a cancelled caller is unsubscribed after the peer's response")
    func givingUp() async throws {
        try await withConnection(Exchange("12 0400 0100"), Exchange("12 0400 0000", "13")) { connection, socket in
            let error = await failure {
                _ = try await connection.subscribe(to: characteristic, timeout: .seconds(1))
            }
            #expect(error?.code == .timedOut)
            #expect(socket.sent.count == 1)
            socket.deliver("13")
            await connection.settle { socket.sent.count == 2 }
        }
    }

    @Test("a refused second kind restores the first, even if that is removed meanwhile")
    func refusedSecond() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0300"), Exchange("12 0400 0000", "13")
        ) { connection, socket in
            var first: BoundedStream? = try await connection.subscribe(to: characteristic, kind: .notification)
            async let second = failure {
                _ = try await connection.subscribe(to: characteristic, kind: .indication)
            }
            await connection.settle { socket.sent.count == 2 }
            withExtendedLifetime(first) {}
            first = nil
            await connection.settle { await connection.wantedKinds(3) == .indication }
            socket.deliver("01 12 0400 13")
            #expect(await second?.cause == .attribute(.valueNotAllowed))
            await connection.settle { socket.sent.count == 3 }
        }
    }

    @Test("a refused second kind does not end the first")
    func refusedSecondAndFirstStays() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0300", "01 12 0400 13"),
            Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var values = try await connection.subscribe(to: characteristic, kind: .notification).makeAsyncIterator()
            let error = await failure {
                _ = try await connection.subscribe(to: characteristic, kind: .indication)
            }
            #expect(error?.code == .attributeProtocol)
            socket.deliver("1B 0300 01")
            #expect(try await values.next() == [1])
        }
    }

    @Test("each kind reaches its subscribers, and removing one narrows the configuration")
    func bothKinds() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0300", "13"), Exchange("1E"),
            Exchange("12 0400 0200", "13"), Exchange("1E"), Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var notified: BoundedStream<[UInt8]>.Iterator? =
                try await connection.subscribe(to: characteristic, kind: .notification).makeAsyncIterator()
            var indicated = try await connection.subscribe(to: characteristic, kind: .indication).makeAsyncIterator()
            // A peer that sends the value both ways.
            socket.deliver("1B 0300 01")
            socket.deliver("1D 0300 01")
            socket.deliver("1B 0300 02")
            let values = (try await notified?.next(), try await notified?.next(), try await indicated.next())
            #expect(values == ([1], [2], [1]))
            notified = nil
            await connection.settle { socket.sent.count == 4 }
            // Without a request for this kind, it is better than nothing.
            socket.deliver("1B 0300 03")
            socket.deliver("1D 0300 04")
            let rest = (try await indicated.next(), try await indicated.next())
            #expect(rest == ([3], [4]))
        }
    }

    @Test("an automatic subscriber uses the present configuration")
    func automatic() async throws {
        try await withConnection(Exchange("12 0400 0200", "13"), Exchange.optional("12 0400 0000", "13")) {
            connection, socket in
            let first = try await connection.subscribe(to: characteristic, kind: .indication)
            let second = try await connection.subscribe(to: characteristic)
            withExtendedLifetime((first, second)) {}
            #expect(socket.sent.first == hex("12 0400 0200"))
        }
    }

    @Test("a refused unsubscription is not repeated")
    func refusedUnsubscribing() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0400 0000", "01 12 0400 0E"), Exchange("0A 0900", "0B 01"),
            Exchange("12 0400 0100", "13"), Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            _ = try await connection.subscribe(to: characteristic)
            await connection.settle { socket.sent.count == 2 }
            _ = try await connection.read(AttributeHandle(9))
            // A new subscription writes the configuration again.
            _ = try await connection.subscribe(to: characteristic)
        }
    }

    @Test("an invalid response fails the subscription, which is removed")
    func malformed() async throws {
        try await withConnection(Exchange("12 0400 0100", "01 12 04"), Exchange("12 0400 0000", "13")) {
            connection, socket in
            let error = await failure { _ = try await connection.subscribe(to: characteristic) }
            #expect(error?.code == .protocolViolation)
            await connection.settle { socket.sent.count == 2 }
        }
    }

    @Test("the end of the link ends waiting and active subscriptions")
    func end() async throws {
        try await withConnection(Exchange("12 0400 0100", "13"), Exchange("12 0400 0300")) { connection, socket in
            let values = try await connection.subscribe(to: characteristic, kind: .notification)
            async let second = failure {
                _ = try await connection.subscribe(to: characteristic, kind: .indication)
            }
            await connection.settle { socket.sent.count == 2 }
            socket.end(KernelError("recv", .connectionReset))
            #expect(await second?.code == .disconnected)
            #expect(await failure { for try await _ in values {} }?.code == .disconnected)
        }
    }

    @Test(
        "many who come and go at random are each live when their call returns", .seeded,
        arguments: SeededGenerator.seeds(20))
    func random(seed: UInt64) async throws {
        try await Fixture.run(seed: seed) { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(0xFFF3, properties: [.notify, .indicate], value: .stored([0]))
                    ])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let services = try await connection.discover()
            let target = try #require(services.characteristics(0xFFF3).first)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 as Range<UInt64> {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &* 8 &+ number)
                        func random(_ count: Int) -> Int { .random(in: 0..<count, using: &generator) }
                        for _ in 0..<5 {
                            let kind: SubscriptionKind = [.automatic, .notification, .indication][random(3)]
                            try await fixture.radio.sleep(for: .milliseconds(random(200)))
                            let timeout: Duration? = random(4) == 0 ? .milliseconds(random(60)) : nil
                            do {
                                let values = try await connection.subscribe(to: target, kind: kind, timeout: timeout)
                                let asked =
                                    server.subscribers(of: target.valueHandle, as: .notification).count
                                    + server.subscribers(of: target.valueHandle, as: .indication).count
                                #expect(asked >= 1)
                                try await fixture.radio.sleep(for: .milliseconds(random(200)))
                                withExtendedLifetime(values) {}
                            } catch let error as BluetoothError {
                                #expect(error.code == .timedOut)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await fixture.settle {
                server.subscribers(of: target.valueHandle, as: .notification).isEmpty
                    && server.subscribers(of: target.valueHandle, as: .indication).isEmpty
            }
            await connection.disconnect()
        }
    }
}

extension Connection {
    fileprivate func isWanted(_ handle: AttributeHandle) async -> Bool {
        await core { (try? $0.bearer(for: .init("test")).peerServer.subscribers.contains(handle)) ?? false }
    }

    fileprivate func wantedKinds(_ handle: AttributeHandle) async -> ClientCharacteristicConfiguration {
        await core { (try? $0.bearer(for: .init("test")).peerServer.subscribers.wanted(of: handle)) ?? [] }
    }
}
