import BluetoothLE
import LINBLESimulation
import TestSupport
import Testing

@testable import LINBLE

/// A UART whose link, device or adapter goes and comes back.
@Suite(.timeLimit(.minutes(2))) struct KeptUARTTests {
    @Test func theStreamsGoOnAfterTheEndOfALink() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            let events = KeptEvents(await uart.events())
            for round in 1...3 as ClosedRange<UInt8> {
                try await uart.send([round, 0])
                try await uart.flush()
                #expect(try await uart.read(2) == [round, 0])
                try await fixture.radio.sleep(for: .seconds(10))
                fixture.linble.peripheral.breakLinks()
            }
            try await uart.send([9])
            #expect(try await uart.read(1) == [9])
            try await uart.flush()
            let statistics = await uart.statistics
            #expect(statistics.linkCount == 4)
            #expect(statistics.sentByteCount == 7 && statistics.receivedByteCount == 7)
            #expect(statistics.confirmedByteCount == 7 && statistics.inFlightByteCount == 0)
            await uart.disconnect()
            #expect(try await uart.read() == nil)
            let link = ["connecting 1", "online", "offline disconnected 0"]
            #expect(try await events.rest() == link + link + link + link)
        }
    }

    @Test(arguments: [true, false])
    func aDeviceThatIsAbsentIsWaitedForWithoutTryingAgain(byName: Bool) async throws {
        try await KeptFixture.run { fixture in
            fixture.linble.peripheral.setHidden(true)
            let uart = fixture.keep(byName ? .name("LINBLE-Z1") : .address(fixture.linble.address))
            var events = KeptEvents(await uart.events())
            try await uart.send([1, 2, 3])
            try await fixture.radio.sleep(for: .seconds(7200))
            #expect(await uart.statistics.bufferedByteCount == 3)
            fixture.linble.peripheral.setHidden(false)
            #expect(try await uart.read(3) == [1, 2, 3])
            #expect(try await events.next() == "connecting 1")
            #expect(try await events.next() == "online")
            await uart.disconnect()
        }
    }

    @Test func aDeviceWhoseAddressHasChangedIsFoundByItsName() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            try await fixture.settle(uart)
            fixture.linble.peripheral.remove()
            let other = SimulatedLINBLE(on: fixture.radio)
            #expect(other.address != fixture.linble.address)
            try await fixture.settle(uart, isOnline: false)
            try await fixture.settle(uart)
            #expect(await uart.connection?.peer == other.address)
            try await uart.send([1])
            #expect(try await uart.read(1) == [1])
            await uart.disconnect()
        }
    }

    @Test func aDeviceWithoutTheServiceEndsIt() async throws {
        try await KeptFixture.run(.init(profile: .nordic)) { fixture in
            let uart = fixture.keep()
            #expect(await failureCode { _ = try await uart.read() } == .unsupported)
            #expect(await failureCode { try await uart.send([1]) } == .unsupported)
            #expect(await failureCode { try await uart.flush() } == .unsupported)
            let events = KeptEvents(await uart.events())
            #expect(await failureCode { _ = try await events.rest() } == .unsupported)
            await uart.disconnect()
            try await fixture.radio.settle { fixture.kernel.links(adapter: 0).isEmpty }
        }
    }

    @Test func aDeviceThatRefusesAccessEndsIt() async throws {
        try await KeptFixture.run(.init(requiresEncryption: true)) { fixture in
            var options = UARTOptions()
            options.security.policy = .never
            let uart = fixture.keep(uart: options)
            let error = await failure { _ = try await uart.read() }
            #expect(error?.code == .attributeProtocol)
            #expect(error?.remedy?.contains("pairing") == true)
        }
    }

    @Test func attemptsThatFailAreFurtherAndFurtherApartAndAreGivenUp() async throws {
        try await KeptFixture.run { fixture in
            fixture.linble.peripheral.setRefusal(.connectionFailedToBeEstablished)
            let policy = ReconnectionPolicy(jitter: 0, maximumFailures: 4)
            let uart = UARTConnection.keep(
                .name("LINBLE-Z1"), on: fixture.adapter, options: KeptUARTOptions(policy: policy))
            var events = KeptEvents(await uart.events())
            var seen: [String] = []
            let error = await failure { while let event = try await events.next() { seen.append(event) } }
            #expect(error?.code == .connectionFailed)
            #expect(
                seen == [
                    "connecting 1", "failed connectionFailed 0.5 seconds",
                    "connecting 2", "failed connectionFailed 1.0 seconds",
                    "connecting 3", "failed connectionFailed 2.0 seconds", "connecting 4",
                ])
        }
    }

    @Test func aDeviceThatStopsAnsweringIsConnectedToAgain() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            try await fixture.settle(uart)
            fixture.linble.peripheral.setMute(true)
            try await uart.send([1, 2])
            // The Attribute Protocol's time limit ends the link.
            #expect(await failureCode { try await uart.flush() } == .disconnected)
            #expect(await uart.statistics.unconfirmedByteCount == 2)
            fixture.linble.peripheral.setMute(false)
            try await uart.send([3])
            try await uart.flush()
            #expect(await uart.statistics.confirmedByteCount == 1)
            await uart.disconnect()
        }
    }

    @Test func framesAreFoundOverAllLinks() async throws {
        try await KeptFixture.run { fixture in
            let uart = fixture.keep()
            var frames = uart.frames(DelimiterFramer()).makeAsyncIterator()
            for text in ["one", "two"] {
                try await uart.send(Array("\(text)\n".utf8))
                #expect(try await frames.next() == Array(text.utf8))
                try await uart.flush()
                fixture.linble.peripheral.disconnect()
                try await fixture.settle(uart, isOnline: false)
            }
            await uart.disconnect()
            #expect(try await frames.next() == nil)
        }
    }
}
