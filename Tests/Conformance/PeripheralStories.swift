import BluetoothPrimitives
import Testing

// The kernel's part in advertising and accepting links.
extension Conformance {
    @Suite struct PeripheralStories {
        private static let name: [UInt8] = [5, 9] + Array("seam".utf8)

        /// Adds an advertising instance with its own interval, 100 to 150 ms.
        private static func begin(
            _ fixture: Fixture, _ instance: UInt8, flags: UInt32 = 3, data: [UInt8] = name, response: [UInt8] = []
        ) async throws -> (status: UInt8, parameters: [UInt8]) {
            let intervalsAreGiven: UInt32 = 1 << 14
            var writer = ByteWriter(capacity: 18)
            try writer.write(instance)
            try writer.write(flags | intervalsAreGiven)
            for zero in [0, 0] as [UInt16] { try writer.write(zero) }
            for interval in [0xA0, 0xF0] as [UInt32] { try writer.write(interval) }
            try writer.write(0 as UInt8)
            let begun = try await fixture.management.command(
                ManagementCommand.addExtendedAdvertisingParameters.rawValue, fixture.peripheral.index, writer.bytes)
            guard begun.status == 0 else { return begun }
            return try await fixture.management.command(
                ManagementCommand.addExtendedAdvertisingData.rawValue, fixture.peripheral.index,
                [instance, UInt8(data.count), UInt8(response.count)] + data + response)
        }

        private static func instances(_ fixture: Fixture) async throws -> [UInt8] {
            let features = try await fixture.management.succeed(.readAdvertisingFeatures, on: fixture.peripheral)
            return Array(features.dropFirst(8))
        }

        @Test func anInstanceIsMadeInTwoSteps() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                let answer = try await Self.begin(fixture, 1)
                #expect(answer.status == 0)
                #expect(answer.parameters == [1])
                #expect(try await Self.instances(fixture) == [1])
                let report = try #require(await user.report(from: fixture.peripheral.address, containing: Self.name))
                #expect(report.isConnectable)
                try await user.stopScan()
                // Added again, it is the same instance; other sockets receive one event.
                let other = try await ManagementUser(fixture.kernel)
                #expect(try await Self.begin(fixture, 1).status == 0)
                #expect(try await Self.instances(fixture) == [1])
                _ = try await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [1])
                #expect(try await Self.instances(fixture) == [])
                #expect(await other.event(ManagementEvent.advertisingRemoved, of: fixture.peripheral)?.payload == [1])
                #expect(!other.events.has(ManagementEvent.advertisingAdded))
                await other.close()
            }
        }

        @Test func aNumberAboveTheNumberOfInstancesIsNotListed() async throws {
            try await Fixture.run { fixture in
                #expect(try await Self.begin(fixture, 2).status == 0)
                #expect(try await Self.instances(fixture) == [])
                #expect(try await Self.begin(fixture, 1).status == 0)
                #expect(try await Self.instances(fixture).sorted() == [1, 2])
                for instance in [1, 2] as [UInt8] {
                    _ = try await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [instance])
                }
                #expect(try await Self.instances(fixture) == [])
            }
        }

        @Test func anInstanceWithFlagsOfItsOwnIsRefused() async throws {
            try await Fixture.run { fixture in
                let answer = try await Self.begin(fixture, 1, data: [2, 1, 6])
                #expect(answer.status == 0x0D)
                #expect(try await Self.instances(fixture) == [])
            }
        }

        @Test func aLinkEndsItAndTheEndOfTheLinkBringsItBack() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                #expect(try await Self.begin(fixture, 1).status == 0)
                for round in 1...2 {
                    let central = try await fixture.connected(
                        from: fixture.central.address, to: fixture.peripheral.address)
                    try #require(await central.recordedEvents { $0.first == .writable } != nil)
                    let links = await listening.accepted.wait(on: fixture.kernel.loop) { $0.count >= round }
                    let accepted = try #require(links?.last)
                    // A link on which nothing was ever received crashes one kernel release.
                    #expect(await central.send([1]) == .sent)
                    #expect(await accepted.packets(1) == [[1]])
                    #expect(await accepted.send([1]) == .sent)
                    #expect(await central.packets(1) == [[1]])
                    #expect(try await Self.instances(fixture) == [1])
                    await central.close()
                    expectEnd(await accepted.end(), KernelError("recv", .connectionReset))
                }
            }
        }

        @Test func saidAgainItIsOnTheAirBesideALink() async throws {
            try await Fixture.run { fixture in
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                #expect(try await Self.begin(fixture, 1).status == 0)
                let central = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                try #require(await central.recordedEvents { $0.first == .writable } != nil)
                let accepted = try #require(await listening.first())
                #expect(await accepted.send([1]) == .sent)
                #expect(await central.packets(1) == [[1]])
                let again: [UInt8] = [6, 9] + Array("again".utf8)
                #expect(try await Self.begin(fixture, 1, data: again).status == 0)
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                #expect(await user.report(from: fixture.peripheral.address, containing: again) != nil)
                try await user.stopScan()
            }
        }

        @Test func whoMadeTheLinkIsTold() async throws {
            try await Fixture.run { fixture in
                _ = try await fixture.link()
                let here = await fixture.management.event(ManagementEvent.deviceConnected, of: fixture.central)
                let there = await fixture.management.event(ManagementEvent.deviceConnected, of: fixture.peripheral)
                // Address and type, then the flags: bit 3 is set at the initiating side.
                #expect(here.map { $0.payload[7] & 8 } == 8)
                #expect(there.map { $0.payload[7] & 8 } == 0)
            }
        }

        @Test func poweringOffTakesTheInstancesOfAControllerThatHasSets() async throws {
            try await Fixture.run { fixture in
                let isExtended = try await fixture.openHCI(fixture.peripheral).hasAdvertisingSets()
                #expect(try await Self.begin(fixture, 1).status == 0)
                let other = try await ManagementUser(fixture.kernel)
                _ = try await fixture.management.succeed(.setPowered, on: fixture.peripheral, [0])
                _ = try await fixture.management.succeed(.setPowered, on: fixture.peripheral, [1])
                #expect(try await Self.instances(fixture) == (isExtended ? [] : [1]))
                // The last event may follow the reply.
                _ = await other.events.journal.wait(on: fixture.kernel.loop) { entries in
                    entries.count {
                        guard case .packet(let packet) = $0 else { return false }
                        return ManagementEvent(packet)?.code == ManagementEvent.newSettings
                    } >= 2
                }
                // Reported before the adapter is off, so that it looks like another program's removal.
                let codes = other.events.codes.filter {
                    [ManagementEvent.advertisingRemoved, ManagementEvent.newSettings].contains($0)
                }
                let removed = isExtended ? [ManagementEvent.advertisingRemoved] : []
                #expect(codes == removed + [ManagementEvent.newSettings, ManagementEvent.newSettings])
                await other.close()
            }
        }

        @Test func theNewestListenerGetsTheLink() async throws {
            try await Fixture.run { fixture in
                let old = try await fixture.listen(on: fixture.peripheral.address)
                let new = try await fixture.listen(on: fixture.peripheral.address)
                #expect(try await Self.begin(fixture, 1).status == 0)
                let first = try await fixture.connect(from: fixture.central.address, to: fixture.peripheral.address)
                let accepted = try #require(await new.first())
                #expect(await accepted.send([1]) == .sent)
                #expect(await first.packets(1) == [[1]])
                #expect(old.accepted.entries.isEmpty)
                await first.close()
                expectEnd(await accepted.end(), KernelError("recv", .connectionReset))
                await fixture.kernel.onLoop { new.listener.close() }
                let second = try await fixture.connected(from: fixture.central.address, to: fixture.peripheral.address)
                let next = try #require(await old.first())
                #expect(await next.send([2]) == .sent)
                #expect(await second.packets(1) == [[2]])
                #expect(new.accepted.entries.count == 1)
            }
        }
    }
}
