import BluetoothLoop
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Devices that have to be authorised by the program.
@Suite struct AuthorizationStories {
    static let services = [
        GATTService(
            0xFFF0,
            characteristics: [
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .write, .writeWithoutResponse, .notify],
                    permissions: [.read, .write, .readAuthorized, .writeAuthorized], value: .stored([7])),
                GATTCharacteristic(
                    0xFFF2, properties: [.read, .write],
                    permissions: [.read, .write, .readAuthorized, .writeAuthorized]
                ),
            ])
    ]

    private static func run(
        centrals: Int = 1, handlers: AttributeHandlers,
        _ body: @escaping @Sendable (PeripheralFixture, PublishedServices) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run(centrals: centrals) { fixture in
            let published = try await fixture.peripheral.publish(services, handlers: handlers)
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            try await body(fixture, published)
            incoming.close()
            await set.close()
        }
    }

    private static func code(_ body: () async throws -> Void) async -> ATTErrorCode? {
        guard let code = await failure(body)?.cause?.attributeErrorCode else { return nil }
        return code
    }

    @Test func oneMayAndAnotherMayNot() async throws {
        let asked = Mutex<[AuthorizationRequest]>([])
        let friend = Mutex<BluetoothAddress?>(nil)
        let handlers = AttributeHandlers(
            read: { _ in [1] },
            authorize: { request in
                asked.withLock { $0.append(request) }
                return request.peer == friend.withLock { $0 } ? .whileConnected : .refused
            })
        try await Self.run(centrals: 2, handlers: handlers) { fixture, published in
            friend.withLock { $0 = fixture.centrals[0].information.address }
            let first = try await fixture.connect(0)
            let second = try await fixture.connect(1)
            for (connection, may) in [(first, true), (second, false)] {
                let stored = try await connection.found(0xFFF1, in: 0xFFF0)
                let dynamic = try await connection.found(0xFFF2, in: 0xFFF0)
                let codes = [
                    await Self.code { _ = try await connection.read(stored) },
                    await Self.code { _ = try await connection.read(dynamic) },
                    await Self.code { try await connection.write([9], to: stored) },
                ]
                #expect(codes == (may ? [nil, nil, nil] : Array(repeating: .insufficientAuthorization, count: 3)))
            }
            // The first was asked about once, the second at every turn.
            #expect(asked.withLock { $0.count } == 4)
            #expect(asked.withLock { $0 }.first?.uuid == 0xFFF1)
            #expect(asked.withLock { $0 }.first?.access == .read)
            #expect(asked.withLock { $0 }.last?.access == .write)
            // On the next link it is asked about anew.
            await first.disconnect()
            try await fixture.base.radio.sleep(for: .seconds(5))
            let again = try await fixture.connect(0)
            _ = try await again.read(try await again.found(0xFFF1, in: 0xFFF0))
            #expect(asked.withLock { $0.count } == 5)
            withExtendedLifetime(published) {}
        }
    }

    @Test func onceIsOnceAndALongWriteIsOne() async throws {
        let count = Mutex(0)
        let handlers = AttributeHandlers(authorize: { _ in
            count.withLock { $0 += 1 }
            return .once
        })
        try await Self.run(handlers: handlers) { fixture, published in
            let connection = try await fixture.central.connect(
                to: fixture.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            let long = (0..<100).map { UInt8($0) }
            try await connection.write(long, to: stored)
            #expect(count.withLock { $0 } == 1)
            #expect(published.value(of: 0x12) == long)
            try await connection.write([1], to: stored)
            #expect(count.withLock { $0 } == 2)
        }
    }

    @Test func commandsWaitForTheirTurnAndAreWrittenInOrder() async throws {
        let handlers = AttributeHandlers(authorize: { _ in .once })
        try await Self.run(handlers: handlers) { fixture, published in
            let connection = try await fixture.connect()
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            for number in 1...10 as ClosedRange<UInt8> {
                try await connection.writeCommand([number], to: stored)
            }
            try await fixture.base.settle { published.value(of: 0x12) == [10] }
        }
    }

    @Test func withoutAHandlerNobodyMay() async throws {
        try await Self.run(handlers: AttributeHandlers(read: { _ in [1] })) { fixture, _ in
            let connection = try await fixture.connect()
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(await Self.code { _ = try await connection.read(stored) } == .insufficientAuthorization)
        }
    }

    @Test func whoeverThrowsOrNeverAnswersHasRefused() async throws {
        let isHanging = Mutex(false)
        let handlers = AttributeHandlers(authorize: { _ in
            if isHanging.withLock({ $0 }) { await Promise<Void, Never>().value(ifCancelled: ()) }
            throw BluetoothError(.failed, .init("decide"), "nobody there")
        })
        try await Self.run(handlers: handlers) { fixture, _ in
            let connection = try await fixture.connect()
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(await Self.code { _ = try await connection.read(stored) } == .insufficientAuthorization)
            isHanging.withLock { $0 = true }
            let time = await fixture.base.duration {
                #expect(await Self.code { _ = try await connection.read(stored) } == .insufficientAuthorization)
            }
            #expect(time >= .seconds(25) && time < .seconds(26))
        }
    }

    @Test func valuesAreSentToWhoMayHaveThemWhileConnected() async throws {
        let handlers = AttributeHandlers(authorize: { _ in .whileConnected })
        try await Self.run(handlers: handlers) { fixture, published in
            let connection = try await fixture.connect()
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            let values = try await connection.subscribe(to: stored)
            let refused = try await published.notify([1], of: 0x12)
            #expect(refused.map { $0.result.error?.cause } == [.attribute(.insufficientAuthorization)])
            _ = try await connection.read(stored)
            let sent = try await published.notify([2], of: 0x12)
            #expect(sent.map { $0.result.error?.code } == [nil])
            var iterator = values.makeAsyncIterator()
            #expect(try await iterator.next() == [2])
        }
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
