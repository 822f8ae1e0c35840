import BluetoothDeviceFile
import BluetoothLE
import BluetoothSimulation
import LINBLESimulation
import TestSupport
import Testing

/// Docs/Guide/Simulation.md: its snippets, and whether it has every fault.
@Suite struct SimulationStories {
    private static let page = "Docs/Guide/Simulation.md"

    /// What of these types is no fault and no condition: queries, and the seam to the library.
    private static let others: Set<String> = [
        // SimulatedRadio and SimulatedKernel
        "init", "loop", "now", "run", "sleep", "close", "conditions", "statistics", "makeKernel", "radio",
        "adapters", "hostSource",
        "connectL2CAP", "control", "environment", "identityResolvingKeys", "linkHandles", "links", "listenL2CAP",
        "longTermKeys", "openHCI", "openManagement", "openMonitor", "port", "watchRadioSwitches",
        // The devices
        "address", "identityResolvingKey", "database", "handle", "subscribers", "value", "peer", "security",
        "peripheral",
        "received", "symptom", "cure",
    ]

    @Test func thePageHasEveryFault() throws {
        let text = try Pages.text(of: Self.page)
        let words = Set(text.matches(of: /[A-Za-z0-9]+/).map { String($0.0) })
        let types: Set = [
            "RadioConditions", "SimulatedRadio", "SimulatedKernel", "SimulatedController", "ControllerFault",
            "ControllerFault.Symptom", "ControllerFault.Cure", "SimulatedPeripheral", "SimulatedAdvertisement",
            "SimulatedGATTServer", "SimulatedGATTServer.ReadAnswer", "SimulatedGATTServer.WriteAnswer",
            "SimulatedSecurity", "SimulatedSecurity.Response", "SimulatedSecurity.User", "SimulatedLink",
            "SimulatedLinkHandler", "SimulatedLINBLE", "SimulatedLINBLE.Configuration",
        ]
        var seen: Set<String> = []
        for module in ["BluetoothSimulation", "LINBLESimulation"] {
            for line in try Pages.text(of: "Tests/PublicAPI/\(module).txt").split(separator: "\n") {
                guard let member = line.firstMatch(of: /^([A-Za-z.]+): .*?\b(?:func|var|let|case) ([A-Za-z0-9]+)/),
                    types.contains(String(member.1))
                else { continue }
                seen.insert(String(member.1))
                let name = String(member.2)
                #expect(words.contains(name) || Self.others.contains(name), "\(member.1).\(name) is not on the page")
            }
        }
        #expect(seen == types)
        let incidents = DescribedAdapter.Incident.allCases.map(\.rawValue)
        for word in incidents + DescribedAdapter.Cure.allCases.map(\.rawValue) {
            #expect(text.contains("`\(word)`"), "\(word) is not on the page")
        }
    }

    // MARK: Snippets

    /// Runs a snippet with a thermometer in range.
    private func withThermometer(
        _ story: @escaping @Sendable (Fixture, Adapter, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let server = try SimulatedGATTServer([
                GATTService(.healthThermometer) {
                    GATTCharacteristic(.temperatureType, properties: .read, value: .stored([2]))
                }
            ])
            try await story(fixture, adapter, SimulatedPeripheral(on: fixture.radio, gatt: server))
        }
    }

    @Test func aPairOutOfRange() async throws {
        try await withThermometer { fixture, adapter, thermometer in
            let connection = try await adapter.connect(to: thermometer.address)
            try await SimulationPage.theRadioBetweenThem(adapter, fixture.radio, thermometer)
            #expect(await connection.disconnected().disconnectReason == .supervisionTimeout)
            #expect(fixture.radio.conditions.packetLoss == 0.2)
            _ = try await adapter.connect(to: thermometer.address)
        }
    }

    @Test func aDeviceThatGoes() async throws {
        try await withThermometer { _, adapter, thermometer in
            let connection = try await adapter.connect(to: thermometer.address)
            try await SimulationPage.aDevice(thermometer)
            #expect(await connection.disconnected().disconnectReason == .supervisionTimeout)
            let options = ConnectionOptions(timeout: .seconds(5))
            #expect(
                await failureCode { _ = try await adapter.connect(to: thermometer.address, options: options) } != nil)
        }
    }

    @Test func malformedAdvertisements() async throws {
        try await withThermometer { _, adapter, thermometer in
            try await SimulationPage.whatItAdvertises(thermometer)
            let scan = ScanOptions(filter: .matching { $0.address == thermometer.address }, duplicates: .all)
            let found = try await adapter.devices(for: .seconds(2), options: scan)
            #expect(!found.isEmpty)
        }
    }

    @Test func attributesThatRefuse() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SimulationPage.itsAttributes(fixture.radio)
            let others = [fixture.sensor.address, fixture.linble.address]
            let connection = try await adapter.connect { $0.isConnectable && !others.contains($0.address ?? .zero) }
            #expect(
                await failureCode { _ = try await connection.read(.batteryLevel, in: .battery) } == .attributeProtocol)
            for try await value in try await connection.subscribe(to: .batteryLevel, in: .battery) {
                #expect(value == [96])
                break
            }
            #expect(await failureCode { try await connection.write([1], to: .batteryLevel, in: .battery) } == .timedOut)
        }
    }

    @Test func aUserWhoMistypes() async throws {
        try await withThermometer { _, adapter, thermometer in
            try await SimulationPage.pairing(thermometer)
            let agent = FixedPasskeyAgent(try #require(Passkey(123_456)))
            try await adapter.setPairingAgent(agent, ioCapability: .displayOnly)
            let connection = try await adapter.connect(to: thermometer.address)
            #expect(await failureCode { try await connection.pair(to: .high) } == .pairingFailed)
        }
    }

    @Test func aProtocolOfItsOwn() async throws {
        try await Fixture.withAdapter { fixture, _ in try await SimulationPage.aProtocolOfYourOwn(fixture.radio) }
    }

    @Test func aModuleWithASmallBuffer() async throws {
        try await Fixture.withAdapter { fixture, _ in
            try await SimulationPage.aUARTModule(fixture.radio)
            #expect(fixture.lines == ["0"])
        }
    }

    @Test func anAdapterThatFails() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SimulationPage.anAdapter(fixture.radio, fixture.kernel)
            try await fixture.settle { adapter.state == .absent }
            #expect(try fixture.kernel.adapters().count == 1)
        }
    }

    @Test func aMachineThatRefuses() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SimulationPage.theMachine(fixture.kernel)
            #expect(await failureCode { _ = try await adapter.devices(for: .seconds(1)) } == .notPermitted)
        }
    }
}
