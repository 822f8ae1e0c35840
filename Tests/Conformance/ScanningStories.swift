import BluetoothSockets
import BluetoothHCI
import TestSupport
import Testing

extension Conformance {
    /// Scans by raw commands, beside the kernel and other programs: the behaviour that the library's scanner relies on.
    /// They use the command family that the kernel uses on the controller.
    @Suite struct ScanningStories {
        private static let name: [UInt8] = [5, 9] + Array("seam".utf8)
        private static let response: [UInt8] = [5, 0xFF, 0xFF, 0xFF, 0xAA, 0xBB]

        // MARK: Reports

        @Test(arguments: [LEScanType.active, .passive])
        func onlyAnActiveScanBringsTheScanResponse(_ type: LEScanType) async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan(type)
                try await fixture.advertise(Self.name, response: Self.response)
                #expect(await user.report(from: fixture.peripheral.address, containing: Self.name) != nil)
                if type == .active {
                    #expect(await user.report(from: fixture.peripheral.address, containing: Self.response) != nil)
                } else {
                    // A response arrives at once or never.
                    _ = try await user.succeed(HCIReadBDADDR())
                    #expect(user.reportCount(from: fixture.peripheral.address, containing: Self.response) == 0)
                }
                try await user.stopScan()
            }
        }

        @Test(.disabled(if: Fixture.isBtvirt, "btvirt reports an advertiser only once, which leaves nothing to filter"))
        func theDuplicateFilterLetsADeviceThroughOnce() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                let address = fixture.peripheral.address
                try await fixture.advertise(Self.name)
                try await user.startScan(duplicates: .disabled)
                #expect(await user.hears(3, from: address, containing: Self.name))
                try await user.stopScan()
                let before = user.reportCount(from: address, containing: Self.name)
                try await user.startScan(duplicates: .enabled)
                let again = await user.hears(
                    before + 2, from: address, containing: Self.name, limit: .seconds(10))
                #expect(!again)
                #expect(user.reportCount(from: address, containing: Self.name) == before + 1)
                try await user.stopScan()
            }
        }

        @Test func everySocketSeesTheReportsOfEverybodysScan() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                let other = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                try await fixture.advertise(Self.name)
                for each in [user, other] {
                    #expect(await each.report(from: fixture.peripheral.address, containing: Self.name) != nil)
                }
                try await user.stopScan()
            }
        }

        // MARK: The owner of a scan

        @Test func othersSeeWhoScansAndHow() async throws {
            try await Fixture.run { fixture in
                var filter = HCISocketFilter.allEvents
                filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
                let user = try await fixture.openHCI(fixture.central, filter: filter)
                let other = try await fixture.openHCI(fixture.central, filter: filter)
                try await user.startScan()
                try await user.stopScan()
                let commands = [
                    try await user.scanParameters(.active), try await user.scanEnable(true),
                    try await user.scanEnable(false),
                ]
                func seen(_ user: HCIUser) -> [AnyHCICommand] {
                    user.events.packets.compactMap { packet in
                        guard packet.first == HCIPacketType.command.rawValue else { return nil }
                        return try? AnyHCICommand(decoding: packet.span.bytes)
                    }.filter(commands.contains)
                }
                #expect(seen(other) == commands)
                // No socket sees its own commands.
                #expect(seen(user).isEmpty)
            }
        }

        @Test func parametersAreRefusedWhileAnybodyScans() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                let other = try await fixture.openHCI(fixture.central)
                #expect(try await other.isAnybodyScanning() == false)
                try await user.startScan()
                #expect(try await other.isAnybodyScanning())
                #expect(try await user.isAnybodyScanning())
                try await other.stopScan()
                #expect(try await user.isAnybodyScanning() == false)
            }
        }

        @Test func aScanOutlivesTheSocketThatBeganIt() async throws {
            try await Fixture.run { fixture in
                let gone = try await fixture.openHCI(fixture.central)
                try await gone.startScan()
                await fixture.kernel.onLoop { gone.close() }
                let user = try await fixture.openHCI(fixture.central)
                #expect(try await user.isAnybodyScanning())
                try await fixture.advertise(Self.name)
                #expect(await user.report(from: fixture.peripheral.address, containing: Self.name) != nil)
                try await user.stopScan()
            }
        }

        @Test func poweringOffEndsAScan() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [1])
                #expect(try await user.isAnybodyScanning() == false)
            }
        }

        // MARK: Discoveries

        /// The Discovering events of the adapter, each `on` or `off`, once there are `count`.
        private static func discoveries(_ fixture: Fixture, count: Int) async -> [String] {
            @Sendable func states(_ entries: [SocketRecorder.Entry]) -> [String] {
                entries.compactMap { entry in
                    guard case .packet(let packet) = entry, let event = ManagementEvent(packet),
                        event.code == ManagementEvent.discovering, event.index == fixture.central.index
                    else { return nil }
                    return event.payload.last == 1 ? "on" : "off"
                }
            }
            let journal = fixture.management.events.journal
            await journal.wait(on: fixture.kernel.loop) { states($0).count >= count }
            return states(journal.entries)
        }

        @Test func anActiveScanIsADiscoveryUntilThatIsEnded() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan(.passive)
                try await user.stopScan()
                _ = try await fixture.management.succeed(.readIndexList)
                #expect(await Self.discoveries(fixture, count: 0) == [])

                try await user.startScan()
                #expect(await Self.discoveries(fixture, count: 1) == ["on"])
                // Another program's discovery has to wait meanwhile.
                let lowEnergy: UInt8 = 6
                let busy = try await fixture.management.command(
                    ManagementCommand.startDiscovery.rawValue, fixture.central.index, [lowEnergy])
                #expect(busy.status == 0x0A)
                try await user.stopScan()
                _ = try await fixture.management.succeed(.readIndexList)
                // Although the scan is off.
                #expect(await Self.discoveries(fixture, count: 1) == ["on"])
                _ = try await fixture.management.succeed(.stopDiscovery, on: fixture.central, [0])
                #expect(await Self.discoveries(fixture, count: 2) == ["on", "off"])
                // And there is none left to end.
                let none = try await fixture.management.command(
                    ManagementCommand.stopDiscovery.rawValue, fixture.central.index, [0])
                #expect(none.status == 0x0B)
            }
        }

        @Test func aDiscoveryEndsThoughWhoAskedForItIsGone() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                try await user.stopScan()
                #expect(await Self.discoveries(fixture, count: 1) == ["on"])
                let gone = try await ManagementUser(fixture.kernel)
                let stop = ManagementUser.packet(
                    ManagementCommand.stopDiscovery.rawValue, fixture.central.index, [0])
                await fixture.kernel.onLoop {
                    _ = gone.socket.send(stop)
                    gone.socket.close()
                    gone.events.detach()
                }
                #expect(await Self.discoveries(fixture, count: 2) == ["on", "off"])
            }
        }

        @Test func noConnectionIsBegunDuringADiscovery() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                try await user.stopScan()
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                let central = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                try await fixture.advertise()
                #expect(await central.recordedEvents(limit: .seconds(5)) { !$0.isEmpty } == nil)
                // Removed before, so that the removal does not start the connection.
                _ = try await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [1])
                _ = try await fixture.management.succeed(.stopDiscovery, on: fixture.central, [0])
                try await fixture.advertise()
                #expect(await central.recordedEvents { $0 == [.writable] } == [.writable])
                #expect(await listening.first() != nil)
            }
        }

        // MARK: Connections

        @Test(arguments: [LEScanType.active, .passive])
        func aConnectionEndsTheScan(_ type: LEScanType) async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan(type)
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                let central = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                try await fixture.advertise()
                // A connection is created from an active scan's report although it counts as a discovery, which then
                // ends.
                try #require(await central.recordedEvents { $0 == [.writable] } == [.writable])
                #expect(await listening.first() != nil)
                #expect(try await user.isAnybodyScanning() == false)
                let told = type == .active ? ["on", "off"] : []
                #expect(await Self.discoveries(fixture, count: told.count) == told)
            }
        }

        @Test func aScanGoesOnBesideALinkAndAfterIt() async throws {
            try await Fixture.run { fixture in
                let (central, _) = try await fixture.link()
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan(.passive)
                #expect(try await user.isAnybodyScanning())
                await central.close()
                let ended = await user.events.journal.wait(on: fixture.kernel.loop) { entries in
                    entries.contains { entry in
                        guard case .packet(let packet) = entry,
                            let event = try? HCIEventPacket(decoding: packet.span.bytes)
                        else { return false }
                        return event.code == HCIDisconnectionComplete.code
                    }
                }
                #expect(ended != nil)
                #expect(try await user.isAnybodyScanning())
                try await user.stopScan()
            }
        }
    }
}
