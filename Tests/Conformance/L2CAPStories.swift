import BluetoothHCI
import BluetoothPrimitives
import TestSupport
import Testing

/// Expects a socket to have ended with `expected`.
func expectEnd(
    _ error: KernelError?, _ expected: KernelError..., at location: SourceLocation = #_sourceLocation
) {
    // No error is recorded as well.
    #expect(expected.contains { $0 == error }, "ended with \(String(describing: error))", sourceLocation: location)
}

extension Conformance {
    @Suite struct ConnectingStories {
        @Test func bothSidesKnowEachOther() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                try await fixture.kernel.onLoop {
                    #expect(central.socket.peer == fixture.peripheral.address)
                    #expect(peripheral.socket.peer == fixture.central.address)
                    for end in [central, peripheral] {
                        let handle = try end.socket.connectionHandle()
                        let security = try end.socket.security()
                        let units = try end.socket.maximumTransmissionUnits()
                        #expect(handle <= 0x0EFF)
                        #expect(security == LinkSecurity(level: .low, keySize: 0))
                        #expect(units == (receive: 672, send: 672))
                    }
                }
                #expect(peripheral.events.journal.entries == [])
            }
        }

        @Test func anAdapterThatIsDownConnectsNobody() async throws {
            try await Fixture.run { fixture in
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                await #expect(throws: KernelError("connect", .hostUnreachable)) {
                    _ = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                }
            }
        }

        @Test func anAddressThatIsNotOursConnectsNobody() async throws {
            try await Fixture.run { fixture in
                await #expect(throws: KernelError("connect", .hostUnreachable)) {
                    _ = try await fixture.connect(
                        from: BluetoothAddress(0x0102_0304_0506, kind: .public), to: fixture.peripheral.address)
                }
            }
        }

        @Test func anotherFixedChannelCannotBeConnected() async throws {
            try await Fixture.run { fixture in
                await #expect(throws: KernelError.self) {
                    _ = try await fixture.connect(
                        from: fixture.central.address, to: fixture.peripheral.address, channel: .fixed(0x0006))
                }
            }
        }

        @Test func connectingToNobodyEndsAfterTheTimeout() async throws {
            try await Fixture.run { fixture in
                let nobody = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)
                let end = try await fixture.connect(
                    from: fixture.central.address, to: nobody,
                    options: L2CAPOptions(connectTimeout: .milliseconds(1500)))
                let error = try #require(await end.end())
                #expect(error == KernelError("connect", .connectionRefused))
                #expect(end.events.journal.entries.count == 1)
            }
        }

        // Linux may lose an attempt that begins while it still gives up another to the same peer.
        @Test func closingCancelsAndThenConnectingAgainWorksAtTheLatestAtTheSecondAttempt() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                let cancelled = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                await cancelled.close()
                try await fixture.advertise()
                let options = L2CAPOptions(connectTimeout: .seconds(10))
                var end = try await fixture.connect(
                    from: fixture.central.address, to: fixture.peripheral.address, options: options)
                var first = await end.recordedEvents { !$0.isEmpty }?.first
                if case .closed(let error) = first {
                    #expect(error.call == "connect")
                    end = try await fixture.connect(
                        from: fixture.central.address, to: fixture.peripheral.address, options: options)
                    first = await end.recordedEvents { !$0.isEmpty }?.first
                }
                #expect(first == .writable)
                #expect(await listening.first() != nil)
                #expect(cancelled.events.journal.entries == [])
            }
        }

        @Test func aSecondSocketToTheSamePeerIsBusy() async throws {
            try await Fixture.run { fixture in
                let (central, _) = try await fixture.link()
                await #expect(throws: KernelError("connect", .busy)) {
                    _ = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                }
                await central.close()
                // The link itself lasts a little longer and is reused by the next connect.
                let again = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                #expect(await again.recordedEvents { $0 == [.writable] } != nil)
            }
        }

        @Test func theNewestListenerTakesTheConnection() async throws {
            try await Fixture.run { fixture in
                let older = try await fixture.listen(on: fixture.peripheral.address)
                let newer = try await fixture.listen(on: fixture.peripheral.address)
                try await fixture.advertise()
                let central = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                #expect(await central.recordedEvents { $0 == [.writable] } != nil)
                #expect(await newer.first() != nil)
                #expect(older.accepted.entries.isEmpty)
            }
        }

        @Test func withoutAListenerTheFixedChannelStillConnects() async throws {
            try await Fixture.run { fixture in
                try await fixture.advertise()
                let central = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                #expect(await central.recordedEvents { $0 == [.writable] } != nil)
                #expect(await central.send([0x02, 0x17, 0x00]) == .sent)
            }
        }
    }

    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct PacketStories {
        @Test func packetsKeepTheirBoundariesBothWays() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                let packets = [1, 0, 23, 27, 28, 251, 252, 517, 672].map {
                    [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: $0)
                }
                for (from, to) in [(central, peripheral), (peripheral, central)] {
                    for packet in packets { #expect(await from.send(packet) == .sent) }
                    #expect(await to.packets(packets.count) == packets)
                }
            }
        }

        @Test func aPacketLongerThanTheMTUIsRefused() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(options: L2CAPOptions(receiveMTU: 100, sendMTU: 100))
                #expect(
                    await central.send([UInt8](repeating: 1, count: 101))
                        == .failed(KernelError("send", .messageTooLong)))
                #expect(await central.send([UInt8](repeating: 1, count: 100)) == .sent)
                #expect(await peripheral.packets(1)?.first?.count == 100)
            }
        }

        @Test func aFullSocketWouldBlockAndThenIsWritable() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link(
                    options: L2CAPOptions(sendBuffer: 4608, receiveBuffer: 1 << 22))
                let limit = 2000
                @Sendable func numbered(_ number: Int) -> [UInt8] {
                    [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
                        + [UInt8](repeating: 0, count: 18)
                }
                let sent = await fixture.kernel.onLoop {
                    var sent = 0
                    while sent < limit, central.socket.send(numbered(sent)) == .sent { sent += 1 }
                    #expect(sent < limit)
                    central.socket.notifyWhenWritable()
                    return sent
                }
                #expect(await central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(await central.send(numbered(sent)) == .sent)
                #expect(await peripheral.packets(sent + 1) == (0...sent).map(numbered))
            }
        }

        @Test func readingCanBePaused() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                await fixture.kernel.onLoop { peripheral.socket.setReading(false) }
                #expect(await central.send([1]) == .sent)
                #expect(await peripheral.send([2]) == .sent)
                #expect(await central.packets(1) == [[2]])
                await fixture.kernel.onLoop { peripheral.socket.setReading(true) }
                #expect(await peripheral.packets(1) == [[1]])
            }
        }

        @Test func aLevelTheLinkHasCannotBeAskedFor() async throws {
            try await Fixture.run { fixture in
                let (central, _) = try await fixture.link()
                await fixture.kernel.onLoop {
                    #expect(throws: KernelError("setsockopt(BT_SECURITY)", .invalidArgument)) {
                        try central.socket.raiseSecurity(to: .low)
                    }
                }
                #expect(await central.send([1]) == .sent)
            }
        }
    }

    @Suite struct EndStories {
        @Test(arguments: [true, false]) func closingEndsTheOtherSide(isCentral: Bool) async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                let (closing, other) = isCentral ? (central, peripheral) : (peripheral, central)
                #expect(await closing.send([1, 2, 3]) == .sent)
                await closing.close()
                expectEnd(await other.end(), KernelError("recv", .connectionReset))
                #expect(other.events.packets == [[1, 2, 3]])
                #expect(await other.send([1]) == .failed(KernelError("send", .notConnected)))
                #expect(closing.events.journal.entries == (isCentral ? [.writable] : []))
            }
        }

        @Test func droppingTheSocketEndsTheOtherSide() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                try await fixture.advertise()
                let events = SocketRecorder()
                let holder = try await fixture.kernel.onLoop {
                    let socket = try fixture.kernel.connectL2CAP(
                        to: fixture.peripheral.address, channel: .attribute, from: fixture.central.address,
                        options: L2CAPOptions()
                    ) { events.handle($0) }
                    events.attach(socket)
                    return Holder(socket)
                }
                #expect(await events.journal.wait(on: fixture.kernel.loop) { $0 == [.writable] } != nil)
                let peripheral = try #require(await listening.first())
                #expect(await peripheral.send([1]) == .sent)
                await events.journal.wait(on: fixture.kernel.loop) { $0.contains(.packet([1])) }
                holder.socket = nil
                events.detach()
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
            }
        }

        @Test func whatWasQueuedIsReceivedBeforeTheEnd() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                await fixture.kernel.onLoop { peripheral.socket.setReading(false) }
                for number in 0..<5 as Range<UInt8> { #expect(await central.send([number]) == .sent) }
                await central.close()
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
                #expect(
                    peripheral.events.journal.entries
                        == (0..<5).map { .packet([$0]) } + [.closed(KernelError("recv", .connectionReset))])
            }
        }

        @Test func poweringOffEndsBothSides() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                // A link on which nothing was ever received crashes one kernel release.
                #expect(await central.send([1]) == .sent)
                #expect(await peripheral.packets(1) == [[1]])
                #expect(await peripheral.send([1]) == .sent)
                #expect(await central.packets(1) == [[1]])
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                // The first if the controller repeats the reason it was given, the second if it reports its own.
                expectEnd(
                    await central.end(), KernelError("recv", .connectionReset),
                    KernelError("recv", .connectionAborted))
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
            }
        }

        @Test func disconnectingByManagementEndsBothSides() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                #expect(await peripheral.send([1]) == .sent)
                #expect(await central.packets(1) == [[1]])
                var writer = ByteWriter(capacity: 7)
                try writer.write(fixture.peripheral.address)
                try writer.write(1 as UInt8)
                _ = try await fixture.management.succeed(.disconnect, on: fixture.central, writer.bytes)
                #expect(await central.end() != nil)
                expectEnd(await peripheral.end(), KernelError("recv", .connectionReset))
            }
        }
    }

    @Suite(.enabled(if: Fixture.canUnplug)) struct HotplugStories {
        @Test func unpluggingEndsEverythingOfTheAdapterAndNothingElse() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                for (from, to) in [(central, peripheral), (peripheral, central)] {
                    #expect(await from.send([1]) == .sent)
                    #expect(await to.packets(1) == [[1]])
                }
                let gone = try await fixture.openHCI(fixture.peripheral)
                let other = try await fixture.openHCI(fixture.central)
                try await fixture.withoutPeripheral {
                    expectEnd(await peripheral.end(), KernelError("recv", .connectionAborted))
                    #expect(await central.end() != nil)
                    let told = await gone.events.journal.wait(on: fixture.kernel.loop) {
                        $0.contains { if case .closed = $0 { true } else { false } }
                    }
                    #expect(told?.last == .closed(KernelError("recv", .brokenPipe)))
                    let event = try #require(
                        await fixture.management.event(ManagementEvent.indexRemoved, of: fixture.peripheral))
                    #expect(event.payload == [])
                    #expect(try !fixture.kernel.adapters().contains { $0.address == fixture.peripheral.address })
                    _ = try await other.succeed(HCIReadBDADDR())
                    await #expect(throws: KernelError.self) {
                        _ = try await fixture.connect(from: fixture.peripheral.address, to: fixture.central.address)
                    }
                }
                // The new adapter may have another index.
                await fixture.management.events.journal.wait(on: fixture.kernel.loop) { entries in
                    entries.contains { entry in
                        guard case .packet(let packet) = entry else { return false }
                        return ManagementEvent(packet)?.code == ManagementEvent.indexAdded
                    }
                }
                #expect(try fixture.kernel.adapters().count >= 2)
            }
        }
    }
}
