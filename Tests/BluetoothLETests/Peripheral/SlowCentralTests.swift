import BluetoothSimulation
import BluetoothSystem
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Subscribers whose links take nothing for most of the time, beside good ones.
@Suite struct SlowCentralTests {
    /// Values for eight good links and some that take nothing for 4.8 s and then everything for 40 ms.
    private struct Drips {
        /// The values that were sent in time.
        var sent = 0
        /// The time by which the values were late.
        var frozen = Duration.zero
        /// The number of times that a value waited for the whole time limit.
        var waits = 0
        var missed: [Int] = []
    }

    private static func drip(slow: Int, for time: Duration) async throws -> Drips {
        let good = 8
        let drips = Mutex(Drips())
        try await PeripheralFixture.run(centrals: good + slow) { fixture in
            var result = Drips()
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            var links: [Connection] = []
            for number in 0..<(good + slow) {
                let link = try await fixture.connect(number)
                links.append(link)
                let values = try await link.subscribe(to: try await link.found(0xFFF1, in: 0xFFF0))
                _ = fixture.base.begin { for try await _ in values {} }
            }
            let (radio, kernel) = (fixture.base.radio, fixture.kernel)
            let addresses = fixture.centrals.prefix(slow).map(\.information.address)
            let dripping = fixture.base.begin {
                while true {
                    for address in addresses { kernel.setSending(false, adapter: 0, to: address) }
                    try await radio.sleep(for: .milliseconds(4800))
                    for address in addresses { kernel.setSending(true, adapter: 0, to: address) }
                    try await radio.sleep(for: .milliseconds(40))
                }
            }
            let end = radio.now.advanced(by: time)
            let bytes = [UInt8](repeating: 0, count: 100)
            let limit = Duration.seconds(5)
            while radio.now < end {
                let start = radio.now
                let deliveries = try await published.notify(bytes, of: PeripheralFixture.value, timeout: limit)
                let wait = start.duration(to: radio.now)
                if wait >= limit { result.waits += 1 }
                if wait > .milliseconds(50) { result.frozen += wait }
                result.sent += 1
                for delivery in deliveries where !addresses.contains(delivery.connection.peer) {
                    _ = try delivery.result.get()
                }
                if wait < .milliseconds(50) { try await radio.sleep(for: .milliseconds(50) - wait) }
            }
            dripping.cancel()
            for connection in incoming.connections where addresses.contains(connection.peer) {
                result.missed.append(await connection.missedValueCount)
            }
            for address in addresses { kernel.setSending(true, adapter: 0, to: address) }
            for link in links { await link.disconnect(timeout: .zero) }
            await set.close()
            drips.withLock { [result] in $0 = result }
        }
        return drips.withLock { $0 }
    }

    @Test(arguments: [1, 2, 4, 8]) func aLinkThatTakesNothingForMostOfTheTimeCostsOneWait(_ slow: Int) async throws {
        let drips = try await Self.drip(slow: slow, for: .seconds(300))
        // Their buffers fill at different moments, so each may cost a wait of its own, beside the short ones on trial.
        #expect(drips.waits <= slow, "\(drips)")
        #expect(drips.frozen < .seconds(7 + 5 * slow), "\(drips)")
        #expect(drips.sent > 5800 - 100 * slow)
        #expect(drips.missed.count == slow)
        #expect(drips.missed.allSatisfy { $0 > 1000 })
        let root = String(#filePath.dropLast("/Tests/BluetoothLETests/Peripheral/SlowCentralTests.swift".count))
        let page = try SystemFiles.read("\(root)/Docs/Guide/Peripheral/Publishing.md", limit: 1 << 20)
        let seconds = (drips.frozen / .milliseconds(100)).rounded() / 10
        let line = "| \(slow) | \(seconds) s | \(drips.waits) |"
        #expect(
            String(decoding: try #require(page), as: UTF8.self).contains(line), "The page needs the line \(line)")
    }

    /// A client that confirms an indication after 20 s costs one wait for each confirmation.
    @Test func anIndicationSkipsALinkWhoseConfirmationIsOutstanding() async throws {
        try await PeripheralFixture.run { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let good = try await fixture.connect()
            let values = try await good.subscribe(to: try await good.found(0xFFF1, in: 0xFFF0), kind: .indication)
            _ = fixture.base.begin { for try await _ in values {} }
            let client = PeerClient()
            let device = SimulatedPeripheral(on: fixture.base.radio, handler: { client.open($0) })
            let link = try await fixture.peripheral.connect(to: device.address)
            _ = await client.ask("1213000200")
            var codes: [BluetoothError.Code?] = []
            let start = fixture.base.radio.now
            for _ in 0..<5 {
                let deliveries = try await published.indicate(
                    [1], of: PeripheralFixture.value, timeout: .seconds(1))
                for delivery in deliveries {
                    switch delivery.result {
                    case .success: #expect(delivery.connection.peer != device.address)
                    case .failure(let error): codes.append(error.code)
                    }
                }
            }
            #expect(codes == [.timedOut, .busy, .busy, .busy, .busy])
            #expect(start.duration(to: fixture.base.radio.now) < .seconds(2))
            #expect(await link.missedValueCount == 5)
            // Once it has confirmed, it is given values again.
            client.send("1E")
            try await fixture.base.radio.sleep(for: .seconds(1))
            let asked = fixture.base.begin {
                try await published.indicate([2], of: PeripheralFixture.value, timeout: .seconds(1)).count
            }
            while await client.next() != "1D120002" {}
            client.send("1E")
            #expect(try await asked.value == 2)
            #expect(await link.missedValueCount == 5)
            await link.disconnect(timeout: .zero)
            await set.close()
            withExtendedLifetime(incoming) {}
        }
    }
}

/// How long a link is waited for.
@Suite struct LinkPatienceTests {
    private static func at(_ seconds: Int) -> KernelInstant {
        KernelInstant(nanoseconds: Int64(seconds) * 1_000_000_000)
    }

    @Test func eachTrialTakesTwiceAsLong() {
        var patience = LinkPatience()
        var now = 0
        for trial in [30, 60, 120, 240] {
            patience.missed()
            #expect(patience.isOnTrial)
            _ = patience.took(at: Self.at(now))
            // What it misses on trial begins it anew.
            patience.missed()
            now += trial
            _ = patience.took(at: Self.at(now))
            now += trial - 1
            _ = patience.took(at: Self.at(now))
            #expect(patience.isOnTrial)
            now += 1
            let hasEnded = patience.took(at: Self.at(now))
            #expect(hasEnded && !patience.isOnTrial)
        }
        #expect(patience.missedCount == 8)
    }
}
