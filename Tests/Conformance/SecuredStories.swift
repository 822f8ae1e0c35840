import BluetoothHCI
import BluetoothPrimitives
import BluetoothSockets
import Testing

extension Conformance {
    /// Links that have a security level from the beginning (`BT_SECURITY` before `connect`).
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct SecuredStories {
        /// Exchange MTU requests, from either side.
        private static let request: [UInt8] = [2, 0x17, 0]

        /// A link of two adapters that have paired, encrypted by the central's kernel, whose peripheral sends at once.
        private static func run(
            lost: @escaping @Sendable (Fixture) -> KernelAdapter? = { _ in nil },
            _ story: @escaping @Sendable (PairingFixture, HCIUser) async throws -> Void
        ) async throws {
            try await PairingFixture.run { fixture in
                try await fixture.pair()
                try await fixture.disconnect()
                let base = fixture.base
                if let adapter = lost(base) { try await base.management.loadKeys([], on: adapter) }
                _ = try? await base.management.succeed(.removeAdvertising, on: base.peripheral, [1])
                let user = try await base.openHCI(base.central)
                let listening = try await base.listen(on: base.peripheral.address)
                try await base.advertise()
                let central = try await base.connect(
                    from: base.central.address, to: base.peripheral.address, options: L2CAPOptions(security: .medium))
                let accepted = try #require(await listening.first())
                let sent = await accepted.send(Self.request)
                // A peer without the key ends the link when it likes, also before this.
                if lost(base)?.index != base.peripheral.index { #expect(sent == .sent) }
                try await story(PairingFixture(base: base, central: central, peripheral: accepted), user)
            }
        }

        /// The channel is open at once, so that nothing is lost that arrives before the link is encrypted.
        @Test func theKeyEncryptsTheLinkWhileItsChannelStaysOpen() async throws {
            try await Self.run { fixture, user in
                let asked = fixture.base.management.events(
                    ManagementEvent.userConfirmationRequest, of: fixture.adapters.central)
                #expect(await fixture.central.packets(1) == [Self.request])
                #expect(await fixture.central.send(Self.request) == .sent)
                #expect(await fixture.peripheral.packets(1) == [Self.request])
                #expect(await user.isToldOfEncryption())
                // The socket has no event of its own, and the kernel knows a moment after the controller's report: then it
                // refuses to raise the security. If it was asked before, the socket is writable again at that moment.
                if (try? await fixture.raise(fixture.central, to: .medium)) != nil {
                    let isKnown = await fixture.central.recordedEvents { $0.count { $0 == .writable } == 2 }
                    try #require(isKnown != nil)
                }
                let security = try await fixture.security(fixture.central)
                #expect(security == LinkSecurity(level: .medium, keySize: 16))
                #expect(
                    fixture.base.management.events(
                        ManagementEvent.userConfirmationRequest, of: fixture.adapters.central) == asked)
            }
        }

        @Test func aPeerWithoutTheKeyLosesTheLink() async throws {
            try await Self.run(lost: { $0.peripheral }) { fixture, _ in
                let ended = await fixture.central.end()
                #expect([.accessDenied, .connectionAborted].contains(ended?.number), "\(ended as Any)")
                // Reason 4: authentication failure. The end of an earlier story's link may be reported here as well.
                let ends = await fixture.base.management.events(
                    ManagementEvent.deviceDisconnected, of: fixture.adapters.central
                ) { $0.contains { $0.last == 4 } }
                #expect(ends != nil)
            }
        }

        @Test func aCentralWithoutTheKeyPairs() async throws {
            try await Self.run(lost: { $0.central }) { fixture, _ in
                let asked = await fixture.base.management.events(
                    ManagementEvent.userConfirmationRequest, of: fixture.adapters.central, count: 2)
                #expect(asked != nil)
                let security = try await fixture.security(fixture.central)
                #expect(security.level == .low)
            }
        }
    }
}

extension HCIUser {
    /// Waits for the controller's report that a link is encrypted; false if there never is one.
    fileprivate func isToldOfEncryption() async -> Bool {
        await events.journal.wait(on: kernel.loop) { entries in
            entries.contains { entry in
                guard case .packet(let packet) = entry,
                    let event = try? HCIEventPacket(decoding: packet.span.bytes),
                    let change = try? event.as(HCIEncryptionChange.self)
                else { return false }
                return change.status.isSuccess && change.isEncrypted
            }
        } != nil
    }
}
