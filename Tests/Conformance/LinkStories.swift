import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

extension Conformance {
    /// Events and procedures of a link on a raw HCI socket beside the kernel.
    @Suite struct LinkStories {
        /// The central's end of a link, a program with a raw socket, and the link's handle.
        private func follow(
            _ fixture: Fixture
        ) async throws -> (central: ChannelEnd, user: HCIUser, handle: ConnectionHandle) {
            let user = try await fixture.openHCI(fixture.central)
            let (central, _) = try await fixture.link()
            let handle = try await fixture.kernel.onLoop { try central.socket.connectionHandle() }
            return (central, user, ConnectionHandle(rawValue: handle))
        }

        /// The first event about a link for which `body` returns a value.
        private func event<Value: Sendable>(
            _ fixture: Fixture, _ user: HCIUser, _ body: @escaping @Sendable (HCIEventPacket) -> Value?
        ) async -> Value? {
            @Sendable func find(_ entries: [SocketRecorder.Entry]) -> Value? {
                for case .packet(let packet) in entries {
                    guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { continue }
                    if let value = body(event) { return value }
                }
                return nil
            }
            let entries = await user.events.journal.wait(on: fixture.kernel.loop) { find($0) != nil }
            return entries.flatMap(find)
        }

        @Test func theSocketKnowsTheHandleThatTheControllerGave() async throws {
            try await Fixture.run { fixture in
                let (_, user, handle) = try await follow(fixture)
                let complete = await event(fixture, user) { (try? $0.connectionComplete())?.handle }
                #expect(complete == handle)
            }
        }

        @Test func theKernelListsTheLink() async throws {
            try await Fixture.run { fixture in
                #expect(try fixture.kernel.linkHandles(ofAdapter: fixture.central.index) == [])
                let (_, _, handle) = try await follow(fixture)
                #expect(try fixture.kernel.linkHandles(ofAdapter: fixture.central.index) == [handle.rawValue])
                #expect(throws: KernelError("HCIGETCONNLIST", .noSuchDevice)) {
                    try fixture.kernel.linkHandles(ofAdapter: 99)
                }
            }
        }

        @Test func theReasonOfAnEndIsToldBeforeTheEnd() async throws {
            try await Fixture.run { fixture in
                let (central, user, handle) = try await follow(fixture)
                _ = try await user.command(HCIDisconnect(handle, reason: .remoteUserTerminatedConnection))
                _ = await central.end()
                // Without waiting: the event is queued when the link's socket has ended, though perhaps not received.
                await fixture.kernel.onLoop { user.events.handle(.readable) }
                let reasons = user.events.packets.compactMap { packet -> ConnectionHandle? in
                    try? HCIEventPacket(decoding: packet.span.bytes).as(HCIDisconnectionComplete.self)?.handle
                }
                #expect(reasons == [handle])
            }
        }

        @Test func theSignalOfALinkIsRead() async throws {
            try await Fixture.run { fixture in
                let (_, user, handle) = try await follow(fixture)
                guard try await user.has(.readRSSI) else {
                    // btvirt's controllers report that they do not support it, and refuse it.
                    let refusal = try await user.command(HCIReadRSSI(handle))
                    return #expect(refusal == [HCIStatus.unknownHCICommand.rawValue])
                }
                let answer = try await user.succeed(HCIReadRSSI(handle))
                #expect(answer.count == 3)
                #expect(answer.prefix(2) == [UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8)])
            }
        }

        @Test func parametersAreChangedBesideTheKernel() async throws {
            try await Fixture.run { fixture in
                let (central, user, handle) = try await follow(fixture)
                let wanted = LEConnectionParameters(
                    intervalMinimum: 40, intervalMaximum: 40, latency: 1, supervisionTimeout: 400)
                _ = try await user.command(LEConnectionUpdate(handle, wanted))
                let update = await event(fixture, user) { try? $0.as(LEConnectionUpdateComplete.self) }
                #expect(update?.status.isSuccess == true)
                #expect(update?.handle == handle)
                #expect(update?.parameters.interval == 40)
                // The kernel keeps the link.
                #expect(await central.send([1]) == .sent)
            }
        }

        @Test func physAreChangedBesideTheKernel() async throws {
            try await Fixture.run { fixture in
                let (_, user, handle) = try await follow(fixture)
                let status = try await user.command(
                    LESetPHY(handle, LEPHYPreference(transmit: [.le1M, .le2M], receive: [.le1M, .le2M])))
                guard try await user.has(.leSetPHY) else {
                    // A controller before Bluetooth 5, or btvirt's.
                    return #expect(status == [HCIStatus.unknownHCICommand.rawValue])
                }
                #expect(status == [HCIStatus.success.rawValue])
                let update = await event(fixture, user) { try? $0.as(LEPHYUpdate.self) }
                #expect(update?.phys.handle == handle)
            }
        }
    }
}
