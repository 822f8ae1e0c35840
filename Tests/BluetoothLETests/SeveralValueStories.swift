import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Operations on several attributes, over the public API.
@Suite struct SeveralValueStories {
    @Test("a peer without support for reading several values is asked once")
    func unsupported() async throws {
        try await withConnection(
            Exchange("20 0300 0500", "01 20 0000 06"), Exchange("0A 0300", "0B 01"), Exchange("0A 0500", "0B 02"),
            Exchange("0A 0500", "0B 02"), Exchange("0A 0300", "0B 01")
        ) { connection, _ in
            let (three, five) = (AttributeHandle(3), AttributeHandle(5))
            let first = try await connection.read([three, five])
            #expect(first == [[1], [2]])
            let second = try await connection.read([five, three])
            #expect(second == [[2], [1]])
        }
    }

    @Test("a refusal names the attribute from the response")
    func refusal() async throws {
        try await withConnection(Exchange("20 0300 0500", "01 20 0500 05")) { connection, _ in
            let error = await failure { _ = try await connection.read([AttributeHandle(3), AttributeHandle(5)]) }
            #expect(error?.attribute == 5)
            #expect(error?.cause == .attribute(.insufficientAuthentication))
        }
    }

    @Test("empty calls send nothing, and invalid ones fail before anything is sent")
    func nothing() async throws {
        try await withConnection { connection, socket in
            #expect(try await connection.read([]) == [])
            try await connection.writeReliably([])
            let offset = await failure {
                try await connection.writeReliably([AttributeWrite([1], to: AttributeHandle(3), offset: 512)])
            }
            #expect(offset?.code == .invalidArgument)
            #expect(socket.sent.isEmpty)
        }
    }

    @Test("a caller that is cancelled during a reliable write cancels the prepared writes")
    func givingUp() async throws {
        try await withConnection(
            Exchange("16 0300 0000 01", "17 0300 0000 01"), Exchange("16 0500 0000 02"), Exchange("18 00", "19"),
            Exchange("0A 0300", "0B 07")
        ) { connection, socket in
            let error = await failure {
                try await connection.writeReliably(
                    [AttributeWrite([1], to: AttributeHandle(3)), AttributeWrite([2], to: AttributeHandle(5))],
                    timeout: .seconds(1))
            }
            #expect(error?.code == .timedOut)
            async let read = connection.read(AttributeHandle(3))
            socket.deliver("17 0500 0000 02")
            let value = try await read
            #expect(value == [7])
        }
    }

    @Test("several values in one notification each reach their subscribers, in order")
    func multipleNotifications() async throws {
        @Sendable func characteristic(_ value: UInt16) -> RemoteCharacteristic {
            RemoteCharacteristic(
                uuid: BluetoothUUID(0x2A00 + value), properties: .notify, declarationHandle: AttributeHandle(value - 1),
                valueHandle: AttributeHandle(value), endHandle: AttributeHandle(value + 1),
                descriptors: [
                    RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: AttributeHandle(value + 1))
                ])
        }
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange("12 0700 0100", "13"),
            Exchange.optional("12 0400 0000", "13"), Exchange.optional("12 0700 0000", "13")
        ) { connection, socket in
            var first = try await connection.subscribe(to: characteristic(3)).makeAsyncIterator()
            var second = try await connection.subscribe(to: characteristic(6)).makeAsyncIterator()
            socket.deliver("23 0300 0100 01 0600 0200 0203 0300 0000 0900 0100 FF")
            // A truncated notification delivers nothing.
            socket.deliver("23 0300 0100 07 0600 0200 08")
            socket.deliver("1B 0600 09")
            let values = (try await first.next(), try await first.next())
            #expect(values == ([1], []))
            let others = (try await second.next(), try await second.next())
            #expect(others == ([2, 3], [9]))
            #expect(await connection.unwantedValueCount == 1)
        }
    }

    @Test(
        "a server tells several values in one packet to a client that has said it understands",
        arguments: [true, false])
    func notifiedTogether(isUnderstood: Bool) async throws {
        try await Fixture.run { fixture in
            let features = GATTCharacteristic(
                .clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8)
            let server = try SimulatedGATTServer([
                GATTService(.genericAttribute, characteristics: isUnderstood ? [features] : []),
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(0xFFF1, properties: .notify),
                        GATTCharacteristic(0xFFF2, properties: .notify),
                        GATTCharacteristic(0xFFF3, properties: .notify),
                    ]),
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.withConnection(to: peripheral.address) { connection in
                let services = try await connection.discover()
                let one = try #require(services.characteristic(0xFFF1, in: 0xFFF0))
                let two = try #require(services.characteristic(0xFFF2, in: 0xFFF0))
                let unwanted = try #require(services.characteristic(0xFFF3, in: 0xFFF0))
                var first = try await connection.subscribe(to: one).makeAsyncIterator()
                var second = try await connection.subscribe(to: two).makeAsyncIterator()
                let packets = await server.notify([
                    (one.valueHandle, [1]), (unwanted.valueHandle, [9]), (two.valueHandle, []), (one.valueHandle, [2]),
                ])
                #expect(packets == (isUnderstood ? 1 : 3))
                let ones = (try await first.next(), try await first.next())
                #expect(ones == ([1], [2]))
                #expect(try await second.next() == [])
                // Values that do not fit one packet take several, in order.
                let long = [UInt8](repeating: 7, count: 400)
                let more = await server.notify([
                    (one.valueHandle, long), (two.valueHandle, long), (one.valueHandle, [3]),
                ])
                #expect(more == (isUnderstood ? 2 : 3))
                let rest = (try await first.next(), try await first.next())
                #expect(rest == (long, [3]))
                #expect(try await second.next() == long)
            }
        }
    }

    @Test("descriptors are decoded by their types")
    func descriptors() async throws {
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0x181A,
                    characteristics: [
                        GATTCharacteristic(
                            0x2A6E, properties: [.read, .write, .notify],
                            extendedProperties: [.reliableWrite, .writableAuxiliaries],
                            value: .stored([0xD8, 0x09]),
                            descriptors: [
                                GATTDescriptor(
                                    .characteristicUserDescription, permissions: [.read, .write],
                                    value: .stored([UInt8]("outside".utf8))),
                                GATTDescriptor(
                                    .characteristicPresentationFormat,
                                    value: .stored(
                                        PresentationFormat(format: .sint16, exponent: -2, unit: 0x272F).bytes)),
                            ]),
                        GATTCharacteristic(0x2A6F, properties: .read, value: .stored([0, 0])),
                    ])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.withConnection(to: peripheral.address) { connection in
                let services = try await connection.discover()
                let temperature = try #require(services.characteristic(0x2A6E, in: 0x181A))
                let properties = try await connection.extendedProperties(of: temperature)
                #expect(properties == [.reliableWrite, .writableAuxiliaries])
                let texts = try #require(temperature.descriptor(.characteristicUserDescription))
                try await connection.write([UInt8]("inside".utf8), to: texts)
                #expect(try await connection.readValue(of: texts).userDescription == "inside")
                let formats = try #require(temperature.descriptor(.characteristicPresentationFormat))
                guard let format = try await connection.readValue(of: formats).presentationFormat else {
                    Issue.record("no format")
                    return
                }
                let value = try await connection.read(temperature)
                #expect(abs((format.number(value) ?? 0) - 25.2) < 1e-9)
                let humidity = try #require(services.characteristic(0x2A6F, in: 0x181A))
                #expect(try await connection.extendedProperties(of: humidity) == [])
            }
        }
    }
}
