import BluetoothPrimitives
import Testing

extension Conformance {
    /// The keys of a pairing: reported, stored, loaded, lost.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct KeyStories {
        @Test func secureConnectionsMakeOneKeyForEachSide() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                let pairs = [
                    (fixture.adapters.central, fixture.adapters.peripheral),
                    (fixture.adapters.peripheral, fixture.adapters.central),
                ]
                for (adapter, peer) in pairs {
                    let keys = fixture.base.management.events(ManagementEvent.newLongTermKey, of: adapter)
                    let key = try #require(keys.first)
                    #expect(keys.count == 1 && key.count == 37)
                    // The store hint, the peer, and the type: Secure Connections, unauthenticated.
                    #expect(key.first == 1)
                    #expect(Array(key[1..<8]) == peer.address.managementBytes)
                    #expect(key[8] == 2)
                    #expect(key[10] == 16)
                    #expect(key[11..<21].allSatisfy { $0 == 0 })
                }
            }
        }

        @Test func legacyPairingMakesOneForEachRole() async throws {
            try await PairingFixture.run(secureConnections: false) { fixture in
                try await fixture.pair()
                let keys = try #require(
                    await fixture.base.management.events(
                        ManagementEvent.newLongTermKey, of: fixture.adapters.central, count: 2))
                #expect(keys.map { $0[9] }.sorted() == [0, 1])
            }
        }

        @Test(arguments: [true, false])
        func withoutBondingNoKeyIsToBeKept(_ hasSecureConnections: Bool) async throws {
            try await PairingFixture.run(secureConnections: hasSecureConnections, bondable: false) { fixture in
                try await fixture.raise(fixture.central, to: .medium)
                try await fixture.confirmBoth()
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(await fixture.central.send([1]) == .sent)
                #expect(await fixture.peripheral.packets(1) == [[1]])
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    // Secure Connections reports the key with the hint not to store it; legacy pairing sends none.
                    if hasSecureConnections { _ = await fixture.question(ManagementEvent.newLongTermKey, of: adapter) }
                    let keys = fixture.base.management.events(ManagementEvent.newLongTermKey, of: adapter)
                    #expect(keys.map(\.first) == (hasSecureConnections ? [0] : []))
                }
            }
        }

        @Test(arguments: [true, false])
        func keysGivenBackEncryptWithoutAQuestion(_ hasSecureConnections: Bool) async throws {
            try await PairingFixture.run(secureConnections: hasSecureConnections) { fixture in
                try await fixture.pair()
                try await fixture.disconnect()
                let management = fixture.base.management
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    let keys = management.events(ManagementEvent.newLongTermKey, of: adapter)
                    try await management.loadKeys(keys, on: adapter)
                }
                let asked = management.events(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central)
                let again = try await fixture.reconnected()
                try await again.raise(again.central, to: .medium)
                try #require(await again.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .medium, keySize: 16))
                #expect(
                    management.events(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central) == asked)
            }
        }

        @Test func aPeripheralsRequestIsAnsweredWithTheKeysGivenBack() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                try await fixture.disconnect()
                let again = try await fixture.reconnected()
                try await again.raise(again.peripheral, to: .medium)
                try #require(await again.peripheral.recordedEvents { $0.contains(.writable) } != nil)
                #expect(try await again.security(again.peripheral) == LinkSecurity(level: .medium, keySize: 16))
            }
        }

        /// The key is authenticated, whatever level it is used for.
        @Test func aCentralReportsTheLevelItAskedForAndAPeripheralThatOfTheKey() async throws {
            try await PairingFixture.run(central: .displayYesNo, peripheral: .displayYesNo) { fixture in
                try await fixture.pair()
                #expect(try await fixture.security(fixture.central) == LinkSecurity(level: .fips, keySize: 16))
                try await fixture.disconnect()
                let again = try await fixture.reconnected()
                try await again.raise(again.central, to: .medium)
                try #require(await again.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .medium, keySize: 16))
                #expect(try await again.security(again.peripheral) == LinkSecurity(level: .fips, keySize: 16))
                // It may ask for more.
                try await again.raise(again.central, to: .high)
                try #require(await again.central.recordedEvents { $0 == [.writable, .writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .high, keySize: 16))
            }
        }

        @Test func whoHasLostTheKeyPairsAgain() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                try await fixture.disconnect()
                try await fixture.base.management.loadKeys([], on: fixture.adapters.central)
                let again = try await fixture.reconnected()
                try await again.raise(again.central, to: .medium)
                try await again.confirmBoth(question: 2)
                try #require(await again.central.recordedEvents { $0 == [.writable, .writable] } != nil)
            }
        }

        @Test func aPeerThatHasLostTheKeyEndsTheLink() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                try await fixture.disconnect()
                try await fixture.base.management.loadKeys([], on: fixture.adapters.peripheral)
                let again = try await fixture.reconnected()
                let known = fixture.base.management.events(
                    ManagementEvent.deviceDisconnected, of: fixture.adapters.central)
                try await again.raise(again.central, to: .medium)
                // The controller's reason: the one it was given, or that the local host gave one.
                expectEnd(
                    await again.central.end(), KernelError("recv", .accessDenied),
                    KernelError("recv", .connectionAborted))
                let ends = await fixture.base.management.events(
                    ManagementEvent.deviceDisconnected, of: fixture.adapters.central, count: known.count + 1)
                // Reason 4: authentication failure.
                #expect(ends?.last?.last == 4)
            }
        }

        @Test func pairDeviceTellsWhenItIsDone() async throws {
            try await PairingFixture.run { fixture in
                let agent = try await ManagementUser(fixture.base.kernel)
                async let paired = fixture.pairDevice()
                for (adapter, peer) in [
                    (fixture.adapters.central, fixture.adapters.peripheral),
                    (fixture.adapters.peripheral, fixture.adapters.central),
                ] {
                    try #require(await agent.event(ManagementEvent.userConfirmationRequest, of: adapter) != nil)
                    _ = try await agent.succeed(.userConfirmationReply, on: adapter, peer.address.managementBytes)
                }
                #expect(try await paired.status == 0)
                #expect(try await fixture.security(fixture.central) == LinkSecurity(level: .medium, keySize: 16))
                // Already paired.
                let again = try await fixture.pairDevice()
                #expect(again.status == 0x13)
                await agent.close()
            }
        }

        @Test func aPairingIsCancelledWithItsLink() async throws {
            try await PairingFixture.run { fixture in
                let agent = try await ManagementUser(fixture.base.kernel)
                async let paired = fixture.pairDevice()
                try #require(
                    await agent.event(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central) != nil)
                _ = try await agent.succeed(
                    .cancelPairDevice, on: fixture.adapters.central, fixture.adapters.peripheral.address.managementBytes
                )
                // Cancelled.
                #expect(try await paired.status == 0x10)
                #expect(await fixture.central.end() != nil)
                await agent.close()
            }
        }

        @Test func unpairingForgetsTheKeyEndsTheLinkAndTellsTheOthers() async throws {
            try await PairingFixture.run { fixture in
                let other = try await ManagementUser(fixture.base.kernel)
                let peer = fixture.adapters.peripheral.address.managementBytes
                let management = fixture.base.management
                let before = try await management.command(
                    ManagementCommand.unpairDevice.rawValue, fixture.adapters.central.index, peer + [1])
                #expect(before.status == 6)
                try await fixture.pair()
                _ = try await management.succeed(.unpairDevice, on: fixture.adapters.central, peer + [1])
                #expect(await fixture.central.end() != nil)
                #expect(
                    await other.event(ManagementEvent.deviceUnpaired, of: fixture.adapters.central)?.payload == peer)
                #expect(!management.events.has(ManagementEvent.deviceUnpaired))
                await other.close()
            }
        }

        @Test func keysOutliveAPowerOff() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    _ = try await fixture.base.management.succeed(.setPowered, on: adapter, [0])
                    _ = try await fixture.base.management.succeed(.setPowered, on: adapter, [1])
                }
                let again = try await fixture.reconnected()
                try await again.raise(again.central, to: .medium)
                try #require(await again.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .medium, keySize: 16))
            }
        }

        @Test func privacyIsForAnAdapterThatIsOff() async throws {
            try await Fixture.run { fixture in
                let key = [UInt8](repeating: 7, count: 16)
                let powered = try await fixture.management.command(
                    ManagementCommand.setPrivacy.rawValue, fixture.central.index, [1] + key)
                #expect(powered.status == 0x0B)
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                _ = try await fixture.management.succeed(.setPrivacy, on: fixture.central, [1] + key)
                _ = try await fixture.management.succeed(.setPrivacy, on: fixture.central, [0] + key)
            }
        }
    }
}

extension PairingFixture {
    /// The same two adapters with a new link.
    fileprivate func reconnected() async throws -> PairingFixture {
        _ = try? await base.management.succeed(.removeAdvertising, on: adapters.peripheral, [1])
        let ends = try await base.link()
        return PairingFixture(base: base, central: ends.central, peripheral: ends.peripheral)
    }
}
