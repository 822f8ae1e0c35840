import BluetoothLE
import Testing

extension Peers {
    @Suite struct Subscribing {
        @Test(
            "values arrive complete and in order",
            arguments: [(.notification, "flood"), (.indication, "flood")] as [(SubscriptionKind, String)])
        func valuesArriveInOrder(kind: SubscriptionKind, name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let values = try await connection.subscribe(to: try await connection.find(Echo.tx), kind: kind)
                var expected: UInt32 = 0
                for try await value in values {
                    let number = value.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
                    #expect(number == expected)
                    expected += 1
                    if expected == 300 { break }
                }
                #expect(expected == 300)
                await connection.disconnect()
            }
        }

        @Test func commandsComeBackInOrder() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                let rx = try await connection.find(Echo.rx)
                let values = try await connection.subscribe(to: try await connection.find(Echo.tx))
                let count = 200
                let echoes = Task {
                    var all: [[UInt8]] = []
                    for try await value in values {
                        all.append(value)
                        if all.count == count { break }
                    }
                    return all
                }
                let sent = (0..<count).map { [UInt8(truncatingIfNeeded: $0)] + [UInt8](repeating: 7, count: 100) }
                for value in sent { try await connection.writeCommand(value, to: rx) }
                #expect(try await echoes.value == sent)
                await connection.disconnect()
            }
        }

        @Test func leavingTheLoopEndsTheSubscriptionAtThePeer() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "gatt")
                let characteristic = try await connection.find("CA010007-1234-5678-9ABC-DEF012345678")
                let descriptor = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
                let values = try await connection.subscribe(to: characteristic, kind: .indication)
                #expect(try await connection.read(descriptor) == [2, 0])
                let first = Task {
                    for try await value in values { return value }
                    return []
                }
                try await fixture.ask("indicate gatt 0A0B CA010007-1234-5678-9ABC-DEF012345678")
                #expect(try await first.value == [10, 11])
                try await fixture.wait(for: "the unsubscription") { try await connection.read(descriptor) == [0, 0] }
                await connection.disconnect()
            }
        }
    }
}
