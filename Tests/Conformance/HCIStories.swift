import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Testing

extension Conformance {
    @Suite struct HCIStories {
        @Test func theAddressIsRead() async throws {
            try await Fixture.run { fixture in
                for adapter in fixture.adapters {
                    let user = try await fixture.openHCI(adapter)
                    let answer = try await user.succeed(HCIReadBDADDR())
                    var reader = ByteReader(answer.span.bytes)
                    let address = try reader.readAddress(.public)
                    #expect(address == adapter.address)
                }
            }
        }

        @Test func theSupportedCommandsAreRead() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                #expect(try await user.succeed(HCIReadLocalSupportedCommands()).count == HCICommandSupport.byteCount)
            }
        }

        @Test func withoutAFilterNothingArrives() async throws {
            try await Fixture.run { fixture in
                let silent = try await fixture.openHCI(fixture.central, filter: nil)
                let other = try await fixture.openHCI(fixture.central)
                _ = try await other.succeed(HCIReadBDADDR())
                #expect(silent.events.journal.entries == [])
            }
        }

        @Test func aFilterLetsThroughWhatItNames() async throws {
            try await Fixture.run { fixture in
                let meta = try await fixture.openHCI(fixture.central, filter: .events(0x3E))
                let one = try await fixture.openHCI(
                    fixture.central,
                    filter: HCISocketFilter(
                        packetTypes: 1 << 4, events: .max, opcode: HCIReadBDADDR.opcode.rawValue))
                let all = try await fixture.openHCI(fixture.central)
                _ = try await all.succeed(HCIReadLocalVersionInformation())
                _ = try await all.succeed(HCIReadBDADDR())
                _ = await one.events.journal.wait(on: fixture.kernel.loop) { !$0.isEmpty }
                #expect(meta.events.journal.entries == [])
                #expect(one.events.packets.count == 1)
                #expect(one.events.packets.first.map { Array($0[4...5]) } == [0x09, 0x10])
            }
        }

        @Test func everySocketSeesEverybodysAnswers() async throws {
            try await Fixture.run { fixture in
                let one = try await fixture.openHCI(fixture.central)
                let other = try await fixture.openHCI(fixture.central)
                _ = try await one.succeed(HCIReadBDADDR())
                let seen = await other.events.journal.wait(on: fixture.kernel.loop) { !$0.isEmpty }
                guard case .packet(let packet) = seen?.first else { return #expect(Bool(false), "nothing seen") }
                #expect(Array(packet[4...5]) == [0x09, 0x10])
            }
        }

        @Test func anAdapterThatIsNotThereCannotBeOpened() async throws {
            try await Fixture.run { fixture in
                await #expect(throws: KernelError("bind", .noSuchDevice)) {
                    _ = try await HCIUser(fixture.kernel, 0x0FFF, filter: nil)
                }
            }
        }

        @Test func anAdapterThatIsDownTakesNoCommands() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                let packet = try HCIReadBDADDR().packet()
                let outcome = await fixture.kernel.onLoop { user.socket.send(packet) }
                #expect(outcome == .failed(KernelError("send", .networkDown)))
                // The socket survives it.
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [1])
                _ = try await user.succeed(HCIReadBDADDR())
            }
        }

        @Test(arguments: [[], [1, 9], [1, 9, 16], [9, 9, 16, 0]] as [[UInt8]])
        func whatIsNoCommandIsRefused(packet: [UInt8]) async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                let outcome = await fixture.kernel.onLoop { user.socket.send(packet) }
                #expect(outcome == .failed(KernelError("send", .invalidArgument)))
                _ = try await user.succeed(HCIReadBDADDR())
            }
        }
    }

    @Suite struct AdvertisingStories {
        @Test func anAdvertisementIsHeardInTheFamilyOfTheScan() async throws {
            try await Fixture.run { fixture in
                let name: [UInt8] = [5, 9] + Array("seam".utf8)
                let user = try await fixture.openHCI(fixture.central)
                let family = try await user.scanFamily()
                try await user.startScan()
                try await fixture.advertise(name)
                let report = try #require(await user.report(from: fixture.peripheral.address, containing: name))
                #expect(report.isConnectable)
                #expect(report.layout == (family == .extended ? .extended : .legacy))
                // Discoverable: the kernel prepends the flags.
                #expect(report.data.prefix(2) == [2, 1])
                try await user.stopScan()
            }
        }

        // It succeeds according to the specification, but many controllers refuse it.
        @Test func switchingOffAScanThatIsOffHasNoEffect() async throws {
            try await Fixture.run { fixture in
                let user = try await fixture.openHCI(fixture.central)
                try await user.startScan()
                try await user.stopScan()
                let off =
                    try await user.scanFamily() == .extended
                    ? AnyHCICommand(LESetExtendedScanEnable(isEnabled: false))
                    : AnyHCICommand(LESetScanEnable(false))
                let answer = try await user.command(off)
                #expect([HCIStatus.success.rawValue, HCIStatus.commandDisallowed.rawValue].contains(answer.first))
                try await user.startScan()
                try await user.stopScan()
            }
        }

        @Test func anAdvertisingInstanceThatIsNotThereCannotBeRemoved() async throws {
            try await Fixture.run { fixture in
                let answer = try await fixture.management.command(
                    ManagementCommand.removeAdvertising.rawValue, fixture.peripheral.index, [1])
                #expect(answer.status == 0x0D)
                try await fixture.advertise()
                #expect(try await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [1]) == [1])
            }
        }
    }
}
