import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

extension Conformance {
    /// The events of adapters that are removed, and of radio switches.
    @Suite struct AdapterLifeStories {
        /// The events in order: `off 1`, `removed 1`, `added 2`.
        private static func story(_ user: ManagementUser) -> [String] {
            user.events.packets.compactMap(ManagementEvent.init).compactMap { event in
                switch event.code {
                case ManagementEvent.indexAdded: return "added \(event.index)"
                case ManagementEvent.indexRemoved: return "removed \(event.index)"
                case ManagementEvent.newSettings:
                    let isOn = (try? ManagementSettings(event.payload))?.contains(.powered) == true
                    return "\(isOn ? "on" : "off") \(event.index)"
                default: return nil
                }
            }
        }

        @Test func poweringOffEndsTheLinksFirst() async throws {
            try await Fixture.run { fixture in
                var filter = HCISocketFilter.allEvents
                filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
                let user = try await fixture.openHCI(fixture.central, filter: filter)
                let (central, peripheral) = try await fixture.link()
                let handle = try await fixture.kernel.onLoop { try central.socket.connectionHandle() }
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                let end = await central.end()
                // The second where the controller's own event, with the local host as the reason, comes first.
                #expect([.connectionReset, .connectionAborted].contains(end?.number))
                let commands = user.events.packets.compactMap { packet -> HCIDisconnect? in
                    try? AnyHCICommand(decoding: packet.span.bytes).as(HCIDisconnect.self)
                }
                let goodbye = HCIDisconnect(
                    ConnectionHandle(rawValue: handle), reason: .remoteDevicePoweringOff)
                #expect(commands.contains(goodbye))
                #expect(await peripheral.end()?.number == .connectionReset)
            }
        }

        /// The failure of an intervention, once it is over; nil for none.
        private static func failure(
            of control: AdapterControl, _ index: UInt16, on kernel: any BluetoothKernel
        ) async -> KernelError? {
            await withCheckedContinuation { continuation in
                kernel.loop.execute {
                    kernel.control(control, adapter: index) { continuation.resume(returning: $0) }
                }
            }
        }

        @Test func anAdapterIsTakenDownAndUp() async throws {
            try await Fixture.run { fixture in
                let index = fixture.central.index
                func isUp() -> Bool? { try? fixture.kernel.adapters().first { $0.index == index }?.isUp }
                #expect(await Self.failure(of: .down, index, on: fixture.kernel) == nil)
                #expect(isUp() == false)
                // What is down cannot be reset.
                #expect(
                    await Self.failure(of: .reset, index, on: fixture.kernel)
                        == KernelError("HCIDEVRESET", .networkDown))
                #expect(await Self.failure(of: .up, index, on: fixture.kernel) == nil)
                #expect(isUp() == true)
                #expect(await Self.failure(of: .up, index, on: fixture.kernel) == nil)
            }
        }

        @Test func aResetEndsTheLinks() async throws {
            try await Fixture.run { fixture in
                let (central, peripheral) = try await fixture.link()
                #expect(await Self.failure(of: .reset, fixture.central.index, on: fixture.kernel) == nil)
                #expect(await central.end() != nil)
                // btvirt does not end a link at its other side when a controller is reset.
                if !Fixture.isBtvirt { #expect(await peripheral.end() != nil) }
                #expect(try fixture.kernel.linkHandles(ofAdapter: fixture.central.index) == [])
                let adapter = try fixture.kernel.adapters().first { $0.index == fixture.central.index }
                #expect(adapter?.isUp == true)
            }
        }

        @Test func anAbsentAdapterIsReported() async throws {
            try await Fixture.run { fixture in
                for control in [AdapterControl.reset, .down, .up, .rebind] {
                    #expect(await Self.failure(of: control, 99, on: fixture.kernel)?.number == .noSuchDevice)
                }
            }
        }

        @Test(.enabled(if: Fixture.canUnplug)) func anAdapterThatIsUnpluggedIsToldOffFirstAndNotListedThen()
            async throws
        {
            try await Fixture.run { fixture in
                let gone = fixture.peripheral
                let user = try await ManagementUser(fixture.kernel)
                try await fixture.withoutPeripheral {
                    let off = await user.event(ManagementEvent.newSettings, of: gone)
                    #expect(off != nil)
                    let listed = try fixture.kernel.adapters().contains { $0.index == gone.index }
                    #expect(!listed)
                    _ = await user.event(ManagementEvent.indexRemoved, of: gone)
                    let story = Self.story(user).filter { $0.hasSuffix(" \(gone.index)") }
                    #expect(story == ["off \(gone.index)", "removed \(gone.index)"])
                }
                await user.close()
            }
        }

        @Test(.enabled(if: Fixture.canBlock)) func aRadioSwitchTurnsItOffAndUnblockingTellsOnlyWhoFollowsTheSwitches()
            async throws
        {
            try await Fixture.run { fixture in
                let user = try await ManagementUser(fixture.kernel)
                let changes = Journal<Void>()
                let watch = await fixture.kernel.onLoop { fixture.kernel.watchRadioSwitches { changes.add(()) } }
                #expect(watch != nil)
                let name = "hci\(fixture.central.index)"
                @Sendable func isBlocked() -> Bool? {
                    fixture.kernel.radioSwitches().first { $0.name == name }?.isSoftBlocked
                }
                #expect(isBlocked() == false)
                try fixture.setBlocked(true)
                let off = await user.event(ManagementEvent.newSettings, of: fixture.central)
                #expect(try off.map { try !ManagementSettings($0.payload).contains(.powered) } == true)
                #expect(isBlocked() == true)
                let told: [Void]? = await changes.wait(on: fixture.kernel.loop) { !$0.isEmpty }
                #expect(told != nil)
                #expect(try await user.command(0x0005, fixture.central.index, [1]).status == 0x03)
                let (before, count) = (Self.story(user), changes.entries.count)
                try fixture.setBlocked(false)
                _ = await changes.wait(on: fixture.kernel.loop) { $0.count > count }
                #expect(isBlocked() == false)
                _ = try await user.succeed(.readIndexList)
                #expect(Self.story(user) == before)
                #expect(try fixture.kernel.adapters().first { $0.index == fixture.central.index }?.isUp == false)
                await user.close()
                withExtendedLifetime(watch) {}
            }
        }
    }
}
