import BluetoothLE
import BluetoothSimulation
import LINBLESimulation
import TestSupport
import Testing

@testable import LINBLE

@Suite(.timeLimit(.minutes(2))) struct KeptUARTTests {
    @Test func theStreamsGoOnAfterTheEndOfALink() async throws {
        try await Fixture.run { fixture in
            let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: fixture.adapter)
            let events = KeptEvents(await uart.events())
            for round in 1...3 as ClosedRange<UInt8> {
                try await uart.send([round, 0])
                try await uart.flush()
                #expect(try await uart.read(2) == [round, 0])
                try await fixture.radio.sleep(for: .seconds(10))
                fixture.linble.peripheral.breakLinks(reason: .connectionTimeout)
            }
            try await uart.send([9])
            #expect(try await uart.read(1) == [9])
            try await uart.flush()
            let statistics = await uart.statistics
            #expect(statistics.linkCount == 4)
            #expect(statistics.sentByteCount == 7 && statistics.receivedByteCount == 7)
            #expect(statistics.unconfirmedByteCount == 0)
            await uart.disconnect()
            #expect(try await uart.read() == nil)
            let link = ["connecting 1", "online", "offline disconnected 0"]
            let seen = try await events.rest()
            #expect(seen == link + link + link + link)
        }
    }
}
