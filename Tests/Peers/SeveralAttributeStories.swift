import BluetoothLE
import Testing

private func made(_ number: UInt32) -> BluetoothUUID {
    BluetoothUUID(high: UInt64(number) << 32 | 0x1234_5678, low: 0x9ABC_DEF0_1234_5678)
}

extension Peers {
    @Suite struct SeveralAttributes {
        @Test("includes and the secondary services they lead to are in the tree", arguments: ["gatt", "narrow"])
        func includes(name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let services = try await connection.discover()
                #expect(Outline.of(services) == (try Outline.of(try await fixture.database(of: name))))
                let every = try #require(services.service(made(0x5E01_0000)))
                #expect(every.includedServices.map(\.uuid) == [0x180F, made(0x5E02_0000)])
                let secondary = try #require(services.service(every.includedServices[1]))
                #expect(!secondary.isPrimary)
                let value = try await connection.read(try #require(secondary.characteristics.first))
                #expect(value == Array("second".utf8))
                #expect(try await connection.discoverIncludedServices(of: every) == every.includedServices)
                await connection.disconnect()
            }
        }

        @Test(
            "values are read by their UUID",
            arguments: ["gatt", "narrow"])
        func byUUID(name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let truth = try await fixture.database(of: name).filter { $0.type == 0xFF10 }
                let values = try await connection.readValues(of: 0xFF10)
                #expect(values.map(\.handle) == truth.map(\.handle))
                #expect(values.map(\.value) == truth.compactMap(\.value))
                await connection.disconnect()
            }
        }

        @Test(
            "several values are read whatever the peer knows of it", arguments: ["gatt", "narrow"])
        func several(name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let truth = try await fixture.database(of: name).filter { $0.type == 0xFF10 }
                let handles = truth.map(\.handle)
                let expected = truth.compactMap(\.value)
                for _ in 0..<2 {
                    #expect(try await connection.read(handles) == expected)
                }
                await connection.disconnect()
            }
        }

        @Test func severalValuesAreWrittenTogether() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "gatt")
                let services = try await connection.discover()
                let one = try #require(services.characteristics(made(0xCA01_0003)).first)
                let two = try #require(services.characteristics(made(0xCA01_0004)).first)
                #expect(try await connection.extendedProperties(of: one) == [.reliableWrite, .writableAuxiliaries])
                let long = [UInt8](repeating: 5, count: 400)
                try await connection.writeReliably([AttributeWrite(long, to: one), AttributeWrite([1, 2, 3], to: two)])
                #expect(try await connection.read([one, two]) == [long, [1, 2, 3]])
                await connection.disconnect()
            }
        }

        @Test func descriptorsSayWhatTheyAre() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "gatt")
                let services = try await connection.discover()
                let characteristic = try #require(services.characteristics(made(0xCA01_000D)).first)
                var texts: [String] = []
                for descriptor in characteristic.descriptors {
                    texts.append("\(try await connection.readValue(of: descriptor))")
                }
                let formats = characteristic.descriptors(.characteristicPresentationFormat).map(\.handle)
                #expect(
                    texts == [
                        "uint16 metre, no. 1", "uint32 × 10^-2 degree Celsius, no. 2",
                        "formats at \(formats[0]), \(formats[1])", "0001 to 0A00", "report of 2A19", "output report 1",
                        "\(made(0xDE01_0001)): \(Array("a descriptor of our own".utf8).hexadecimal)",
                    ])
                await connection.disconnect()
            }
        }

        @Test func bothKindsOfSubscribersAreServedAtOnce() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "gatt")
                let characteristic = try await connection.find(made(0xCA01_0007))
                let descriptor = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
                let notified = try await connection.subscribe(to: characteristic, kind: .notification)
                let indicated = try await connection.subscribe(to: characteristic, kind: .indication)
                #expect(try await connection.read(descriptor) == [3, 0])
                let first = Task {
                    for try await value in indicated { return value }
                    return []
                }
                try await fixture.ask("indicate gatt 0A0B CA010007-1234-5678-9ABC-DEF012345678")
                #expect(try await first.value == [10, 11])
                try await fixture.wait(for: "the peer has fewer subscriptions") {
                    try await connection.read(descriptor) == [1, 0]
                }
                withExtendedLifetime(notified) {}
                await connection.disconnect()
            }
        }
    }
}
