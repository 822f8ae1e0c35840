import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct DynamicChannelStories {
        private static let channel = L2CAPChannel.dynamic(psm: 0x0085)

        @Test func aServiceIsConnected() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(
                    channel: Self.channel, options: L2CAPOptions(receiveMTU: 1000))
                try await fixture.kernel.onLoop {
                    for end in [central, peripheral] {
                        let units = try end.socket.maximumTransmissionUnits()
                        #expect(units == (receive: 1000, send: 1000))
                    }
                }
                let packets = [1, 100, 1000].map { [UInt8](repeating: 3, count: $0) }
                for (from, to) in [(central, peripheral), (peripheral, central)] {
                    for packet in packets { #expect(await from.send(packet) == .sent) }
                    #expect(await to.packets(packets.count) == packets)
                }
                await central.close()
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
            }
        }

        @Test func theKernelPicksAServiceNumber() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address, channel: .dynamic(psm: 0))
                guard case .dynamic(let psm) = listening.listener.channel else {
                    return #expect(Bool(false), "no dynamic channel")
                }
                #expect((0x80...0xFF).contains(psm))
            }
        }

        @Test func aServiceThatIsNotThereRefuses() async throws {
            try await Fixture.run { fixture in
                try await fixture.advertise()
                let central = try await fixture.connect(
                    from: fixture.central.address, to: fixture.peripheral.address, channel: Self.channel)
                expectEnd(await central.end(), KernelError("connect", .connectionRefused))
            }
        }

        @Test func aServiceNumberBeyondTheRangeIsInvalid() async throws {
            try await Fixture.run { fixture in
                await #expect(throws: KernelError("bind", .invalidArgument)) {
                    _ = try await fixture.listen(on: fixture.peripheral.address, channel: .dynamic(psm: 0x0100))
                }
            }
        }

        @Test func theEnhancedModeIsConnected() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(
                    channel: Self.channel,
                    options: L2CAPOptions(receiveMTU: 1000, flowControl: .enhancedCreditBased))
                try await fixture.kernel.onLoop {
                    for end in [central, peripheral] {
                        let units = try end.socket.maximumTransmissionUnits()
                        #expect(units == (receive: 1000, send: 1000))
                    }
                }
                for (from, to) in [(central, peripheral), (peripheral, central)] {
                    #expect(await from.send([UInt8](repeating: 5, count: 1000)) == .sent)
                    #expect(await to.packets(1)?.first?.count == 1000)
                }
            }
        }

        @Test func anSDULongerThanThePeersMTUIsRefused() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(
                    channel: Self.channel, options: L2CAPOptions(receiveMTU: 100))
                #expect(
                    await central.send([UInt8](repeating: 1, count: 101))
                        == .failed(KernelError("send", .messageTooLong)))
                #expect(await central.send([UInt8](repeating: 1, count: 100)) == .sent)
                #expect(await peripheral.packets(1)?.first?.count == 100)
            }
        }

        @Test func anSDUOfNoBytesIsTakenAndNotSent() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(channel: Self.channel)
                #expect(await central.send([1]) == .sent)
                #expect(await central.send([]) == .sent)
                #expect(await central.send([2]) == .sent)
                #expect(await peripheral.packets(2) == [[1], [2]])
            }
        }

        @Test func aReaderThatPausesHoldsBackTheSenderAndLosesNothing() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(channel: Self.channel)
                await fixture.kernel.onLoop { peripheral.socket.setReading(false) }
                let limit = 5000
                @Sendable func numbered(_ number: Int) -> [UInt8] {
                    [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
                        + [UInt8](repeating: 0, count: 198)
                }
                // It becomes full again and again until the credits are used up, which takes a while.
                var sent = 0
                var rounds = 0
                while rounds < 3 {
                    let before = sent
                    sent = await fixture.kernel.onLoop { [sent] in
                        var sent = sent
                        while sent < limit, central.socket.send(numbered(sent)) == .sent { sent += 1 }
                        return sent
                    }
                    if sent == before { rounds += 1 }
                    await Journal<Int>().wait(on: fixture.kernel.loop, limit: .milliseconds(500)) { _ in false }
                }
                #expect(sent > 0 && sent < limit)
                let count = central.events.journal.entries.count
                await fixture.kernel.onLoop {
                    central.socket.notifyWhenWritable()
                    peripheral.socket.setReading(true)
                }
                #expect(await central.recordedEvents { $0.count > count } != nil)
                #expect(await central.send(numbered(sent)) == .sent)
                #expect(await peripheral.packets(sent + 1) == (0...sent).map(numbered))
            }
        }

        @Test func severalChannelsOfOneServiceAreIndependent() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address, channel: Self.channel)
                try await fixture.advertise()
                var centrals: [ChannelEnd] = []
                for _ in 0..<3 {
                    let end = try await fixture.connect(
                        from: fixture.central.address, to: fixture.peripheral.address, channel: Self.channel)
                    try #require(await end.recordedEvents { $0 == [.writable] } != nil)
                    centrals.append(end)
                }
                let accepted = try #require(
                    await listening.accepted.wait(on: fixture.kernel.loop) { $0.count == 3 })
                for (number, end) in centrals.enumerated() {
                    #expect(await end.send([UInt8(number)]) == .sent)
                    #expect(await accepted[number].packets(1) == [[UInt8(number)]])
                }
                await centrals[0].close()
                expectEnd(await accepted[0].end(), KernelError("recv", .connectionReset))
                #expect(await accepted[1].send([9]) == .sent)
                #expect(await centrals[1].packets(1) == [[9]])
            }
        }

        /// A socket that is writable again has credits for everything that it has accepted.
        @Test func whatWasAcceptedArrivesOnceTheSocketIsWritable() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(channel: Self.channel)
                let sdus = (0..<60 as Range<UInt8>).map { [UInt8](repeating: $0, count: 672) }
                var next = 0
                while next <= sdus.count {
                    if next < sdus.count, await central.send(sdus[next]) == .sent {
                        next += 1
                        continue
                    }
                    let count = central.events.journal.entries.count
                    await fixture.kernel.onLoop { central.socket.notifyWhenWritable() }
                    try #require(await central.recordedEvents { $0.count > count } != nil)
                    if next == sdus.count { break }
                }
                await central.close()
                #expect(await peripheral.packets(sdus.count) == sdus)
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
            }
        }

        @Test func whatHasCreditsArrivesBeforeTheEnd() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(channel: Self.channel)
                await fixture.kernel.onLoop { peripheral.socket.setReading(false) }
                // The initial credits suffice for one SDU of the default MTU, which takes three frames.
                for number in 0..<2 as Range<UInt8> { #expect(await central.send([number]) == .sent) }
                await central.close()
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
                #expect(peripheral.events.packets == [[0], [1]])
            }
        }
    }
}
