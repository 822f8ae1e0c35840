import BluetoothSimulation
import Testing

@testable import BluetoothLE

/// Everything that a program has declared comes back by itself when its radio has failed, in virtual time.
@Suite struct ComingBackTests {
    @Test(
        arguments: [
            (ControllerFault(.hangs, until: .powerOff), .powerCycle),
            // Powering off fails, but takes the adapter down; what is down cannot be reset.
            (ControllerFault(.hangs, until: .reset), .restart), (ControllerFault(.hangs, until: .takingDown), .restart),
            (ControllerFault(.hangs, until: .unbinding), .rebind),
            // It forgets its scan, its advertising and its links.
            (nil, .restartScan),
        ] as [(ControllerFault?, RecoveryStep)])
    func everythingComesBack(_ fault: ControllerFault?, _ step: RecoveryStep) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            var listening = try await ListeningAdapter(fixture)
            let adapter = listening.adapter
            let kept = adapter.keepConnected(to: try fixture.makePeripheral().address)
            let set = try await adapter.advertise(AdvertisementContent(localName: "station"))
            let visitor = try await Adapter.open(on: fixture.radio.makeKernel())
            _ = try await kept.connected()

            if let fault {
                fixture.kernel.setFault(fault, adapter: 0)
            } else {
                fixture.kernel.forgetState(adapter: 0)
            }
            // A link on which nothing is sent does not show that it is gone.
            _ = try? await kept.connection?.discover(cached: false)
            #expect(try await listening.events.steps().helped == step)
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(try await listening.nextReport(fixture) != nil)
            #expect(try await kept.connection?.discover(cached: false) != nil)
            try await visitor.withConnection(to: adapter.information.address) { _ = try await $0.discover() }
            #expect(set.state == .advertising)
            for adapter in [adapter, visitor] { await adapter.close() }
        }
    }
}
