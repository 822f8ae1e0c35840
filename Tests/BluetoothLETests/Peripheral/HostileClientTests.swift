import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// A client that keeps to no rule, beside one that does. Whatever it does it is answered by the book, what is kept for it
/// has a bound, and the other is served meanwhile.
///
/// The bounds: prepared writes 128 of 2048 bytes for each bearer; one request waiting for the program for each bearer; 256
/// commands waiting for it; 1024 indications and 1024 notifications; 256 changes of subscriptions.
@Suite struct HostileClientTests {
    /// ```
    /// 0010 service FFF0   0011 0012 FFF1 stored, 0013 CCCD   0014 0015 FFF2 dynamic
    /// 0016 service FFF8   0017 0018 FFF9 write without response, dynamic
    /// ```
    private struct HostileFixture: Sendable {
        let base: PeripheralFixture
        let published: PublishedServices
        /// Sends and receives raw bytes over an ATT_MTU of 23.
        let hostile: PeerClient
        /// Our side of its link.
        let link: Connection
        /// The other client, with the values that it uses.
        let good: Connection
        let stored: RemoteCharacteristic
        let dynamic: RemoteCharacteristic

        /// Runs `attack` while the good client reads and writes, each of which takes it a few connection events.
        func whileServing(_ attack: @escaping @Sendable () async throws -> Void) async throws {
            let running = base.base.begin { try await attack() }
            for number in 0..<10 as Range<UInt8> {
                let time = try await base.base.duration {
                    try await good.write([number], to: stored)
                    #expect(try await good.read(stored) == [number])
                }
                #expect(time < .seconds(1))
            }
            try await running.value
            #expect(try await good.read(dynamic) == [1, 2, 3])
        }
    }

    private static func run(
        read: @escaping @Sendable (ReadRequest, SimulatedRadio) async throws -> [UInt8] = { _, _ in [1, 2, 3] },
        write: @escaping @Sendable (WriteRequest, [UInt8], SimulatedRadio) async throws -> Void = { _, _, _ in },
        _ body: @escaping @Sendable (HostileFixture) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run { fixture in
            let services = [
                PeripheralFixture.service,
                GATTService(0xFFF8, characteristics: [GATTCharacteristic(0xFFF9, properties: .writeWithoutResponse)]),
            ]
            let published = try await fixture.peripheral.publish(
                services,
                handlers: AttributeHandlers(
                    read: { try await read($0, fixture.base.radio) },
                    write: { try await write($0, $1, fixture.base.radio) }))
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let good = try await fixture.connect()
            let hostile = PeerClient()
            let device = SimulatedPeripheral(on: fixture.base.radio, handler: { hostile.open($0) })
            let link = try await fixture.peripheral.connect(
                to: device.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            let fixture = HostileFixture(
                base: fixture, published: published, hostile: hostile, link: link, good: good,
                stored: try await good.found(0xFFF1, in: 0xFFF0), dynamic: try await good.found(0xFFF2, in: 0xFFF0))
            try await body(fixture)
            incoming.close()
            await set.close()
        }
    }

    @Test func nonsenseIsAnsweredByTheBook() async throws {
        let exchanges = [
            ("0A0000", "010A000001"), ("0AFFFF", "010AFFFF01"), ("0A1500FF", "010A000004"), ("0A", "010A000004"),
            ("04FFFF0100", "0104FFFF01"), ("080500040003 28", "0108050001"), ("100000FFFF0028", "0110000001"),
            ("0C1200FFFF", "010C120007"), ("0E1200", "010E000004"), ("20", "0120000004"), ("1802", "0118000004"),
            ("16120000", "0116000004"), ("FF", ""), ("3F0102", "013F000006"), ("7F0102", ""), ("520000", ""),
            ("12" + "1200" + String(repeating: "00", count: 60), "0112000004"), ("1E", ""), ("1EFF", ""),
            ("D21200" + String(repeating: "00", count: 13), ""), ("0F", ""), ("1B120000", ""),
        ]
        try await Self.run { fixture in
            try await fixture.whileServing {
                for _ in 0..<5 {
                    for (request, answer) in exchanges {
                        if answer.isEmpty {
                            fixture.hostile.send(request)
                        } else {
                            #expect(await fixture.hostile.ask(request) == answer, "\(request)")
                        }
                    }
                }
                #expect(await fixture.hostile.ask("0A0300") != "")
            }
            #expect(await fixture.link.isConnected)
        }
    }

    @Test func preparedWritesHaveABoundOfEachClientsOwn() async throws {
        try await Self.run { fixture in
            try await fixture.whileServing {
                var taken = 0
                while await fixture.hostile.ask("161200000001").hasPrefix("17") { taken += 1 }
                #expect(taken == 128)
                for _ in 0..<20 { #expect(await fixture.hostile.ask("161200000001") == "0116120009") }
                // Another's long write is not in its way.
                try await fixture.good.write(pattern(300), to: fixture.stored)
                #expect(try await fixture.good.read(fixture.stored) == pattern(300))
                #expect(await fixture.hostile.ask("1800") == "19")
                var bytes = 0
                while await fixture.hostile.ask("1612000000" + String(repeating: "02", count: 18)).hasPrefix("17") {
                    bytes += 18
                }
                #expect(bytes == 2048 / 18 * 18)
                #expect(await fixture.hostile.ask("1800") == "19")
            }
        }
    }

    @Test func requestsThatDoNotWaitForTheirTurnGetNoMoreThanOneAnswerEach() async throws {
        try await Self.run(read: { _, radio in
            try await radio.sleep(for: .seconds(1))
            return [1, 2, 3]
        }) { fixture in
            try await fixture.whileServing {
                // Those that the database answers are answered in their order.
                for _ in 0..<20 {
                    for _ in 0..<6 { fixture.hostile.send("0A0500") }
                    for _ in 0..<6 { #expect(await fixture.hostile.next() == "0B8000") }
                }
                // While the program is asked, those that come are passed over.
                fixture.hostile.send("0A1500")
                for _ in 0..<6 { fixture.hostile.send("0A0500") }
                #expect(await fixture.hostile.next() == "0B010203")
                #expect(await fixture.hostile.ask("0A0600") == "0B0118")
            }
            #expect(await fixture.link.isConnected)
        }
    }

    @Test func commandsBeyondWhatAHandlerKeepsUpWithArePassedOverAndCounted() async throws {
        let written = Mutex(0)
        try await Self.run(write: { _, _, radio in
            let count = written.withLock { count in
                count += 1
                return count
            }
            // In a task of its own, which is not cancelled with the handler. It is on the loop, or time would pass before
            // it begins.
            guard count == 1 else { return }
            try? await Task(executorPreference: radio.loop) { try await radio.sleep(for: .seconds(150)) }.value
        }) { fixture in
            for _ in 0..<200 {
                for _ in 0..<5 { fixture.hostile.send("52180001") }
                try await fixture.base.base.radio.sleep(for: .milliseconds(500))
            }
            let missed = await fixture.link.missedCommandCount
            #expect(try await fixture.good.read(fixture.stored) == [7])
            try await fixture.base.base.settle { written.withLock { $0 } == 1000 - missed }
            // One is at work while 256 wait.
            #expect(missed == 1000 - 257)
        }
    }

    @Test func whoSubscribesToEverythingAndConfirmsNothingLosesItsLinkAlone() async throws {
        try await Self.run { fixture in
            #expect(await fixture.hostile.ask("1213000300") == "13")
            #expect(await fixture.hostile.ask("1209000200") == "13")
            for handle in 1...0x20 as ClosedRange<UInt8> {
                _ = await fixture.hostile.ask("12" + [handle, 0].hexadecimal + "0300")
            }
            let values = try await fixture.good.subscribe(to: fixture.stored, kind: .indication)
            var iterator = values.makeAsyncIterator()
            // Changes that it would have to confirm pile up to their bound, and no further.
            for _ in 0..<20 {
                let more = try await fixture.base.peripheral.publish([GATTService(0xFFFA)])
                await more.close()
            }
            let time = try await fixture.base.base.duration {
                let deliveries = try await fixture.published.indicate([9], of: PeripheralFixture.value)
                #expect(deliveries.count == 2)
                for delivery in deliveries {
                    let isGood = delivery.connection.peer == fixture.base.central.information.address
                    if case .failure(let error) = delivery.result {
                        #expect(!isGood)
                        #expect(error.code == .disconnected)
                    } else {
                        #expect(isGood)
                    }
                }
            }
            #expect(time <= .seconds(31))
            #expect(try await iterator.next() == [9])
            #expect(await fixture.link.disconnected().disconnectReason == .attributeTimeout)
            let value = try await fixture.good.read(try await fixture.good.found(0xFFF2, in: 0xFFF0))
            #expect(value == [1, 2, 3])
        }
    }

    @Test func whoReadsNothingIsNotReadFromEither() async throws {
        try await Self.run { fixture in
            fixture.base.kernel.setSending(false, adapter: 0, to: fixture.link.peer)
            try await fixture.whileServing {
                for _ in 0..<2000 { fixture.hostile.send("0A0500") }
            }
            fixture.base.kernel.setSending(true, adapter: 0, to: fixture.link.peer)
            #expect(await fixture.hostile.next() == "0B8000")
        }
    }
}
