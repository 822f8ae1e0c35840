import BluetoothLoop
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// What a program can say that cannot be, and services that go while something is done with them.
@Suite struct ServerAttackTests {
    /// ```
    /// 0010 service FFF0   0011 0012 FFF1 stored, notify, indicate, 0013 CCCD   0014 0015 FFF2 dynamic
    /// ```
    private struct AttackFixture: Sendable {
        let base: PeripheralFixture
        let published: PublishedServices
        /// Sends and receives raw bytes over an ATT_MTU of 23.
        let client: PeerClient
        let link: Connection
    }

    private static func run(
        handlers: AttributeHandlers = AttributeHandlers(),
        _ body: @escaping @Sendable (AttackFixture) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service], handlers: handlers)
            let client = PeerClient()
            let device = SimulatedPeripheral(on: fixture.base.radio, handler: { client.open($0) })
            let link = try await fixture.peripheral.connect(
                to: device.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            try await body(AttackFixture(base: fixture, published: published, client: client, link: link))
            await link.disconnect()
        }
    }

    // MARK: What cannot be

    private static func characteristic(
        _ properties: CharacteristicProperties = .read, value: AttributeValue = .dynamic,
        lengths: ClosedRange<Int> = 0...512, handle: AttributeHandle? = nil, descriptors: [GATTDescriptor] = []
    ) -> [GATTService] {
        [
            GATTService(
                0xFFF8,
                characteristics: [
                    GATTCharacteristic(
                        0xFFF9, properties: properties, value: value, valueLengths: lengths, descriptors: descriptors,
                        handle: handle)
                ])
        ]
    }

    @Test func whatCannotBePublishedIsRefusedAndChangesNothing() async throws {
        try await Self.run { fixture in
            let adapter = fixture.base.peripheral
            let hash = await fixture.client.ask("080100FFFF2A2B")
            let many = (0..<30_000).map { GATTService(BluetoothUUID(UInt16($0)), endHandle: nil) }
            let mistakes: [([GATTService], BluetoothError.Code)] = [
                ([], .invalidArgument),
                ([GATTService(0xFFF8, handle: 0)], .invalidArgument),
                // Where something is, across it, and beyond the last.
                ([GATTService(0xFFF8, handle: 0x11)], .invalidArgument),
                ([GATTService(0xFFF8, handle: 0x15)], .invalidArgument),
                ([GATTService(0xFFF8, handle: 0x20), GATTService(0xFFF9, handle: 0x20)], .invalidArgument),
                ([GATTService(0xFFF8, handle: 0x20, endHandle: 0x1F)], .invalidArgument),
                (Self.characteristic(handle: 0x05), .invalidArgument),
                (Self.characteristic(handle: 0xFFFF), .invalidArgument),
                ([GATTService(0xFFF8, handle: 0xFFFF), GATTService(0xFFF9)], .invalidArgument),
                (many + many + many, .invalidArgument),
                (Self.characteristic(value: .stored(pattern(513))), .invalidArgument),
                (Self.characteristic(lengths: 0...513), .invalidArgument),
                (Self.characteristic(lengths: Int.min...Int.max), .invalidArgument),
                (Self.characteristic(value: .stored([1]), lengths: 2...3), .invalidArgument),
                (
                    Self.characteristic(descriptors: [
                        GATTDescriptor.userDescription("a"), GATTDescriptor.userDescription("b"),
                    ]), .invalidArgument
                ),
                ([GATTService(0xFFF8, includedServices: [0xFFF8])], .invalidArgument),
                ([GATTService(0xFFF8, includedServices: [0xABCD])], .invalidArgument),
                // Those that every device has once.
                ([GATTService(0x1800)], .invalidArgument),
                ([GATTService(0xFFF8), GATTService(0x1801)], .invalidArgument),
                // Signed Write Commands are dropped.
                (Self.characteristic([.read, .authenticatedSignedWrites]), .unsupported),
            ]
            for (services, code) in mistakes {
                let error = await failure { try await adapter.publish(services) }
                #expect(error?.code == code, "\(services.first as Any)")
            }
            #expect(await fixture.client.ask("080100FFFF2A2B") == hash)
            // What is odd and can be: no characteristics, the same UUID again, a range to the last handle.
            let odd = try await adapter.publish([
                GATTService(0xFFF0), GATTService(0xFFF0, includedServices: [0xFFF0], endHandle: 0xFFFF),
            ])
            #expect(odd.handles == AttributeHandleRange(start: 0x16, end: 0xFFFF))
            #expect(await failure { try await adapter.publish([GATTService(0xFFF8)]) }?.code == .invalidArgument)
            await odd.close()
            // Handles that were given are given again when there are no others.
            let again = try await adapter.publish([GATTService(0xFFF8)])
            #expect(again.handles.start == 0x16)
        }
    }

    @Test func whatCannotBeSentIsRefused() async throws {
        try await Self.run { fixture in
            let published = fixture.published
            let plain = try await fixture.base.peripheral.publish([
                GATTService(
                    0xFFF8,
                    characteristics: [
                        GATTCharacteristic(0xFFF9, properties: .read, value: .stored([1])),
                        GATTCharacteristic(0xFFFA, properties: .indicate),
                    ])
            ])
            let values: [AttributeHandle] = [
                plain.handles.start, try #require(plain.handle(of: 0xFFF9)), 0x12, 0xFFFF, 0,
            ]
            for handle in values {
                #expect(
                    await failure { try await plain.notify([1], of: handle) }?.code == .invalidArgument, "\(handle)")
            }
            let indicated = try #require(plain.handle(of: 0xFFFA))
            let error = await failure { try await plain.notify([1], of: indicated) }
            #expect(error?.message.contains("property notify") == true)
            #expect(try await plain.indicate([1], of: indicated).isEmpty)
            #expect(await failure { try await published.notify([1], of: 0x13) }?.code == .invalidArgument)
            // Of a value that is too long the beginning is sent; odd times are times.
            #expect(await fixture.client.ask("1213000300") == "13")
            for timeout in [Duration.zero, .seconds(-5), .seconds(Int64.max)] {
                let sent = try await published.notify(pattern(100_000), of: 0x12, timeout: timeout)
                #expect(sent.count == 1)
                for delivery in sent { try delivery.result.get() }
                #expect(await fixture.client.next() == "1B1200" + pattern(20).hexadecimal)
            }
            #expect(throws: BluetoothError.self) { try published.setValue(pattern(600), of: 0x12) }
            #expect(throws: BluetoothError.self) { try published.setValue([1], of: 0x15) }
            try published.setValue([], of: 0x12)
            await published.close()
            let withdrawn = await failure { try await published.notify([1], of: 0x12) }
            #expect(withdrawn?.code == .invalidArgument)
            #expect(withdrawn?.message.contains("closed") == true)
            #expect(published.value(of: 0x12) == nil)
            #expect(published.handle(of: 0xFFF1) == nil)
            #expect(throws: BluetoothError.self) { try published.setValue([1], of: 0x12) }
        }
    }

    // MARK: Services that go

    @Test func whoIsSubscribedToWhatIsWithdrawnIsToldOfAsUnsubscribed() async throws {
        try await Self.run { fixture in
            let told = Mutex<[PeerSubscription]>([])
            let link = fixture.link
            let following = fixture.base.base.begin {
                for try await subscription in await link.peerSubscriptions() {
                    told.withLock { $0.append(subscription) }
                }
            }
            #expect(await fixture.client.ask("1213000300") == "13")
            let both: ClientCharacteristicConfiguration = [.notification, .indication]
            // An indication that is not confirmed, another behind it, and a notification for which there is no room.
            let first = fixture.base.base.begin { await failure { try await link.indicate([1], of: 0x12) } }
            #expect(await fixture.client.next() == "1D120001")
            let second = fixture.base.base.begin { await failure { try await link.indicate([2], of: 0x12) } }
            try await fixture.base.base.radio.sleep(for: .seconds(1))
            await fixture.published.close()
            try await fixture.base.base.settle { told.withLock { $0.count } == 2 }
            #expect(
                told.withLock { $0 } == [
                    PeerSubscription(characteristic: 0x12, configuration: both),
                    PeerSubscription(characteristic: 0x12, configuration: []),
                ])
            // The one that is on its way is confirmed, the other never goes.
            fixture.client.send("1E")
            #expect(try await first.value == nil)
            #expect(try await second.value?.code == .notSubscribed)
            #expect(await fixture.client.ask("0A1200") == "010A120001")
            following.cancel()
            _ = await following.result
        }
    }

    /// On the link's own bearer; see ``AcceptedBearerTests`` for the others.
    @Test func aWriteThatIsPreparedIsNotAnsweredAsIfItWereWritten() async throws {
        try await Self.run { fixture in
            #expect(await fixture.client.ask("161200000001") == "171200000001")
            let other = try await fixture.base.peripheral.publish([CachingTests.battery])
            #expect(await fixture.client.ask("1801") == "19")
            #expect(fixture.published.value(of: 0x12) == [1])
            #expect(await fixture.client.ask("161200000002") == "171200000002")
            await fixture.published.close()
            #expect(await fixture.client.ask("1801") == "0118120001")
            #expect(await fixture.client.ask("1801") == "19")
            withExtendedLifetime(other) {}
        }
    }

    @Test func serviceWithdrawnWhileItsHandlersAreAtWork() async throws {
        let gate = Gate()
        let ends = Mutex<[String]>([])
        let handlers = AttributeHandlers(
            read: { _ in
                await gate.pass()
                ends.withLock { $0.append("read") }
                return [1]
            },
            write: { _, bytes in
                await gate.pass()
                ends.withLock { $0.append("write \(bytes)") }
            })
        try await Self.run(handlers: handlers) { fixture in
            for (request, answer) in [("0A1500", "010A150001"), ("12150005", "13")] {
                gate.close()
                let published =
                    request == "0A1500"
                    ? fixture.published
                    : try await fixture.base.peripheral.publish(
                        [
                            GATTService(
                                0xFFF0, characteristics: [GATTCharacteristic(0xFFF2, properties: .write)], handle: 0x13)
                        ], handlers: handlers)
                fixture.client.send(request)
                try await fixture.base.base.radio.sleep(for: .seconds(1))
                await published.close()
                gate.open()
                // What a handler has taken is taken; what is not there any more has no value.
                #expect(await fixture.client.next() == answer)
            }
            #expect(ends.withLock { $0 } == ["read", "write [5]"])
            #expect(await fixture.link.isConnected)
        }
    }

    // MARK: Changes in masses

    @Test func changesThatAClientDoesNotConfirmDoNotPileUp() async throws {
        try await Self.run { fixture in
            #expect(await fixture.client.ask("1209000200") == "13")
            #expect(await fixture.client.ask("120B0001") == "13")
            let hash = await fixture.client.ask("080100FFFF2A2B")
            let range = try await fixture.base.peripheral.publish([CachingTests.battery]).handles
            #expect(await fixture.client.next().hasPrefix("1D0800"))
            var last: PublishedServices?
            for _ in 0..<3000 {
                await last?.close()
                last = try await fixture.base.peripheral.publish([CachingTests.battery])
            }
            // The first is confirmed: it tells of nothing that came after it. One more tells of all.
            fixture.client.send("1E")
            let next = await fixture.client.next()
            let start = [UInt8(truncatingIfNeeded: range.end.rawValue + 1), 0].hexadecimal
            #expect(next.hasPrefix("1D0800" + start), "\(next)")
            #expect(await !fixture.link.isPeerAware)
            fixture.client.send("1E")
            try await fixture.base.base.settle { await fixture.link.isPeerAware }
            #expect(await fixture.client.ask("080100FFFF2A2B") != hash)
            // And nothing else was waiting.
            #expect(await fixture.client.ask("0A1200") == "0B07")
        }
    }

    @Test func aChangeIsToldHoweverManyIndicationsWait() async throws {
        try await Self.run { fixture in
            let link = fixture.link
            #expect(await fixture.client.ask("1209000200") == "13")
            #expect(await fixture.client.ask("1213000200") == "13")
            let results = Mutex<[BluetoothError.Code?]>([])
            let waiting = (0..<1200).map { number in
                fixture.base.base.begin {
                    let code = await failure { try await link.indicate([UInt8(truncatingIfNeeded: number)], of: 0x12) }
                    results.withLock { $0.append(code?.code) }
                }
            }
            #expect(await fixture.client.next() == "1D120000")
            try await fixture.base.base.settle { results.withLock { $0.count } == 1200 - 1025 }
            #expect(Set(results.withLock { $0 }) == [.overflow])
            let published = try await fixture.base.peripheral.publish([CachingTests.battery])
            // It comes behind those that were waiting.
            var told = ""
            for _ in 0..<1025 {
                fixture.client.send("1E")
                told = await fixture.client.next()
                if told.hasPrefix("1D0800") { break }
            }
            #expect(told == "1D080016001900")
            fixture.client.send("1E")
            for task in waiting { task.cancel() }
            withExtendedLifetime(published) {}
        }
    }

    // MARK: Handlers

    @Test func whatAHandlerDoesWrongIsLogged() async throws {
        struct Failure: Error {}
        let recorder = LogRecorder()
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let kernel = radio.makeKernel()
        try await radio.run(limit: .seconds(600)) {
            let adapter = try await Adapter.open(configuration: .init(log: recorder.log), on: kernel)
            let mode = Mutex(0)
            let command = GATTCharacteristic(0xFFF9, properties: .writeWithoutResponse)
            try await adapter.publish(
                [PeripheralFixture.service, GATTService(0xFFF8, characteristics: [command])],
                handlers: AttributeHandlers(
                    read: { _ in
                        switch mode.withLock({ $0 }) {
                        case 0: throw Failure()
                        case 1: return pattern(513)
                        default:
                            await Promise<Void, Never>().value(ifCancelled: ())
                            return []
                        }
                    }, write: { _, _ in await Promise<Void, Never>().value(ifCancelled: ()) }))
            let client = PeerClient()
            let device = SimulatedPeripheral(on: radio, handler: { client.open($0) })
            let link = try await adapter.connect(to: device.address)
            for (number, words) in ["Failure()", "513 bytes of 0x0015", "did not answer within"].enumerated() {
                mode.withLock { $0 = number }
                #expect(await client.ask("0A1500") == "010A15000E")
                #expect(recorder.lines.contains { $0.contains(words) }, "\(words)")
            }
            let count = recorder.lines.count
            client.send("52180001")
            try await radio.sleep(for: .seconds(26))
            #expect(recorder.lines.dropFirst(count).contains { $0.contains("did not answer within") })
            await link.disconnect()
            await adapter.close()
        }
    }
}

/// What handlers wait at.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [Promise<Void, Never>])>((true, []))

    func close() { state.withLock { $0.isOpen = false } }

    func open() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for each in waiting { each.succeed() }
    }

    func pass() async {
        let waiter = state.withLock { state -> Promise<Void, Never>? in
            guard !state.isOpen else { return nil }
            let waiter = Promise<Void, Never>()
            state.waiting.append(waiter)
            return waiter
        }
        await waiter?.value(ifCancelled: ())
    }
}
