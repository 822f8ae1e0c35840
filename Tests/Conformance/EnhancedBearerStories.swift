import BluetoothPrimitives
import Testing

extension Conformance {
    /// The channels of enhanced attribute bearers: PSM 0x0027, in the enhanced credit based mode, on encrypted links.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct EnhancedBearerStories {
        private static let channel = L2CAPChannel.dynamic(psm: 0x0027)
        private static let options = L2CAPOptions(
            security: .medium, receiveMTU: 517, flowControl: .enhancedCreditBased)

        @Test func severalOpenOnALinkThatIsProtected() async throws {
            try await PairingFixture.run { fixture in
                let listening = try await fixture.base.listen(
                    on: fixture.adapters.peripheral.address, channel: Self.channel, options: Self.options)
                try await fixture.pair()
                for count in 1...3 {
                    let central = try await fixture.base.connect(
                        from: fixture.adapters.central.address, to: fixture.adapters.peripheral.address,
                        channel: Self.channel, options: Self.options)
                    try #require(await central.recordedEvents { $0 == [.writable] } != nil)
                    let accepted = await listening.accepted.wait(on: fixture.base.kernel.loop) { $0.count == count }
                    let peripheral = try #require(accepted?.last)
                    #expect(peripheral.socket.peer == fixture.adapters.central.address)
                    #expect(try await fixture.security(peripheral).level >= .medium)
                    try await fixture.base.kernel.onLoop {
                        let units = try peripheral.socket.maximumTransmissionUnits()
                        #expect(units == (receive: 517, send: 517))
                    }
                    #expect(await central.send([UInt8](repeating: 1, count: 517)) == .sent)
                    #expect(await peripheral.packets(1)?.first?.count == 517)
                    #expect(await peripheral.send([2]) == .sent)
                    #expect(await central.packets(1) == [[2]])
                }
                // The attribute channel remains usable beside them.
                #expect(await fixture.central.send([3]) == .sent)
                #expect(await fixture.peripheral.packets(1) == [[3]])
            }
        }

        @Test func openingOneHasALinkWithoutKeysPaired() async throws {
            try await PairingFixture.run { fixture in
                let listening = try await fixture.base.listen(
                    on: fixture.adapters.peripheral.address, channel: Self.channel, options: Self.options)
                let central = try await fixture.base.connect(
                    from: fixture.adapters.central.address, to: fixture.adapters.peripheral.address,
                    channel: Self.channel, options: Self.options)
                #expect(
                    await fixture.question(ManagementEvent.userConfirmationRequest, of: fixture.adapters.central) != nil
                )
                #expect(
                    await listening.accepted.wait(on: fixture.base.kernel.loop, limit: .seconds(1)) { !$0.isEmpty }
                        == nil)
                try await fixture.confirmBoth()
                try #require(await central.recordedEvents { $0 == [.writable] } != nil)
                let peripheral = try #require(await listening.first())
                #expect(try await fixture.security(peripheral).level >= .medium)
            }
        }
    }
}
