import BluetoothPrimitives
import Testing

extension Conformance {
    /// The questions of a pairing between two kernels, and the results of the answers.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct PairingStories {
        @Test func nothingCanBeSentUntilBothUsersHaveSaidYes() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.raise(fixture.central, to: .medium)
                #expect(await fixture.central.send([1]) == .failed(KernelError("send", .notConnected)))
                let asked = try #require(
                    await fixture.question(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central))
                // The peer, and a hint that there is no number to compare; a number follows nevertheless.
                #expect(Array(asked.prefix(8)) == fixture.adapters.peripheral.address.managementBytes + [1])
                #expect(asked.count == 12)
                #expect(await fixture.central.recordedEvents(limit: .seconds(1)) { $0.count > 1 } == nil)
                try await fixture.confirmBoth()
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(try await fixture.security(fixture.central) == LinkSecurity(level: .medium, keySize: 16))
                #expect(try await fixture.security(fixture.peripheral) == LinkSecurity(level: .medium, keySize: 16))
                #expect(await fixture.central.send([1]) == .sent)
                #expect(await fixture.peripheral.packets(1) == [[1]])
                #expect(await fixture.peripheral.send([2]) == .sent)
                #expect(await fixture.central.packets(1) == [[2]])
            }
        }

        @Test func thePeripheralCanAskForIt() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.raise(fixture.peripheral, to: .medium)
                try await fixture.confirmBoth()
                try #require(await fixture.peripheral.recordedEvents { $0.contains(.writable) } != nil)
                #expect(try await fixture.security(fixture.peripheral) == LinkSecurity(level: .medium, keySize: 16))
                #expect(await fixture.peripheral.send([2]) == .sent)
                #expect(await fixture.central.packets(1) == [[2]])
            }
        }

        @Test(.enabled(if: Fixture.canLimitKeySize), arguments: [true, false])
        func theKeyIsAsLongAsBothSidesSupport(_ isLimitedAtTheCentral: Bool) async throws {
            try await PairingFixture.run { fixture in
                let limited = isLimitedAtTheCentral ? fixture.adapters.central : fixture.adapters.peripheral
                try fixture.base.setMaximumKeySize(9, limited)
                try await fixture.pair()
                for end in [fixture.central, fixture.peripheral] {
                    #expect(try await fixture.security(end) == LinkSecurity(level: .medium, keySize: 9))
                }
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    // The size follows the hint, the address, the kind and the role. The key of an earlier story's link
                    // may be reported here as well.
                    let keys = await fixture.base.management.events(ManagementEvent.newLongTermKey, of: adapter) {
                        $0.contains { $0[10] == 9 }
                    }
                    #expect(keys != nil)
                }
            }
        }

        @Test(.enabled(if: Fixture.canLimitKeySize))
        func theHighestLevelNeedsTheLongestKey() async throws {
            try await PairingFixture.run(central: .displayYesNo, peripheral: .displayYesNo) { fixture in
                try fixture.base.setMaximumKeySize(15, fixture.adapters.peripheral)
                try await fixture.raise(fixture.central, to: .fips)
                #expect(await fixture.central.end() != nil)
                #expect(await fixture.base.management.event(0x0011, of: fixture.adapters.central) != nil)
            }
        }

        /// An adapter without Secure Simple Pairing, such as one without BR/EDR, makes none, although LE does not use it.
        @Test func ownOutOfBandDataDependOnTheController() async throws {
            try await Fixture.run { fixture in
                let information = try await fixture.management.succeed(
                    .readInformation, on: fixture.central)
                let hasSimplePairing = information[9] & 0x40 != 0
                let answer = try await fixture.management.command(0x003B, fixture.central.index, [6])
                #expect(answer.status == (hasSimplePairing ? 0 : 0x0C))
                #expect(try await fixture.management.command(0x003B, fixture.central.index, [7]).status == 0x0D)
            }
        }

        @Test func bothShowTheSameNumberToCompare() async throws {
            try await PairingFixture.run(central: .displayYesNo, peripheral: .displayYesNo) { fixture in
                try await fixture.raise(fixture.central, to: .high)
                var numbers: [[UInt8]] = []
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    let asked = try #require(
                        await fixture.question(ManagementEvent.userConfirmationRequest, of: adapter))
                    #expect(asked[7] == 0)
                    numbers.append(Array(asked.dropFirst(8)))
                }
                #expect(numbers[0] == numbers[1])
                try await fixture.confirmBoth()
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                // More than was requested: Secure Connections with authentication.
                #expect(try await fixture.security(fixture.central) == LinkSecurity(level: .fips, keySize: 16))
            }
        }

        @Test func aLinkKeepsTheCapabilitiesThatItBeganWith() async throws {
            try await PairingFixture.run { fixture in
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    _ = try await fixture.base.management.succeed(
                        .setIOCapability, on: adapter, [IOCapability.displayYesNo.rawValue])
                }
                try await fixture.raise(fixture.central, to: .medium)
                for adapter in [fixture.adapters.central, fixture.adapters.peripheral] {
                    let asked = try #require(
                        await fixture.question(ManagementEvent.userConfirmationRequest, of: adapter))
                    // There is no number to compare.
                    #expect(asked[7] == 1)
                }
                try await fixture.confirmBoth()
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(try await fixture.security(fixture.central) == LinkSecurity(level: .medium, keySize: 16))
            }
        }

        @Test(arguments: [true, false])
        func oneShowsAPasskeyAndTheOtherEntersIt(_ hasSecureConnections: Bool) async throws {
            try await PairingFixture.run(
                central: .keyboardOnly, peripheral: .displayOnly, secureConnections: hasSecureConnections
            ) { fixture in
                try await fixture.raise(fixture.central, to: .high)
                #expect(await fixture.question(ManagementEvent.userPasskeyRequest, of: fixture.adapters.central) != nil)
                let shown = try #require(
                    await fixture.question(ManagementEvent.passkeyNotify, of: fixture.adapters.peripheral))
                #expect(shown.count == 12)
                let passkey = Array(shown[7..<11])
                #expect(try await fixture.answer(.userPasskeyReply, on: fixture.adapters.central, passkey) == 0)
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
                #expect(
                    try await fixture.security(fixture.central)
                        == LinkSecurity(level: hasSecureConnections ? .fips : .high, keySize: 16))
            }
        }

        @Test func theCentralCanShowThePasskey() async throws {
            try await PairingFixture.run(central: .displayOnly, peripheral: .keyboardOnly) { fixture in
                try await fixture.raise(fixture.central, to: .high)
                #expect(
                    await fixture.question(ManagementEvent.userPasskeyRequest, of: fixture.adapters.peripheral) != nil)
                let shown = try #require(
                    await fixture.question(ManagementEvent.passkeyNotify, of: fixture.adapters.central))
                #expect(
                    try await fixture.answer(.userPasskeyReply, on: fixture.adapters.peripheral, Array(shown[7..<11]))
                        == 0)
                try #require(await fixture.central.recordedEvents { $0 == [.writable, .writable] } != nil)
            }
        }

        @Test func aWrongPasskeyFailsOnBothSidesAndEndsTheLink() async throws {
            try await PairingFixture.run(central: .keyboardOnly, peripheral: .displayOnly) { fixture in
                try await fixture.raise(fixture.central, to: .high)
                #expect(await fixture.question(ManagementEvent.userPasskeyRequest, of: fixture.adapters.central) != nil)
                // An earlier link may have reported its keys as this one began.
                let before = fixture.base.management.events(
                    ManagementEvent.newLongTermKey, of: fixture.adapters.central)
                let shown = try #require(
                    await fixture.question(ManagementEvent.passkeyNotify, of: fixture.adapters.peripheral))
                let wrong = [shown[7] ^ 1] + Array(shown[8..<11])
                #expect(try await fixture.answer(.userPasskeyReply, on: fixture.adapters.central, wrong) == 0)
                for (adapter, peer) in [
                    (fixture.adapters.central, fixture.adapters.peripheral),
                    (fixture.adapters.peripheral, fixture.adapters.central),
                ] {
                    let failed = await fixture.question(ManagementEvent.authenticationFailed, of: adapter)
                    #expect(failed == peer.address.managementBytes + [5])
                }
                #expect(await fixture.central.end() != nil)
                #expect(await fixture.peripheral.end() != nil)
                #expect(
                    fixture.base.management.events(ManagementEvent.newLongTermKey, of: fixture.adapters.central)
                        == before)
            }
        }

        @Test func whoSaysNoEndsTheLink() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.raise(fixture.central, to: .medium)
                #expect(
                    await fixture.question(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central) != nil
                )
                #expect(try await fixture.answer(.userConfirmationNegativeReply, on: fixture.adapters.central) == 0)
                let failed = await fixture.question(ManagementEvent.authenticationFailed, of: fixture.adapters.central)
                #expect(failed == fixture.adapters.peripheral.address.managementBytes + [5])
                expectEnd(await fixture.central.end(), KernelError("recv", .accessDenied))
                #expect(await fixture.question(ManagementEvent.deviceDisconnected, of: fixture.adapters.central) != nil)
            }
        }

        @Test func aPeerWhoSaysNoLeavesTheSocketStuckOnItsLink() async throws {
            try await PairingFixture.run { fixture in
                try await fixture.raise(fixture.central, to: .medium)
                #expect(
                    await fixture.question(ManagementEvent.userConfirmationRequest, of: fixture.adapters.peripheral)
                        != nil)
                #expect(try await fixture.answer(.userConfirmationNegativeReply, on: fixture.adapters.peripheral) == 0)
                #expect(
                    await fixture.question(ManagementEvent.authenticationFailed, of: fixture.adapters.central)
                        == fixture.adapters.peripheral.address.managementBytes + [5])
            }
        }

        /// The answers of a central's user, or of its settings, to a device that asks for security.
        enum RequestAnswer: CaseIterable {
            case isNotBondable, no, yes
        }

        /// Unlike a central's, a peripheral's kernel ends the link when what it has asked for is refused.
        @Test(arguments: RequestAnswer.allCases)
        func aPeripheralEndsTheLinkWhenItsSecurityRequestIsRefused(_ answer: RequestAnswer) async throws {
            try await PairingFixture.run { fixture in
                let (central, peripheral) = fixture.adapters
                if answer == .isNotBondable {
                    _ = try await fixture.base.management.succeed(.setBondable, on: central, [0])
                }
                // The kernel of a peripheral sends a Security Request for it.
                try await fixture.raise(fixture.peripheral, to: .medium)
                switch answer {
                case .isNotBondable: break
                case .no:
                    try #require(await fixture.question(ManagementEvent.userConfirmationRequest, of: central) != nil)
                    #expect(try await fixture.answer(.userConfirmationNegativeReply, on: central) == 0)
                case .yes:
                    try await fixture.confirmBoth()
                    for adapter in [central, peripheral] {
                        #expect(await fixture.question(ManagementEvent.newLongTermKey, of: adapter) != nil)
                    }
                    #expect(try await fixture.security(fixture.central).level == .medium)
                    #expect(await fixture.central.send([1]) == .sent)
                    #expect(await fixture.peripheral.packets(1) == [[1]])
                    return
                }
                let failed = await fixture.question(ManagementEvent.authenticationFailed, of: central)
                #expect(failed == peripheral.address.managementBytes + [5])
                expectEnd(await fixture.central.end(), KernelError("recv", .accessDenied))
                // By the controller's reason.
                expectEnd(
                    await fixture.peripheral.end(), KernelError("recv", .accessDenied),
                    KernelError("recv", .connectionAborted))
            }
        }

        @Test func anAnswerNobodyAskedForIsRefused() async throws {
            try await PairingFixture.run { fixture in
                #expect(try await fixture.answer(.userConfirmationReply, on: fixture.adapters.central) != 0)
                #expect(try await fixture.answer(.userPasskeyReply, on: fixture.adapters.central, [0, 0, 0, 0]) != 0)
                try await fixture.disconnect()
                // Not connected.
                #expect(try await fixture.answer(.userConfirmationReply, on: fixture.adapters.central) == 2)
            }
        }
    }
}
