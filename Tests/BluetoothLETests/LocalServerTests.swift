import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// A peripheral that is a client of the connecting central: bytes out, bytes in.
final class PeerClient: SimulatedLinkHandler {
    private struct State {
        var link: SimulatedLink?
        var inbound: [[UInt8]] = []
        var waiter: Promise<[UInt8], Never>?
    }

    private let state = Mutex(State())

    func open(_ link: SimulatedLink) -> PeerClient {
        state.withLock { $0.link = link }
        return self
    }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let bytes = [UInt8](packet)
        // The central's own requests: its MTU and its discovery.
        if bytes.first == 0x02 { return _ = link.send([0x03, 0x17, 0x00]) }
        let waiter = state.withLock { state -> Promise<[UInt8], Never>? in
            defer { state.waiter = nil }
            if state.waiter == nil { state.inbound.append(bytes) }
            return state.waiter
        }
        waiter?.succeed(bytes)
    }

    func send(_ packet: String) {
        state.withLock { $0.link }?.send(hex(packet))
    }

    /// The next packet from the central.
    func next() async -> String {
        let (ready, waiter) = state.withLock { state -> ([UInt8]?, Promise<[UInt8], Never>) in
            let waiter = Promise<[UInt8], Never>()
            guard state.inbound.isEmpty else { return (state.inbound.removeFirst(), waiter) }
            state.waiter = waiter
            return (nil, waiter)
        }
        if let ready { return ready.hexadecimal }
        return await waiter.value(ifCancelled: []).hexadecimal
    }

    /// Sends a request and waits for the response.
    func ask(_ packet: String) async -> String {
        send(packet)
        return await next()
    }
}

/// The attributes served on a link that the central established (Core Vol 3 Part C §12, Part G §7).
///
/// ```
/// 0001 service 1800   0002 0003 2A00   0004 0005 2A01
/// 0006 service 1801   0007 0008 2A05, 0009 CCCD   000A 000B 2B29   000C 000D 2B2A   000E 000F 2B3A
/// 0010 service FFF0   0011 0012 FFF1 stored, notify, indicate, 0013 CCCD   0014 0015 FFF2 dynamic
/// ```
@Suite struct LocalServerTests {
    static let service = GATTService(
        0xFFF0,
        characteristics: [
            GATTCharacteristic(0xFFF1, properties: [.read, .write, .notify, .indicate], value: .stored([7])),
            GATTCharacteristic(0xFFF2, properties: [.read, .write, .writeWithoutResponse]),
        ])

    private struct LocalServerFixture: Sendable {
        var base: Fixture
        var adapter: Adapter
        var connection: Connection
        var client: PeerClient
    }

    private static func run(_ body: @escaping @Sendable (LocalServerFixture) async throws -> Void) async throws {
        try await Fixture.run { fixture in
            let client = PeerClient()
            let peripheral = SimulatedPeripheral(on: fixture.radio, handler: { client.open($0) })
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            try await body(LocalServerFixture(base: fixture, adapter: adapter, connection: connection, client: client))
            await connection.disconnect()
        }
    }

    @Test func genericServicesAreServed() async throws {
        try await Self.run { fixture in
            let client = fixture.client
            #expect(await client.ask("100100FFFF0028") == "1106010005000018" + "06000F000118")
            #expect(await client.ask("0A0500") == "0B8000")
            #expect(await client.ask("0A0B00") == "0B00")
            #expect(await client.ask("120B0001") == "13")
            #expect(await client.ask("0A0B00") == "0B01")
            #expect(await client.ask("0A0F00") == "0B00")
            let hash = await client.ask("080100FFFF2A2B")
            #expect(hash.hasPrefix("09120D00"))
            #expect(await client.ask("0A0D00") == "0B" + hash.dropFirst(8))
            #expect(await client.ask("3E") == "013E000006")
        }
    }

    @Test func publishedServicesAreFoundAndIndicated() async throws {
        try await Self.run { fixture in
            let client = fixture.client
            let hash = await client.ask("080100FFFF2A2B")
            #expect(await client.ask("1209000200") == "13")
            #expect(await client.ask("120B0001") == "13")
            let published = try await fixture.adapter.publish([Self.service])
            #expect(published.handles == AttributeHandleRange(start: 0x10, end: 0x15))
            #expect(published.handle(of: 0xFFF1) == 0x12)
            #expect(published.handle(of: 0xFFF1, in: 0xFFF1) == nil)
            #expect(await client.next() == "1D080010001500")
            // Until it confirms, it is refused once.
            #expect(await client.ask("0A1200") == "010A120012")
            client.send("1E")
            #expect(await client.ask("0A1200") == "0B07")
            #expect(await client.ask("080100FFFF2A2B") != hash)
            #expect(await client.ask("12120008") == "13")
            #expect(published.value(of: 0x12) == [8])
            try published.setValue([9, 9], of: 0x12)
            #expect(await client.ask("0A1200") == "0B0909")
            #expect(throws: BluetoothError.self) { try published.setValue([1], of: 0x15) }
            #expect(throws: BluetoothError.self) { try published.setValue([1], of: 0x03) }

            await published.close()
            #expect(await client.next() == "1D080010001500")
            client.send("1E")
            #expect(await client.ask("0A1200") == "010A120001")
            #expect(await client.ask("080100FFFF2A2B") == hash)
            await published.close()
            #expect(await failure { try await fixture.adapter.publish([LocalService]()) }?.code == .invalidArgument)
        }
    }

    @Test func withdrawnServicesStayWithdrawnWhenTheirHandlesAreReused() async throws {
        try await Self.run { fixture in
            let first = try await fixture.adapter.publish([Self.service])
            await first.close()
            var service = Self.service
            service.handle = first.handles.start
            let second = try await fixture.adapter.publish([service])
            #expect(second.handles == first.handles)
            #expect(first.value(of: 0x12) == nil)
            #expect(first.handle(of: 0xFFF1) == nil)
            #expect(throws: BluetoothError.self) { try first.setValue([1], of: 0x12) }
            let error = await failure { _ = try await first.notify([1], of: 0x12) }
            #expect(error?.code == .invalidArgument)
            await first.close()
            #expect(second.value(of: 0x12) == [7])
            #expect(await fixture.client.ask("0A1200") == "0B07")
            try second.setValue([8], of: 0x12)
            #expect(await fixture.client.ask("0A1200") == "0B08")
        }
    }

    @Test func earlierServicesAreServedToAll() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await adapter.publish([Self.service])
            for _ in 0..<2 {
                let client = PeerClient()
                let peripheral = SimulatedPeripheral(on: fixture.radio, handler: { client.open($0) })
                let connection = try await adapter.connect(to: peripheral.address)
                #expect(await client.ask("0A1200") == "0B07")
                await connection.disconnect()
            }
        }
    }

    // MARK: Handlers

    @Test func handlersAnswerAsynchronously() async throws {
        try await Self.run { fixture in
            let written = Mutex<[[UInt8]]>([])
            try await fixture.adapter.publish(
                [Self.service],
                handlers: AttributeHandlers(
                    read: { request in
                        #expect(request.uuid == 0xFFF2)
                        try await fixture.base.radio.sleep(for: .seconds(3))
                        return [1, 2, 3]
                    },
                    write: { request, value in
                        if value == [0xEE] { throw ATTErrorCode.valueNotAllowed }
                        if value == [0xEF] { throw BluetoothError(.failed, .init("test"), "") }
                        written.withLock { $0.append(value) }
                    }))
            let client = fixture.client
            let time = await fixture.base.duration { #expect(await client.ask("0A1500") == "0B010203") }
            #expect(time >= .seconds(3))
            #expect(await client.ask("12150004") == "13")
            #expect(await client.ask("121500EE") == "0112150013")
            #expect(await client.ask("121500EF") == "011215000E")
            client.send("52150005")
            client.send("52150006")
            #expect(await client.ask("12150007") == "13")
            #expect(written.withLock { $0 } == [[4], [5], [6], [7]])
            // The local client continues meanwhile: its request waits while the handler runs.
            #expect(await fixture.connection.missedCommandCount == 0)
        }
    }

    @Test func aLateHandlerIsAnsweredFor() async throws {
        try await Self.run { fixture in
            let reads = Mutex(0)
            try await fixture.adapter.publish(
                [Self.service],
                handlers: AttributeHandlers(read: { _ in
                    if reads.withLock({ count in
                        count += 1; return count
                    }) == 1 {
                        try await fixture.base.radio.sleep(for: .seconds(100))
                    }
                    return [5]
                }))
            let time = await fixture.base.duration {
                #expect(await fixture.client.ask("0A1500") == "010A15000E")
            }
            #expect(time >= .seconds(25) && time < .seconds(26))
            // Cancelled, the handler returns, and the next request is handled.
            #expect(await fixture.client.ask("0A1500") == "0B05")
        }
    }

    @Test func requestsAfterALateHandlerAreNotCancelled() async throws {
        try await Self.run { fixture in
            let written = Mutex<[Bool]>([])
            try await fixture.adapter.publish(
                [Self.service],
                handlers: AttributeHandlers(
                    read: { _ in
                        try await fixture.base.radio.sleep(for: .seconds(100))
                        return [5]
                    }, write: { _, _ in written.withLock { $0.append(Task.isCancelled) } }))
            fixture.client.send("0A1500")
            fixture.client.send("52150001")
            fixture.client.send("52150002")
            #expect(await fixture.client.next() == "010A15000E")
            try await fixture.base.settle { written.withLock { $0.count } == 2 }
            #expect(written.withLock { $0 } == [false, false])
        }
    }

    @Test func withoutAHandlerDynamicValuesAreRefused() async throws {
        try await Self.run { fixture in
            try await fixture.adapter.publish([Self.service])
            #expect(await fixture.client.ask("0A1500") == "010A150002")
            #expect(await fixture.client.ask("12150001") == "0112150003")
        }
    }

    // MARK: Sending

    @Test func subscribedClientsReceiveValues() async throws {
        try await Self.run { fixture in
            let (client, connection) = (fixture.client, fixture.connection)
            try await fixture.adapter.publish([Self.service])
            #expect(await failure { try await connection.notify([1], of: 0x12) }?.code == .notSubscribed)
            #expect(await failure { try await connection.indicate([1], of: 0x12) }?.code == .notSubscribed)
            let subscriptions = await connection.peerSubscriptions()
            #expect(await client.ask("1213000300") == "13")
            var iterator = subscriptions.makeAsyncIterator()
            let told = try await iterator.next()
            #expect(told == PeerSubscription(characteristic: 0x12, configuration: [.notification, .indication]))
            #expect(await connection.peerConfiguration(of: 0x12) == [.notification, .indication])
            for number in 1...40 as ClosedRange<UInt8> {
                try await connection.notify([number], of: 0x12)
            }
            for number in 1...40 as ClosedRange<UInt8> {
                #expect(await client.next() == "1B1200" + [number].hexadecimal)
            }
            let indication = fixture.base.begin { try await connection.indicate([9, 8], of: 0x12) }
            #expect(await client.next() == "1D12000908")
            client.send("1E")
            try await indication.value
            #expect(await client.ask("1213000000") == "13")
            #expect(try await iterator.next()?.configuration == [])
            await connection.disconnect()
            #expect(await failure { _ = try await iterator.next() }?.code == .disconnected)
            #expect(await failure { try await connection.notify([1], of: 0x12) }?.code == .disconnected)
        }
    }

    @Test func delayedServiceChangesAreAllIndicated() async throws {
        try await Self.run { fixture in
            let (client, connection) = (fixture.client, fixture.connection)
            #expect(await client.ask("1209000200") == "13")
            try await fixture.adapter.publish([Self.service])
            #expect(await client.next() == "1D080010001500")
            client.send("1E")
            #expect(await client.ask("1213000200") == "13")
            let sending = (0..<1026).map { _ in
                fixture.base.begin { try await connection.indicate([1], of: 0x12) }
            }
            #expect(await client.next() == "1D120001")
            try await fixture.base.radio.sleep(for: .milliseconds(200))
            // Two changes find no room, one after the other.
            try await fixture.adapter.publish([Self.service])
            try await fixture.adapter.publish([Self.service])
            var told = ""
            for _ in 0..<1100 where !told.hasPrefix("1D0800") {
                client.send("1E")
                told = await client.next()
            }
            #expect(told == "1D080016002100")
            client.send("1E")
            for call in sending { _ = try? await call.value }
        }
    }

    @Test func anIndicationThatIsNotConfirmedEndsTheLink() async throws {
        try await Self.run { fixture in
            try await fixture.adapter.publish([Self.service])
            #expect(await fixture.client.ask("1213000200") == "13")
            let error = await failure { try await fixture.connection.indicate([1], of: 0x12) }
            #expect(error?.code == .timedOut)
            #expect(await fixture.connection.isConnected == false)
        }
    }
}
