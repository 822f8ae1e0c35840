import BluetoothHCI
import BluetoothHost
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import Testing

/// The simulated radio's time against the arithmetic of Core Vol 6 Part B.
struct AirTimeTests {
    /// The arrivals at a peripheral, in µs.
    private final class Arrivals: SimulatedLinkHandler {
        let times = Mutex<[Int64]>([])
        let link = Mutex<SimulatedLink?>(nil)
        /// Whether packets are sent back.
        let isEcho: Bool

        init(isEcho: Bool = false) { self.isEcho = isEcho }

        var count: Int { times.withLock { $0.count } }

        func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
            times.withLock { $0.append(link.radio.microseconds) }
            self.link.withLock { $0 = link }
            if isEcho { link.send([UInt8](packet)) }
        }
    }

    /// A link with parameters that HCI commands have set.
    private struct Fixture {
        let radio: SimulatedRadio
        let channel: Channel
        let arrivals: Arrivals
        let peripheral: SimulatedPeripheral

        init(
            on radio: SimulatedRadio, interval: UInt16 = 24, latency: UInt16 = 0, phy: LEPHYSet? = nil,
            codedOptions: UInt16 = 0, octets: UInt16? = nil, isEcho: Bool = false
        ) async throws {
            self.radio = radio
            let arrivals = Arrivals(isEcho: isEcho)
            self.arrivals = arrivals
            peripheral = SimulatedPeripheral(on: radio) { _ in arrivals }
            peripheral.setSupportedPHYs([.le1M, .le2M, .leCoded])
            let kernel = radio.makeKernel(adapters: [SimulatedController(hasCoded: true)])
            channel = try kernel.connect(to: peripheral.address)
            #expect(await channel.tap.next() == .writable)
            let hci = try kernel.hci()
            let handle = ConnectionHandle(rawValue: try #require(try channel.l2cap?.connectionHandle()))
            if let octets {
                #expect(try await hci.perform(LESetDataLength(handle, octets: octets, time: 17040)) == .success)
            }
            if let phy {
                let preference = LEPHYPreference(transmit: phy, receive: phy, codedOptions: codedOptions)
                #expect(try await hci.perform(LESetPHY(handle, preference)) == .success)
            }
            let parameters = LEConnectionParameters(
                intervalMinimum: interval, intervalMaximum: interval, latency: latency, supervisionTimeout: 3200)
            #expect(
                try await hci.perform(LEConnectionUpdate(handle, parameters)) == .success)
            // The instants of the procedures.
            try await radio.sleep(for: .seconds(1))
        }

        /// Sends packets of 247 bytes, Write Commands with values of 244, until the test ends.
        func fill() async {
            let packet = [UInt8](repeating: 7, count: 247)
            while !Task.isCancelled {
                guard channel.send(packet) != .sent else { continue }
                channel.socket.notifyWhenWritable()
                guard await channel.tap.next() == .writable else { return }
            }
        }
    }

    private static let codings: [(LinkLayerCoding, LEPHYSet, UInt16)] = [
        (.le1M, .le1M, 0), (.le2M, .le2M, 0), (.codedS8, .leCoded, 2), (.codedS2, .leCoded, 1),
    ]

    @Test(arguments: codings, [UInt16(27), 251])
    func aLinkCarriesWhatTheArithmeticSays(
        _ coding: (LinkLayerCoding, LEPHYSet, UInt16), octets: UInt16
    ) async throws {
        for interval: UInt16 in [6, 12, 24, 80] {
            let microseconds = Int(interval) * 1250
            let capacity = LinkCapacity(
                interval: microseconds, coding: coding.0, octets: Int(octets), time: 17040, receiveOctets: Int(octets))
            let expected = capacity.bytesPerSecond(ofValues: 244)
            let radio = SimulatedRadio()
            try await radio.run {
                let fixture = try await Fixture(
                    on: radio, interval: interval, phy: coding.1, codedOptions: coding.2, octets: octets)
                async let sender: Void = fixture.fill()
                try await radio.sleep(for: .microseconds(10 * microseconds))
                let first = fixture.arrivals.count
                // At least a hundred packets arrive in it.
                let events = Int(100 * 244 * 1_000_000 / (expected * Double(microseconds))) + 1
                try await radio.sleep(for: .microseconds(events * microseconds))
                let bytes = Double((fixture.arrivals.count - first) * 244)
                let measured = bytes * 1_000_000 / Double(events * microseconds)
                #expect(
                    abs(measured / expected - 1) <= 0.01,
                    "\(coding.0) \(octets) \(interval): \(measured), expected \(expected)")
                fixture.peripheral.disconnect()
                await sender
            }
        }
    }

    @Test func aResponseComesInTheNextEvent() async throws {
        let radio = SimulatedRadio()
        try await radio.run {
            let fixture = try await Fixture(on: radio, isEcho: true)
            fixture.channel.send([1])
            #expect(await fixture.channel.nextPacket() == [1])
            // A packet of 5 bytes takes 120 µs. Neither side has more, so the event is closed when the response is
            // ready; it follows the central's empty packet in the next one.
            let request = try #require(fixture.arrivals.times.withLock { $0.first })
            #expect(radio.microseconds - request == 30_000 - 120 + 80 + 150 + 120)
        }
    }

    @Test func aResponseComesInTheSameEventIfThatContinues() async throws {
        let radio = SimulatedRadio()
        try await radio.run {
            let fixture = try await Fixture(on: radio, isEcho: true)
            fixture.channel.send([1])
            fixture.channel.send([2])
            #expect(await fixture.channel.nextPacket() == [1])
            // The second exchange begins 150 + 80 + 150 µs after the first packet, with the second one.
            let request = try #require(fixture.arrivals.times.withLock { $0.first })
            #expect(radio.microseconds - request == 380 + 120 + 150 + 120)
        }
    }

    @Test func whatIsSentDuringAnEventGoesOutInItsNextExchange() async throws {
        let radio = SimulatedRadio()
        try await radio.run {
            let fixture = try await Fixture(on: radio)
            fixture.channel.send([1])
            try await radio.sleep(for: .milliseconds(100))
            let anchor = try #require(fixture.arrivals.times.withLock { $0.first }) - 120
            // In ten packets, the exchanges of which take 296 + 150 + 80 + 150 µs.
            fixture.channel.send([UInt8](repeating: 7, count: 247))
            let event = anchor + ((radio.microseconds - anchor) / 30_000 + 1) * 30_000
            try await radio.sleep(for: .microseconds(event + 1000 - radio.microseconds))
            let link = try #require(fixture.arrivals.link.withLock { $0 })
            #expect(link.send([9]) == .sent)
            #expect(await fixture.channel.nextPacket() == [9])
            // The second exchange was under way.
            #expect(radio.microseconds == event + 2 * 676 + 296 + 150 + 120)
            try await radio.sleep(for: .milliseconds(30))
            // The answer took the place of an empty packet: 120 µs and not 80.
            #expect(fixture.arrivals.times.withLock { $0.last } == event + 9 * 676 + 40 + (10 + 8) * 8)
        }
    }

    @Test func aSleepingPeripheralListensToEveryFifthEvent() async throws {
        let radio = SimulatedRadio()
        try await radio.run {
            let fixture = try await Fixture(on: radio, latency: 4)
            for value: UInt8 in 1...5 {
                fixture.channel.send([value])
                try await radio.sleep(for: .milliseconds(220))
            }
            let times = fixture.arrivals.times.withLock { $0 }
            #expect(times.count == 5)
            for (one, next) in zip(times, times.dropFirst()) { #expect((next - one) % 150_000 == 0) }
            // It sends at any event.
            let link = try #require(fixture.arrivals.link.withLock { $0 })
            let last = try #require(times.last)
            let start = radio.microseconds
            #expect(link.send([9]) == .sent)
            #expect(await fixture.channel.nextPacket() == [9])
            #expect(radio.microseconds - start <= 30_000 + 350)
            #expect((radio.microseconds - last) % 30_000 == 80 + 150 + 120 - 120)
        }
    }

    @Test func aLimitOfPacketsClosesAnEvent() async throws {
        let radio = SimulatedRadio()
        radio.conditions.packetsPerConnectionEvent = 4
        try await radio.run {
            let fixture = try await Fixture(on: radio, octets: 251)
            for value: UInt8 in 1...8 { fixture.channel.send([value]) }
            try await radio.sleep(for: .milliseconds(200))
            let times = fixture.arrivals.times.withLock { $0 }
            #expect(times.map { $0 - times[0] } == [0, 500, 1000, 1500, 30_000, 30_500, 31_000, 31_500])
        }
    }

    @Test func lostPacketsCostTimeAndNothingElse() async throws {
        let radio = SimulatedRadio(seed: 5)
        try await radio.run {
            let fixture = try await Fixture(on: radio, octets: 251)
            radio.conditions.packetLoss = 0.1
            async let sender: Void = fixture.fill()
            try await radio.sleep(for: .seconds(10))
            let rate = Double(fixture.arrivals.count * 244) / 10
            let capacity = LinkCapacity(interval: 30_000, coding: .le1M, octets: 251).bytesPerSecond(ofValues: 244)
            // An exchange succeeds if neither its packet nor the acknowledgement is lost, 81 %; two lost packets in a
            // row (2 % of the exchanges) cost the rest of an event.
            #expect((0.65...0.81).contains(rate / capacity))
            radio.conditions.packetLoss = 0
            fixture.peripheral.disconnect()
            await sender
        }
    }
}

extension SimulatedRadio {
    fileprivate var microseconds: Int64 { now.nanoseconds / 1000 }
}
