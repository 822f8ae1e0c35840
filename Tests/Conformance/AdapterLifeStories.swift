import BluetoothKernel
import BluetoothPrimitives
import HCI
import TestSupport
import Testing

extension Conformance {
    /// What is told of adapters that go, and of radio switches.
    @Suite struct AdapterLifeStories {
        /// What happened, in its order: `off 1`, `removed 1`, `added 2`.
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
            try await Rig.run { rig in
                var filter = HCISocketFilter.allEvents
                filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
                let user = try await rig.openHCI(rig.central, filter: filter)
                let (central, peripheral) = try await rig.link()
                let handle = try await rig.kernel.onLoop { try central.socket.connectionHandle() }
                _ = try await rig.management.succeed(.setPowered, on: rig.central, [0])
                let end = await central.end()
                // The second where the controller's own word, that it was the host, comes first.
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

        @Test(.enabled(if: Rig.canUnplug)) func anAdapterThatIsUnpluggedIsToldOffFirstAndNotListedThen() async throws {
            try await Rig.run { rig in
                let gone = rig.peripheral
                let user = try await ManagementUser(rig.kernel)
                try await rig.withoutPeripheral {
                    let off = await user.event(ManagementEvent.newSettings, of: gone)
                    #expect(off != nil)
                    let listed = try rig.kernel.adapters().contains { $0.index == gone.index }
                    #expect(!listed)
                    _ = await user.event(ManagementEvent.indexRemoved, of: gone)
                    let story = Self.story(user).filter { $0.hasSuffix(" \(gone.index)") }
                    #expect(story == ["off \(gone.index)", "removed \(gone.index)"])
                }
                await user.close()
            }
        }

        @Test(.enabled(if: Rig.canBlock)) func aRadioSwitchTurnsItOffAndUnblockingTellsOnlyWhoFollowsTheSwitches()
            async throws
        {
            try await Rig.run { rig in
                let user = try await ManagementUser(rig.kernel)
                let changes = Journal<Void>()
                let watch = await rig.kernel.onLoop { rig.kernel.watchRadioSwitches { changes.add(()) } }
                #expect(watch != nil)
                let name = "hci\(rig.central.index)"
                @Sendable func isBlocked() -> Bool? {
                    rig.kernel.radioSwitches().first { $0.name == name }?.isSoftBlocked
                }
                #expect(isBlocked() == false)
                try rig.setBlocked(true)
                let off = await user.event(ManagementEvent.newSettings, of: rig.central)
                #expect(try off.map { try !ManagementSettings($0.payload).contains(.powered) } == true)
                #expect(isBlocked() == true)
                let told: [Void]? = await changes.wait(on: rig.kernel.loop) { !$0.isEmpty }
                #expect(told != nil)
                let refused = try await user.command(0x0005, rig.central.index, [1])
                #expect(refused.status == 0x03)
                let (before, count) = (Self.story(user), changes.entries.count)
                try rig.setBlocked(false)
                _ = await changes.wait(on: rig.kernel.loop) { $0.count > count }
                #expect(isBlocked() == false)
                _ = try await user.succeed(.readIndexList)
                #expect(Self.story(user) == before)
                #expect(try rig.kernel.adapters().first { $0.index == rig.central.index }?.isUp == false)
                await user.close()
                withExtendedLifetime(watch) {}
            }
        }
    }
}
