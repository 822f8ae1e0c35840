import BluetoothKernel
import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    /// The keys that a pairing makes: told, kept, given back, lost.
    @Suite struct KeyStories {
        @Test func secureConnectionsMakeOneKeyForEachSide() async throws {
            try await PairingRig.run { rig in
                try await rig.pair()
                let pairs = [
                    (rig.adapters.central, rig.adapters.peripheral), (rig.adapters.peripheral, rig.adapters.central),
                ]
                for (adapter, peer) in pairs {
                    let keys = rig.rig.management.events(ManagementEvent.newLongTermKey, of: adapter)
                    let key = try #require(keys.first)
                    #expect(keys.count == 1 && key.count == 37)
                    // To be kept, the peer, by Secure Connections without protection.
                    #expect(key.first == 1)
                    #expect(Array(key[1..<8]) == peer.address.managementBytes)
                    #expect(key[8] == 2)
                    #expect(key[10] == 16)
                    #expect(key[11..<21].allSatisfy { $0 == 0 })
                }
            }
        }

        @Test func legacyPairingMakesOneForEachRole() async throws {
            try await PairingRig.run(secureConnections: false) { rig in
                try await rig.pair()
                let keys = try #require(
                    await rig.rig.management.events(
                        ManagementEvent.newLongTermKey, of: rig.adapters.central, count: 2))
                #expect(keys.map { $0[9] }.sorted() == [0, 1])
            }
        }

        @Test(arguments: [true, false])
        func withoutBondingNoKeyIsToBeKept(_ hasSecureConnections: Bool) async throws {
            try await PairingRig.run(secureConnections: hasSecureConnections, bondable: false) { rig in
                try await rig.raise(rig.central, to: .medium)
                try await rig.confirmBoth()
                try #require(await rig.central.told { $0 == [.writable, .writable] } != nil)
                #expect(await rig.central.send([1]) == .sent)
                #expect(await rig.peripheral.packets(1) == [[1]])
                for adapter in [rig.adapters.central, rig.adapters.peripheral] {
                    let keys = rig.rig.management.events(ManagementEvent.newLongTermKey, of: adapter)
                    // Secure Connections tell of the key with the hint not to keep it; legacy pairing sends none.
                    #expect(keys.map(\.first) == (hasSecureConnections ? [0] : []))
                }
            }
        }

        @Test(arguments: [true, false])
        func keysGivenBackEncryptWithoutAQuestion(_ hasSecureConnections: Bool) async throws {
            try await PairingRig.run(secureConnections: hasSecureConnections) { rig in
                try await rig.pair()
                try await rig.disconnect()
                let management = rig.rig.management
                for adapter in [rig.adapters.central, rig.adapters.peripheral] {
                    let keys = management.events(ManagementEvent.newLongTermKey, of: adapter)
                    try await management.loadKeys(keys, on: adapter)
                }
                let asked = management.events(ManagementEvent.userConfirmationRequest, of: rig.adapters.central)
                let again = try await rig.reconnected()
                try await again.raise(again.central, to: .medium)
                try #require(await again.central.told { $0 == [.writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .medium, keySize: 16))
                #expect(
                    management.events(ManagementEvent.userConfirmationRequest, of: rig.adapters.central) == asked)
            }
        }

        @Test func aPeripheralsRequestIsAnsweredWithTheKeysGivenBack() async throws {
            try await PairingRig.run { rig in
                try await rig.pair()
                try await rig.disconnect()
                let again = try await rig.reconnected()
                try await again.raise(again.peripheral, to: .medium)
                try #require(await again.peripheral.told { $0.contains(.writable) } != nil)
                #expect(try await again.security(again.peripheral) == LinkSecurity(level: .medium, keySize: 16))
            }
        }

        @Test func whoHasLostTheKeyPairsAgain() async throws {
            try await PairingRig.run { rig in
                try await rig.pair()
                try await rig.disconnect()
                try await rig.rig.management.loadKeys([], on: rig.adapters.central)
                let again = try await rig.reconnected()
                try await again.raise(again.central, to: .medium)
                try await again.confirmBoth(question: 2)
                try #require(await again.central.told { $0 == [.writable, .writable] } != nil)
            }
        }

        @Test func aPeerThatHasLostTheKeyEndsTheLink() async throws {
            try await PairingRig.run { rig in
                try await rig.pair()
                try await rig.disconnect()
                try await rig.rig.management.loadKeys([], on: rig.adapters.peripheral)
                let again = try await rig.reconnected()
                let known = rig.rig.management.events(ManagementEvent.deviceDisconnected, of: rig.adapters.central)
                try await again.raise(again.central, to: .medium)
                // What the controller gives as the reason: the one it was told, or that it was told so.
                expectEnd(
                    await again.central.end(), KernelError("recv", .accessDenied),
                    KernelError("recv", .connectionAborted))
                let ends = await rig.rig.management.events(
                    ManagementEvent.deviceDisconnected, of: rig.adapters.central, count: known.count + 1)
                // Reason 4: authentication failure.
                #expect(ends?.last?.last == 4)
            }
        }

        @Test func pairDeviceTellsWhenItIsDone() async throws {
            try await PairingRig.run { rig in
                let management = rig.rig.management
                let agent = try await ManagementUser(rig.rig.kernel)
                async let paired = management.command(
                    ManagementCommand.pairDevice.rawValue, rig.adapters.central.index,
                    rig.adapters.peripheral.address.managementBytes + [IOCapability.noInputNoOutput.rawValue])
                for (adapter, peer) in [
                    (rig.adapters.central, rig.adapters.peripheral), (rig.adapters.peripheral, rig.adapters.central),
                ] {
                    try #require(await agent.event(ManagementEvent.userConfirmationRequest, of: adapter) != nil)
                    _ = try await agent.succeed(.userConfirmationReply, on: adapter, peer.address.managementBytes)
                }
                #expect(try await paired.status == 0)
                #expect(try await rig.security(rig.central) == LinkSecurity(level: .medium, keySize: 16))
                // Already paired.
                let again = try await management.command(
                    ManagementCommand.pairDevice.rawValue, rig.adapters.central.index,
                    rig.adapters.peripheral.address.managementBytes + [IOCapability.noInputNoOutput.rawValue])
                #expect(again.status == 0x13)
                await agent.close()
            }
        }

        @Test func aPairingIsCancelledWithItsLink() async throws {
            try await PairingRig.run { rig in
                let management = rig.rig.management
                let agent = try await ManagementUser(rig.rig.kernel)
                async let paired = management.command(
                    ManagementCommand.pairDevice.rawValue, rig.adapters.central.index,
                    rig.adapters.peripheral.address.managementBytes + [IOCapability.noInputNoOutput.rawValue])
                try #require(
                    await agent.event(ManagementEvent.userConfirmationRequest, of: rig.adapters.central) != nil)
                _ = try await agent.succeed(
                    .cancelPairDevice, on: rig.adapters.central, rig.adapters.peripheral.address.managementBytes)
                // Cancelled.
                #expect(try await paired.status == 0x10)
                #expect(await rig.central.end() != nil)
                await agent.close()
            }
        }

        @Test func unpairingForgetsTheKeyEndsTheLinkAndTellsTheOthers() async throws {
            try await PairingRig.run { rig in
                let other = try await ManagementUser(rig.rig.kernel)
                let peer = rig.adapters.peripheral.address.managementBytes
                let management = rig.rig.management
                let before = try await management.command(
                    ManagementCommand.unpairDevice.rawValue, rig.adapters.central.index, peer + [1])
                #expect(before.status == 6)
                try await rig.pair()
                _ = try await management.succeed(.unpairDevice, on: rig.adapters.central, peer + [1])
                #expect(await rig.central.end() != nil)
                #expect(
                    await other.event(ManagementEvent.deviceUnpaired, of: rig.adapters.central)?.payload == peer)
                #expect(!management.events.has(ManagementEvent.deviceUnpaired))
                await other.close()
            }
        }

        @Test func keysOutliveAPowerOff() async throws {
            try await PairingRig.run { rig in
                try await rig.pair()
                for adapter in [rig.adapters.central, rig.adapters.peripheral] {
                    _ = try await rig.rig.management.succeed(.setPowered, on: adapter, [0])
                    _ = try await rig.rig.management.succeed(.setPowered, on: adapter, [1])
                }
                let again = try await rig.reconnected()
                try await again.raise(again.central, to: .medium)
                try #require(await again.central.told { $0 == [.writable, .writable] } != nil)
                #expect(try await again.security(again.central) == LinkSecurity(level: .medium, keySize: 16))
            }
        }

        @Test func privacyIsForAnAdapterThatIsOff() async throws {
            try await Rig.run { rig in
                let key = [UInt8](repeating: 7, count: 16)
                let powered = try await rig.management.command(
                    ManagementCommand.setPrivacy.rawValue, rig.central.index, [1] + key)
                #expect(powered.status == 0x0B)
                _ = try await rig.management.succeed(.setPowered, on: rig.central, [0])
                _ = try await rig.management.succeed(.setPrivacy, on: rig.central, [1] + key)
                _ = try await rig.management.succeed(.setPrivacy, on: rig.central, [0] + key)
            }
        }
    }
}

extension PairingRig {
    /// The same two adapters with a new link.
    fileprivate func reconnected() async throws -> PairingRig {
        _ = try? await rig.management.succeed(.removeAdvertising, on: adapters.peripheral, [1])
        let ends = try await rig.link()
        return PairingRig(rig: rig, central: ends.central, peripheral: ends.peripheral)
    }
}
