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
                let commands = user.events.packets.compactMap { packet -> HCICommand? in
                    packet.first == HCIPacketType.command.rawValue ? try? HCICommand(decoding: packet.span.bytes) : nil
                }
                let goodbye = HCICommand.disconnect(
                    ConnectionHandle(rawValue: handle), reason: .remoteDevicePoweringOff)
                #expect(commands.contains(goodbye))
                #expect(await peripheral.end()?.number == .connectionReset)
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
                let refused = try await user.command(0x0005, fixture.central.index, [1])
                #expect(refused.status == 0x03)
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
