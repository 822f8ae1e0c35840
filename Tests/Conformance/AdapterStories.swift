import BluetoothPrimitives
import Testing

extension Conformance {
    @Suite struct AdapterStories {
        @Test func adaptersAreListedLowestIndexFirst() async throws {
            try await Fixture.run { fixture in
                let adapters = try fixture.kernel.adapters()
                #expect(adapters.map(\.index) == adapters.map(\.index).sorted())
                #expect(adapters.prefix(2).allSatisfy { $0.isUp })
                #expect(Set(adapters.map(\.address)).count == adapters.count)
                #expect(adapters.prefix(2).allSatisfy { !$0.address.isZero && $0.address.kind == .public })
            }
        }

        @Test func anAdapterThatIsPoweredOffIsListedAsDown() async throws {
            try await Fixture.run { fixture in
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                let adapters = try fixture.kernel.adapters()
                #expect(adapters.first { $0.index == fixture.central.index }?.isUp == false)
                #expect(adapters.first { $0.index == fixture.peripheral.index }?.isUp == true)
            }
        }

        @Test func theEnvironmentHasSocketsAndPrivileges() async throws {
            try await Fixture.run { fixture in
                let environment = fixture.kernel.environment()
                #expect(environment.socketError == nil)
                #expect(environment.hasNetRaw)
                #expect(environment.hasNetAdmin)
                #expect(!environment.kernelRelease.isEmpty)
            }
        }
    }

    @Suite struct ManagementStories {
        @Test func theIndexListNamesTheAdapters() async throws {
            try await Fixture.run { fixture in
                let list = try await fixture.management.succeed(.readIndexList)
                var reader = ByteReader(list.span.bytes)
                var indexes: Set<UInt16> = []
                for _ in 0..<(try reader.readUInt16()) { indexes.insert(try reader.readUInt16()) }
                let isAtEnd = reader.isAtEnd
                #expect(isAtEnd)
                #expect(indexes == Set(try fixture.kernel.adapters().map(\.index)))
            }
        }

        @Test func theInformationHasAddressAndSettings() async throws {
            try await Fixture.run { fixture in
                for adapter in fixture.adapters {
                    let information = try await fixture.management.succeed(.readInformation, on: adapter)
                    // Address, version, manufacturer, settings twice, class, two names: 280 bytes.
                    #expect(information.count == 280)
                    var reader = ByteReader(information.span.bytes)
                    let address = try reader.readAddress(.public)
                    #expect(address == adapter.address)
                    try reader.skip(3 + 4)
                    let current = ManagementSettings(rawValue: try reader.readUInt32())
                    #expect(current.isSuperset(of: [.powered, .le]))
                }
            }
        }

        @Test func settingWhatIsSetSucceeds() async throws {
            try await Fixture.run { fixture in
                let le = try ManagementSettings(await fixture.management.succeed(.setLE, on: fixture.central, [1]))
                #expect(le.contains(.le))
                let powered = try ManagementSettings(
                    await fixture.management.succeed(.setPowered, on: fixture.central, [1]))
                #expect(powered.contains(.powered))
            }
        }

        @Test func thePHYsOfTheControllerCanBeSelectedAndLE1MAlwaysIs() async throws {
            try await Fixture.run { fixture in
                let management = fixture.management
                @Sendable func phys() async throws -> (supported: UInt32, selected: UInt32) {
                    let reply = try await management.succeed(.getPHYConfiguration, on: fixture.central)
                    var reader = ByteReader(reply.span.bytes)
                    let supported = try reader.readUInt32()
                    let configurable = try reader.readUInt32()
                    #expect(configurable == supported & ~Self.mandatoryPHYs)
                    return (supported, try reader.readUInt32())
                }
                @Sendable func select(_ phys: UInt32) async throws -> UInt8 {
                    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: phys >> ($0 * 8)) }
                    return try await management.command(
                        ManagementCommand.setPHYConfiguration.rawValue, fixture.central.index, bytes
                    ).status
                }
                let (supported, first) = try await phys()
                let least = supported & Self.mandatoryPHYs
                #expect(supported & 0x0600 == 0x0600 && first & ~supported == 0 && first & least == least)
                for wrong in [supported & ~0x0200, supported & ~0x0400, supported | 0x8000] {
                    #expect(try await select(wrong) == 0x0D)
                }
                #expect(try await phys().selected == first)
                // Some controllers have LE 1M alone.
                guard first != least else { return }
                #expect(try await select(least) == 0)
                #expect(try await phys().selected == least)
                _ = try await management.succeed(.setPowered, on: fixture.central, [0])
                // Only what is selected anyway.
                #expect(try await select(least) == 0)
                #expect(try await select(first) == 0x0B)
                #expect(try await phys().selected == least)
                _ = try await management.succeed(.setPowered, on: fixture.central, [1])
                #expect(try await phys().selected == first)
            }
        }

        /// BR 1M with one slot, and LE 1M in both directions.
        private static let mandatoryPHYs: UInt32 = 0x0601

        @Test func newSettingsAreToldToOthers() async throws {
            try await Fixture.run { fixture in
                let other = try await ManagementUser(fixture.kernel)
                let off = try ManagementSettings(
                    await fixture.management.succeed(.setPowered, on: fixture.central, [0]))
                #expect(!off.contains(.powered))
                let event = try #require(await other.event(ManagementEvent.newSettings, of: fixture.central))
                #expect(try !ManagementSettings(event.payload).contains(.powered))
                // The sender of the command has the reply instead.
                let own = fixture.management.events.packets.compactMap(ManagementEvent.init).filter {
                    $0.code == ManagementEvent.newSettings && $0.payload == event.payload
                }
                #expect(own.isEmpty)
                await other.close()
            }
        }

        @Test(
            arguments: [
                (0x0FFF, 0xFFFF, [], 0x01),  // Unknown Command
                (0x0005, 0x0FFF, [1], 0x11),  // Invalid Index
                (0x0005, 0, [1, 2], 0x0D),  // Invalid Parameters
                (0x0005, 0, [2], 0x0D),
            ] as [(UInt16, UInt16, [UInt8], UInt8)])
        func whatMakesNoSenseIsAnsweredWithAStatus(
            opcode: UInt16, index: UInt16, parameters: [UInt8], status: UInt8
        ) async throws {
            try await Fixture.run { fixture in
                let index = index == 0 ? fixture.central.index : index
                let answer = try await fixture.management.command(opcode, index, parameters)
                #expect(answer.status == status)
            }
        }

        @Test(
            arguments: [[], [3, 0, 0xFF, 0xFF, 0], [3, 0, 0xFF, 0xFF, 1, 0], [3, 0, 0xFF, 0xFF, 0, 0, 0]] as [[UInt8]])
        func aPacketWithTheWrongLengthIsRefused(packet: [UInt8]) async throws {
            try await Fixture.run { fixture in
                let outcome = await fixture.kernel.onLoop { fixture.management.socket.send(packet) }
                #expect(outcome == .failed(KernelError("send", .invalidArgument)))
                // The socket remains usable.
                _ = try await fixture.management.succeed(.readIndexList)
            }
        }
    }
}
