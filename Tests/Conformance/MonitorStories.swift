import BluetoothSockets
import BluetoothPrimitives
import BluetoothCapture
import BluetoothHCI
import TestSupport
import Testing

/// A program with a monitor socket.
struct MonitorUser: Sendable {
    let kernel: any BluetoothKernel
    let socket: any PacketSocket
    let events: SocketRecorder

    init(_ kernel: any BluetoothKernel) async throws {
        self.kernel = kernel
        (socket, events) = try await kernel.onLoop {
            let events = SocketRecorder()
            let socket = try kernel.openMonitor { events.handle($0) }
            events.attach(socket)
            return (socket, events)
        }
    }

    struct Packet: Equatable {
        var kind: CapturedPacketKind
        var adapter: UInt16
        var payload: [UInt8]
    }

    /// The packets about `adapter` and those about none, once one of the former meets `condition`.
    func packets(
        of adapter: KernelAdapter, until condition: @escaping @Sendable (Packet) -> Bool
    ) async throws -> [Packet] {
        let index = adapter.index
        let entries = await events.journal.wait(on: kernel.loop) {
            Self.packets($0, of: index).contains(where: condition)
        }
        return Self.packets(try #require(entries), of: index)
    }

    private static func packets(_ entries: [SocketRecorder.Entry], of index: UInt16) -> [Packet] {
        entries.compactMap { entry in
            guard case .packet(let bytes) = entry, let packet = try? CapturedPacket(monitorPacket: bytes.span.bytes),
                packet.adapter == index || packet.adapter == CapturedPacket.noAdapter
            else { return nil }
            return Packet(kind: packet.kind, adapter: packet.adapter, payload: [UInt8](packet.payload))
        }
    }
}

extension Fixture {
    func openMonitor() async throws -> MonitorUser {
        let user = try await MonitorUser(kernel)
        atEnd {
            user.socket.close()
            user.events.detach()
        }
        return user
    }
}

extension Conformance {
    @Suite struct MonitorStories {
        @Test func itBeginsWithTheSystemTheAdaptersAndTheirUsers() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                let packets = try await monitor.packets(of: fixture.central) { $0.kind == .controlOpened }
                #expect(packets.first?.kind == .systemNote)
                let adapter = packets.filter { $0.adapter == fixture.central.index }
                #expect(adapter.prefix(3).map(\.kind) == [.newIndex, .openedIndex, .indexInformation])
                // Type and bus, address, name in eight bytes.
                #expect(adapter.first?.payload.count == 16)
                var writer = ByteWriter(capacity: 6)
                try writer.write(fixture.central.address)
                let information = try #require(adapter.first { $0.kind == .indexInformation })
                #expect(information.payload.prefix(6) == writer.bytes[...])
                #expect(information.payload.count == 8)
            }
        }

        @Test func commandsAndEventsOfEverybodyAreTold() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                let user = try await fixture.openHCI(fixture.central)
                _ = try await user.succeed(HCIReadBDADDR())
                let answer = hex("0E 0A 01 0910 00")
                let packets = try await monitor.packets(of: fixture.central) {
                    $0.kind == .event && $0.payload.prefix(2).first == 0x0E
                        && $0.payload.dropFirst(3).starts(with: [9, 0x10])
                }
                let command = try #require(packets.firstIndex { $0.kind == .command && $0.payload == hex("0910 00") })
                let event = try #require(
                    packets.firstIndex { $0.kind == .event && $0.payload.count == 12 && $0.payload[3] == answer[3] })
                #expect(command < event)
            }
        }

        @Test func managementIsToldWithItsSocket() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                _ = try await fixture.management.succeed(.setLE, on: fixture.central, [1])
                // Cookie, then the command or the event.
                let packets = try await monitor.packets(of: fixture.central) {
                    $0.kind == .controlEvent && $0.payload.dropFirst(4).starts(with: hex("0100 0D00 00"))
                }
                let command = try #require(
                    packets.first { $0.kind == .controlCommand && $0.payload.dropFirst(4) == hex("0D00 01")[...] })
                let event = try #require(packets.last { $0.kind == .controlEvent })
                #expect(command.payload.prefix(4) == event.payload.prefix(4))
                let isKnown = packets.contains {
                    $0.kind == .controlOpened && $0.payload.prefix(4) == command.payload.prefix(4)
                }
                #expect(isKnown)
            }
        }

        @Test func dataOfLinksIsTold() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                let monitor = try await fixture.openMonitor()
                #expect(await central.send(hex("0A0300")) == .sent)
                _ = try #require(await peripheral.packets(1))
                #expect(await peripheral.send(hex("0B0102")) == .sent)
                _ = try #require(await central.packets(1))
                let handle = try await fixture.kernel.onLoop { try central.socket.connectionHandle() }
                let low = UInt8(truncatingIfNeeded: handle)
                let high = UInt8(truncatingIfNeeded: handle >> 8)
                // Without signaling: the peripheral's kernel requests other parameters of a link with a short interval.
                let isAttribute = { @Sendable (packet: MonitorUser.Packet) in
                    packet.payload.dropFirst(6).starts(with: hex("0400"))
                }
                let packets = try await monitor.packets(of: fixture.central) {
                    $0.kind == .aclReceived && isAttribute($0)
                }
                let sent = try #require(packets.first { $0.kind == .aclSent && isAttribute($0) })
                #expect(sent.payload == [low, high] + hex("0700 0300 0400 0A0300"))
                let received = try #require(packets.first { $0.kind == .aclReceived && isAttribute($0) })
                #expect(received.payload == [low, high | 0x20] + hex("0700 0300 0400 0B0102"))
            }
        }

        @Test func powerIsTold() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                _ = try await monitor.packets(of: fixture.central) { $0.kind == .closedIndex }
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [1])
                let again = await monitor.events.journal.wait(on: fixture.kernel.loop) { entries in
                    var isClosed = false
                    for case .packet(let bytes) in entries
                    where bytes.count >= 6 && UInt16(bytes[2]) == fixture.central.index {
                        if bytes[0] == 9 { isClosed = true }
                        if bytes[0] == 10, isClosed { return true }
                    }
                    return false
                }
                #expect(again != nil)
            }
        }

        @Test func nothingCanBeSent() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                let outcome = await fixture.kernel.onLoop { monitor.socket.send(hex("0C00 FFFF 0000")) }
                #expect(outcome == .failed(KernelError("send", .operationNotSupported)))
            }
        }

        @Test(.enabled(if: Fixture.canUnplug)) func comingAndGoingIsTold() async throws {
            try await Fixture.run { fixture in
                let monitor = try await fixture.openMonitor()
                try await fixture.withoutPeripheral {
                    _ = try await monitor.packets(of: fixture.peripheral) { $0.kind == .deletedIndex }
                }
                let entries = await monitor.events.journal.wait(on: fixture.kernel.loop) { entries in
                    entries.count { entry in
                        if case .packet(let bytes) = entry { bytes.prefix(2) == [0, 0] } else { false }
                    } > fixture.adapters.count
                }
                #expect(entries != nil)
            }
        }
    }
}
