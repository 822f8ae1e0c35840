import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// What becomes of a device's requests when a program's handlers are slow, hang, throw or outlive the link.
@Suite struct HandlerStories {
    private static let services = [
        PeripheralFixture.service,
        GATTService(
            0xFFF8,
            characteristics: [
                GATTCharacteristic(0xFFF9, properties: [.read, .writeWithoutResponse]),
                GATTCharacteristic(0xFFFA, properties: .read),
            ]),
    ]

    private static func run(
        read: @escaping @Sendable (ReadRequest, SimulatedRadio) async throws -> [UInt8] = { _, _ in [1] },
        write: @escaping @Sendable (WriteRequest, [UInt8], SimulatedRadio) async throws -> Void = { _, _, _ in },
        _ body: @escaping @Sendable (PeripheralFixture, Connection, IncomingConnections) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run { fixture in
            try await fixture.peripheral.publish(
                services,
                handlers: AttributeHandlers(
                    read: { try await read($0, fixture.base.radio) },
                    write: { try await write($0, $1, fixture.base.radio) }))
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            try await body(fixture, try await fixture.connect(), incoming)
            incoming.close()
            await set.close()
        }
    }

    private static func isUnlikely(_ error: BluetoothError?) -> Bool { error?.cause == .attribute(.unlikelyError) }

    @Test func aCommandWhoseHandlerHangsIsCancelled() async throws {
        try await Self.run(write: { _, bytes, radio in
            if bytes == [0xFF] { try await radio.sleep(for: .seconds(500)) }
        }) { fixture, connection, _ in
            let value = try await connection.found(0xFFF9, in: 0xFFF8)
            try await connection.writeCommand([0xFF], to: value)
            try await fixture.base.radio.sleep(for: .seconds(1))
            let time = try await fixture.base.duration {
                let answer = try await connection.read(value)
                #expect(answer == [1])
            }
            #expect(time > .seconds(23) && time < .seconds(25))
            #expect(await connection.isConnected)
        }
    }

    @Test func aCommandWhoseHandlerIgnoresItsEndHoldsNoRequestBeyondItsTime() async throws {
        try await Self.run(write: { _, _, radio in
            // A task of its own is not cancelled with the handler.
            try? await Task(executorPreference: radio.loop) { try await radio.sleep(for: .seconds(500)) }.value
        }) { fixture, connection, _ in
            let value = try await connection.found(0xFFF9, in: 0xFFF8)
            try await connection.writeCommand([0xFF], to: value)
            try await fixture.base.radio.sleep(for: .seconds(20))
            let time = await fixture.base.duration {
                #expect(Self.isUnlikely(await failure { _ = try await connection.read(value) }))
            }
            #expect(time >= .seconds(25) && time < .seconds(26))
            // Until it returns, requests are refused at once.
            let next = await fixture.base.duration {
                #expect(Self.isUnlikely(await failure { _ = try await connection.read(value) }))
            }
            #expect(next < .seconds(1))
            #expect(await connection.isConnected)
        }
    }

    /// Of five commands the handler is at the first when the link ends.
    @Test func commandsThatWaitedAtTheEndOfTheLinkAreCounted() async throws {
        let begun = Mutex<[UInt8]>([])
        try await Self.run(write: { _, bytes, radio in
            begun.withLock { $0 += bytes }
            try await radio.sleep(for: .seconds(5))
        }) { fixture, connection, incoming in
            let value = try await connection.found(0xFFF9, in: 0xFFF8)
            let accepted = try #require(incoming.connections.first)
            for number in 0..<5 as Range<UInt8> { try await connection.writeCommand([number], to: value) }
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(await accepted.missedCommandCount == 0)
            fixture.base.radio.breakLink(fixture.address, fixture.central.information.address)
            _ = await accepted.disconnected()
            #expect(begun.withLock { $0 } == [0])
            #expect(await accepted.missedCommandCount == 4)
        }
    }

    @Test func aRequestOfSeveralValuesHasTheTimeOfOne() async throws {
        try await Self.run(read: { _, radio in
            try await radio.sleep(for: .seconds(15))
            return [1]
        }) { fixture, connection, _ in
            let values = [
                try await connection.found(0xFFF9, in: 0xFFF8), try await connection.found(0xFFFA, in: 0xFFF8),
            ]
            let time = await fixture.base.duration {
                #expect(Self.isUnlikely(await failure { _ = try await connection.read(values) }))
            }
            #expect(time >= .seconds(25) && time < .seconds(26))
            #expect(try await connection.read(values[0]) == [1])
        }
    }

    /// A receiver of events that holds its questions.
    @Test func aQuestionHasTheTimeOfItsRequest() async throws {
        let held = Mutex<[PeerQuestion]>([])
        try await PeripheralFixture.run { fixture in
            let services = Self.services.map { LocalService($0) }
            try await fixture.peripheral.publish(services) { event, _ in
                if case .read(_, let question) = event { held.withLock { $0.append(question) } }
            }
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let connection = try await fixture.connect()
            let values = [
                try await connection.found(0xFFF9, in: 0xFFF8), try await connection.found(0xFFFA, in: 0xFFF8),
            ]
            let time = await fixture.base.duration {
                #expect(Self.isUnlikely(await failure { _ = try await connection.read(values[0]) }))
            }
            #expect(time >= .seconds(25) && time < .seconds(26))
            // The late answer is not that of the next request.
            let read = fixture.base.begin { try await connection.read(values[0]) }
            try await fixture.base.settle { held.withLock { $0.count } == 2 }
            #expect(held.withLock { $0 }.enumerated().map { $1.resolve(.success([UInt8($0)])) } == [false, true])
            #expect(try await read.value == [1])
            #expect(held.withLock { $0[1].resolve(.success([])) } == false)
            // The second value of a request has the rest of its time.
            let several = try await fixture.base.duration {
                let read = fixture.base.begin { await failure { _ = try await connection.read(values) } }
                try await fixture.base.radio.sleep(for: .seconds(15))
                held.withLock { $0.last }?.resolve(.success([1]))
                #expect(Self.isUnlikely(try await read.value))
            }
            #expect(several >= .seconds(25) && several < .seconds(26))
            #expect(held.withLock { $0.count } == 4)
            // Nor is there time after the end of the link.
            let last = fixture.base.begin { await failure { _ = try await connection.read(values[0]) } }
            try await fixture.base.settle { held.withLock { $0.count } == 5 }
            fixture.base.radio.breakLink(fixture.address, fixture.central.information.address)
            #expect(try await last.value?.code == .disconnected)
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(held.withLock { $0[4].resolve(.success([1])) } == false)
            await set.close()
        }
    }

    @Test func anAnswerAfterTheEndOfTheLinkIsNobodys() async throws {
        let ends = Mutex<[Bool]>([])
        try await Self.run(read: { _, radio in
            try? await radio.sleep(for: .seconds(10))
            ends.withLock { $0.append(Task.isCancelled) }
            return [1]
        }) { fixture, connection, incoming in
            let value = try await connection.found(0xFFF9, in: 0xFFF8)
            let read = fixture.base.begin { await failure { _ = try await connection.read(value) } }
            try await fixture.base.radio.sleep(for: .seconds(1))
            fixture.base.radio.breakLink(fixture.address, fixture.central.information.address)
            #expect(try await read.value?.code == .disconnected)
            try await fixture.base.settle { ends.withLock { $0 } == [true] }
            try await fixture.base.settle { incoming.connections.isEmpty }
            // The same device on a new link is served at once.
            let again = try await fixture.connect()
            #expect(try await again.read(try await again.found(0xFFF9, in: 0xFFF8)) == [1])
        }
    }

    @Test func whoWithdrawsWhileAHandlerIsAtWorkHasItAnswered() async throws {
        let published = Mutex<PublishedServices?>(nil)
        try await PeripheralFixture.run { fixture in
            let services = try await fixture.peripheral.publish(
                [PeripheralFixture.service],
                handlers: AttributeHandlers(read: { _ in
                    await published.withLock { $0 }?.close()
                    return [1]
                }))
            published.withLock { $0 = services }
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF2, in: 0xFFF0)
            let error = await failure { _ = try await connection.read(value) }
            #expect(error?.cause == .attribute(.invalidHandle))
            #expect(await connection.isConnected)
            incoming.close()
            await set.close()
        }
    }

    /// The adapter goes at each moment of a handler's work, and of a value's way.
    @Test(arguments: [false, true]) func theAdapterGoesWhileAHandlerIsAtWork(_ isUnplugged: Bool) async throws {
        let ends = Mutex(0)
        try await Self.run(read: { _, radio in
            try? await radio.sleep(for: .seconds(5))
            ends.withLock { $0 += 1 }
            return [1]
        }) { fixture, connection, incoming in
            let value = try await connection.found(0xFFF9, in: 0xFFF8)
            let accepted = try #require(incoming.connections.first)
            let read = fixture.base.begin { await failure { _ = try await connection.read(value) } }
            try await fixture.base.radio.sleep(for: .seconds(1))
            if isUnplugged { fixture.kernel.unplug(0) } else { fixture.kernel.setPowered(false, adapter: 0) }
            #expect(try await read.value?.code == .disconnected)
            _ = await accepted.disconnected()
            try await fixture.base.settle { ends.withLock { $0 } == 1 }
            #expect(await accepted.peerConfiguration(of: PeripheralFixture.value) == [])
            #expect(await failure { try await accepted.notify([1], of: PeripheralFixture.value) } != nil)
            #expect(incoming.connections.isEmpty)
        }
    }
}
