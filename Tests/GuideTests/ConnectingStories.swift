import BluetoothLE
import BluetoothHCI
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Connecting.md
@Suite struct ConnectingStories {
    @Test func toADevice() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.toADevice(adapter, fixture.sensor.address)
            #expect(fixture.lines == ["517"])
            // The kernel disconnects within two seconds.
            try await fixture.radio.sleep(for: .seconds(2.1))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func aDeviceThatIsNotThere() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.sensor.peripheral.setHidden(true)
            let time = await fixture.duration {
                #expect(
                    await failureCode { try await ConnectingPage.toADevice(adapter, fixture.sensor.address) }
                        == .timedOut)
            }
            #expect(time == .seconds(30))
            let connecting = fixture.begin { try await ConnectingPage.toADevice(adapter, fixture.sensor.address) }
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(await connecting.ended() == .cancelled)
        }
    }

    @Test func waitingUntilItComes() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.sensor.peripheral.setHidden(true)
            let connecting = fixture.begin { try await ConnectingPage.toADevice2(adapter, fixture.sensor.address) }
            try await fixture.radio.sleep(for: .seconds(300))
            #expect(fixture.lines.isEmpty)
            fixture.sensor.peripheral.setHidden(false)
            try await connecting.value
            #expect(fixture.lines == ["in range: \(fixture.sensor.address)"])
        }
    }

    @Test func byWhatWasHeard() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.toADevice3(adapter)
            #expect(fixture.lines.count == 2)
            #expect([fixture.sensor.address, fixture.linble.address].map { "\($0)" }.contains(fixture.lines.first))
            #expect(fixture.lines.last == "\(fixture.linble.address)")
        }
    }

    @Test func forTheLengthOfAClosure() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.toADevice4(adapter, fixture.sensor.address)
            let uuids: [BluetoothUUID] = [0x1800, 0x1801, 0xFFE0, 0x180D, 0x180F, 0x1812, 0x181A, 0xFFF0]
            #expect(fixture.lines == ["\(uuids)"])
            try await fixture.radio.sleep(for: .seconds(2.1))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func severalPartsOfAProgram() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.severalPartsOfAProgramOneDevice(adapter, fixture.sensor.address)
            #expect(fixture.lines == ["true"])
        }
    }

    // MARK: The end

    @Test func whyALinkEnded() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.whyALinkEnded(adapter, fixture.sensor.address)
            #expect(fixture.lines == ["we did"])
        }
    }

    @Test func everyCallThrowsTheSameReason() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let kept = fixture.begin { try await AttributesPage.subscribe(connection) }
            let reading = fixture.begin { _ = try await connection.read(AttributeHandle(3)) }
            fixture.sensor.peripheral.breakLinks()
            #expect(await connection.disconnected().disconnectReason == .supervisionTimeout)
            #expect(await failureCode { try await kept.value } == .disconnected)
            #expect(await failureCode { try await reading.value } == .disconnected)
        }
    }

    // MARK: The link

    @Test func theLinkItself() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.theLinkItself(adapter, fixture.sensor.address)
            #expect(fixture.lines.count == 4)
            #expect(fixture.lines.first.flatMap { Int($0) }.map { (-60...(-50)).contains($0) } == true)
            #expect(fixture.lines.dropFirst().first?.contains("interval") == true)
            let interval = fixture.lines.dropFirst(2).first ?? ""
            #expect(["\(Duration.milliseconds(7.5))", "\(Duration.milliseconds(15))"].contains(interval))
            #expect(fixture.lines.last == "transmit LE 2M, receive LE 2M")
        }
    }

    @Test func withoutPrivilegesOnlyTheRSSIIsKnown() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.hasNetRaw = false
            #expect(
                await failureCode { try await ConnectingPage.theLinkItself(adapter, fixture.sensor.address) }
                    == .notPermitted)
            #expect(fixture.lines.count == 2)
            #expect(fixture.lines.last == "nil")
        }
    }

    @Test func itsChanges() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let following = fixture.begin { try await ConnectingPage.theLinkItself2(adapter, fixture.sensor.address) }
            try await fixture.settle { !fixture.sensor.peripheral.links.isEmpty }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.sensor.peripheral.requestConnectionParameters(
                LEConnectionParameters(
                    intervalMinimum: 80, intervalMaximum: 80, latency: 0, supervisionTimeout: 400))
            try await following.value
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.contains("100 ms") == true, "\(fixture.lines)")
        }
    }

    @Test func theEndOfTheLinkEndsItsChanges() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let following = fixture.begin { try await ConnectingPage.theLinkItself2(adapter, fixture.sensor.address) }
            try await fixture.settle { !fixture.sensor.peripheral.links.isEmpty }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.sensor.peripheral.disconnect()
            #expect(await failureCode { try await following.value } == .disconnected)
        }
    }

    @Test func itsPolicy() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.theLinkItself3(adapter, fixture.sensor.address)
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func settingsFromTheFirstPacket() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ConnectingPage.settingsFromTheFirstPacket(adapter, fixture.sensor.address)
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.contains("interval 15 ms") == true, "\(fixture.lines)")
        }
    }

    @Test func longRange() async throws {
        try await Fixture.withAdapter([SimulatedController(hasCoded: true)]) { fixture, adapter in
            for peripheral in [fixture.sensor.peripheral, fixture.linble.peripheral] { peripheral.setHidden(true) }
            let far = SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    SimulatedAdvertisement(
                        data: [2, 0x01, 6], isScannable: false, isLegacy: false, primaryPHY: .leCoded,
                        secondaryPHY: .leCoded)
                ], gatt: try SimulatedGATTServer([]))
            try await ConnectingPage.longRange(adapter)
            #expect(fixture.lines == ["\(LinkPHYs(transmit: .leCoded, receive: .leCoded))"])
            withExtendedLifetime(far) {}
        }
    }

    // MARK: Kept connected

    @Test func keepingADeviceConnected() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.sensor.peripheral.setHidden(true)
            let keeping = fixture.begin {
                try await ConnectingPage.keepingADeviceConnected(adapter, fixture.sensor.address)
            }
            try await fixture.radio.sleep(for: .seconds(200))
            #expect(fixture.lines.isEmpty)
            fixture.sensor.peripheral.setHidden(false)
            try await keeping.value
            #expect(fixture.lines == ["up: 517"])
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func closingTheAdapterEndsIt() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.sensor.peripheral.setHidden(true)
            let keeping = fixture.begin {
                try await ConnectingPage.keepingADeviceConnected(adapter, fixture.sensor.address)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            await adapter.close()
            #expect(await failureCode { try await keeping.value } == .cancelled)
        }
    }

    @Test func subscriptionsThatOutliveLinks() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let keeping = fixture.begin {
                try await ConnectingPage.keepingADeviceConnected2(adapter, fixture.sensor.address)
            }
            try await fixture.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, fixture)
            try await keeping.value
            #expect(fixture.lines == ["[0, 72]"])
        }
    }

    @Test func aStreamAloneKeepsNothing() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            func notices() async throws -> BoundedStream<KeptConnection.Update> {
                try await adapter.keepConnected(to: fixture.sensor.address)
                    .subscribe(to: .heartRateMeasurement, in: .heartRate)
            }
            let stream = try await notices()
            #expect(await failureCode { for try await _ in stream {} } == .cancelled)
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func severalDevices() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let server = try SimulatedGATTServer([
                GATTService(.heartRate) { GATTCharacteristic(.heartRateMeasurement, properties: .notify) }
            ])
            SimulatedPeripheral(
                on: fixture.radio,
                advertisements: [
                    try SimulatedAdvertisement(fields: [.localName("Other"), .services([.heartRate])])
                ], gatt: server)
            let keeping = fixture.begin { try await ConnectingPage.severalDevices(adapter) }
            try await fixture.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, fixture)
            let rate = try #require(server.handle(of: .heartRateMeasurement, in: .heartRate))
            try await fixture.settle { !server.subscribers(of: rate).isEmpty }
            await server.notify([0, 80], of: rate)
            try await fixture.settle(printed: 2)
            #expect(Set(fixture.lines) == ["\(Sensor.name) value([0, 72])", "Other value([0, 80])"])
            keeping.cancel()
            try await keeping.value
            #expect(Set(fixture.lines.dropFirst(2)) == ["\(Sensor.name) cancelled", "Other cancelled"])
        }
    }

    @Test func aGapIsReported() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let keeping = fixture.begin {
                try await ConnectingPage.keepingADeviceConnected2(adapter, fixture.sensor.address)
            }
            let rate = fixture.sensor.handle(of: 0x2A37, in: 0x180D)
            try await fixture.settle { !fixture.sensor.server.subscribers(of: rate).isEmpty }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.sensor.peripheral.breakLinks()
            try await keeping.value
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.hasPrefix("a gap:") == true)
        }
    }
}
