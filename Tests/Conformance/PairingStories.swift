import BluetoothKernel
import BluetoothPrimitives
import TestSupport
import Testing

extension Conformance {
    /// Who is asked what when two kernels pair, and what comes of the answers.
    @Suite struct PairingStories {
        @Test func nothingCanBeSentUntilBothUsersHaveSaidYes() async throws {
            try await PairingRig.run { rig in
                try await rig.raise(rig.central, to: .medium)
                #expect(await rig.central.send([1]) == .failed(KernelError("send", .notConnected)))
                let asked = try #require(
                    await rig.question(ManagementEvent.userConfirmationRequest, of: rig.adapters.central))
                // The peer, and a hint that there is nothing to compare; a number follows all the same.
                #expect(Array(asked.prefix(8)) == rig.adapters.peripheral.address.managementBytes + [1])
                #expect(asked.count == 12)
                #expect(await rig.central.told(limit: .seconds(1)) { $0.count > 1 } == nil)
                try await rig.confirmBoth()
                try #require(await rig.central.told { $0 == [.writable, .writable] } != nil)
                #expect(try await rig.security(rig.central) == LinkSecurity(level: .medium, keySize: 16))
                #expect(try await rig.security(rig.peripheral) == LinkSecurity(level: .medium, keySize: 16))
                #expect(await rig.central.send([1]) == .sent)
                #expect(await rig.peripheral.packets(1) == [[1]])
                #expect(await rig.peripheral.send([2]) == .sent)
                #expect(await rig.central.packets(1) == [[2]])
            }
        }

        @Test func thePeripheralCanAskForIt() async throws {
            try await PairingRig.run { rig in
                try await rig.raise(rig.peripheral, to: .medium)
                try await rig.confirmBoth()
                try #require(await rig.peripheral.told { $0.contains(.writable) } != nil)
                #expect(try await rig.security(rig.peripheral) == LinkSecurity(level: .medium, keySize: 16))
                #expect(await rig.peripheral.send([2]) == .sent)
                #expect(await rig.central.packets(1) == [[2]])
            }
        }

        @Test func bothShowTheSameNumberToCompare() async throws {
            try await PairingRig.run(central: .displayYesNo, peripheral: .displayYesNo) { rig in
                try await rig.raise(rig.central, to: .high)
                var numbers: [[UInt8]] = []
                for adapter in [rig.adapters.central, rig.adapters.peripheral] {
                    let asked = try #require(
                        await rig.question(ManagementEvent.userConfirmationRequest, of: adapter))
                    #expect(asked[7] == 0)
                    numbers.append(Array(asked.dropFirst(8)))
                }
                #expect(numbers[0] == numbers[1])
                try await rig.confirmBoth()
                try #require(await rig.central.told { $0 == [.writable, .writable] } != nil)
                // More than was asked for: Secure Connections with protection.
                #expect(try await rig.security(rig.central) == LinkSecurity(level: .fips, keySize: 16))
            }
        }

        @Test(arguments: [true, false])
        func oneShowsAPasskeyAndTheOtherEntersIt(_ hasSecureConnections: Bool) async throws {
            try await PairingRig.run(
                central: .keyboardOnly, peripheral: .displayOnly, secureConnections: hasSecureConnections
            ) { rig in
                try await rig.raise(rig.central, to: .high)
                #expect(await rig.question(ManagementEvent.userPasskeyRequest, of: rig.adapters.central) != nil)
                let shown = try #require(
                    await rig.question(ManagementEvent.passkeyNotify, of: rig.adapters.peripheral))
                #expect(shown.count == 12)
                let passkey = Array(shown[7..<11])
                #expect(try await rig.answer(.userPasskeyReply, on: rig.adapters.central, passkey) == 0)
                try #require(await rig.central.told { $0 == [.writable, .writable] } != nil)
                #expect(
                    try await rig.security(rig.central)
                        == LinkSecurity(level: hasSecureConnections ? .fips : .high, keySize: 16))
            }
        }

        @Test func theCentralCanShowThePasskey() async throws {
            try await PairingRig.run(central: .displayOnly, peripheral: .keyboardOnly) { rig in
                try await rig.raise(rig.central, to: .high)
                #expect(await rig.question(ManagementEvent.userPasskeyRequest, of: rig.adapters.peripheral) != nil)
                let shown = try #require(await rig.question(ManagementEvent.passkeyNotify, of: rig.adapters.central))
                #expect(
                    try await rig.answer(.userPasskeyReply, on: rig.adapters.peripheral, Array(shown[7..<11])) == 0)
                try #require(await rig.central.told { $0 == [.writable, .writable] } != nil)
            }
        }

        @Test func aWrongPasskeyFailsOnBothSidesAndEndsTheLink() async throws {
            try await PairingRig.run(central: .keyboardOnly, peripheral: .displayOnly) { rig in
                try await rig.raise(rig.central, to: .high)
                #expect(await rig.question(ManagementEvent.userPasskeyRequest, of: rig.adapters.central) != nil)
                // A link from before may have told of its keys as this one began.
                let before = rig.rig.management.events(ManagementEvent.newLongTermKey, of: rig.adapters.central)
                let shown = try #require(
                    await rig.question(ManagementEvent.passkeyNotify, of: rig.adapters.peripheral))
                let wrong = [shown[7] ^ 1] + Array(shown[8..<11])
                #expect(try await rig.answer(.userPasskeyReply, on: rig.adapters.central, wrong) == 0)
                for (adapter, peer) in [
                    (rig.adapters.central, rig.adapters.peripheral), (rig.adapters.peripheral, rig.adapters.central),
                ] {
                    let failed = await rig.question(ManagementEvent.authenticationFailed, of: adapter)
                    #expect(failed == peer.address.managementBytes + [5])
                }
                #expect(await rig.central.end() != nil)
                #expect(await rig.peripheral.end() != nil)
                #expect(
                    rig.rig.management.events(ManagementEvent.newLongTermKey, of: rig.adapters.central) == before)
            }
        }

        @Test func whoSaysNoEndsTheLink() async throws {
            try await PairingRig.run { rig in
                try await rig.raise(rig.central, to: .medium)
                #expect(await rig.question(ManagementEvent.userConfirmationRequest, of: rig.adapters.central) != nil)
                #expect(try await rig.answer(.userConfirmationNegativeReply, on: rig.adapters.central) == 0)
                let failed = await rig.question(ManagementEvent.authenticationFailed, of: rig.adapters.central)
                #expect(failed == rig.adapters.peripheral.address.managementBytes + [5])
                expectEnd(await rig.central.end(), KernelError("recv", .accessDenied))
                #expect(await rig.question(ManagementEvent.deviceDisconnected, of: rig.adapters.central) != nil)
            }
        }

        @Test func aPeerWhoSaysNoLeavesTheSocketStuckOnItsLink() async throws {
            try await PairingRig.run { rig in
                try await rig.raise(rig.central, to: .medium)
                #expect(
                    await rig.question(ManagementEvent.userConfirmationRequest, of: rig.adapters.peripheral) != nil)
                #expect(try await rig.answer(.userConfirmationNegativeReply, on: rig.adapters.peripheral) == 0)
                #expect(
                    await rig.question(ManagementEvent.authenticationFailed, of: rig.adapters.central)
                        == rig.adapters.peripheral.address.managementBytes + [5])
            }
        }

        @Test func anAnswerNobodyAskedForIsRefused() async throws {
            try await PairingRig.run { rig in
                #expect(try await rig.answer(.userConfirmationReply, on: rig.adapters.central) != 0)
                #expect(try await rig.answer(.userPasskeyReply, on: rig.adapters.central, [0, 0, 0, 0]) != 0)
                try await rig.disconnect()
                // Not connected.
                #expect(try await rig.answer(.userConfirmationReply, on: rig.adapters.central) == 2)
            }
        }
    }
}
