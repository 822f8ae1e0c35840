import BluetoothLoop
import Testing

@testable import BluetoothSimulation

/// Weak references to a link and its sides.
private struct WeakLink: @unchecked Sendable {
    weak let link: SimulatedConnection?
    weak let central: LinkSide?
    weak let peripheral: LinkSide?

    init(_ link: SimulatedConnection) {
        (self.link, central, peripheral) = (link, link.central, link.peripheral)
    }

    var isFreed: Bool { link == nil && central == nil && peripheral == nil }
}

/// A running simulation frees the objects it no longer needs.
struct FreedTests {
    enum Ending: CaseIterable {
        case centralDisconnects, peripheralDisconnects, breaks, goesOutOfRange, peripheralVanishes, pairingIsCutShort
    }

    @Test(arguments: Ending.allCases) func endedLinksAreFreed(_ ending: Ending) async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let own = try #require(try kernel.adapters().first?.address)
        let links = try await radio.run {
            var links: [WeakLink] = []
            for _ in 0..<50 {
                let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
                let channel = try await kernel.link(to: peripheral.address)
                channel.send([1])
                _ = await channel.nextPacket()
                links += radio.withWorld { $0.links.map { WeakLink($0) } }
                switch ending {
                case .centralDisconnects: channel.socket.close()
                case .peripheralDisconnects: peripheral.disconnect()
                case .breaks: radio.breakLink(own, peripheral.address)
                case .goesOutOfRange: peripheral.setHidden(true)
                case .peripheralVanishes: peripheral.remove()
                case .pairingIsCutShort:
                    try channel.l2cap?.raiseSecurity(to: .medium)
                    try await radio.sleep(for: .milliseconds(100))
                    peripheral.disconnect()
                }
                // The link outlives its last socket by two seconds, and its other side by the supervision timeout.
                try await radio.sleep(for: .seconds(5))
                channel.socket.close()
                peripheral.remove()
            }
            try await radio.sleep(for: .seconds(60))
            return links
        }
        #expect(links.count == 50)
        #expect(links.count { !$0.isFreed } == 0)
        radio.withWorld { world in
            #expect(world.links.isEmpty)
            #expect(world.peripherals.ends.isEmpty)
            #expect(world.sockets.isEmpty)
        }
    }

    @Test func aTimerMayHoldTheLastReferenceToItsRadio() {
        func makeTimer() -> LoopTimer {
            let radio = SimulatedRadio()
            return radio.loop.makeTimer { withExtendedLifetime(radio) {} }
        }
        for _ in 0..<3 { _ = makeTimer() }
    }
}
