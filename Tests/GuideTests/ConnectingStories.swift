import BluetoothLE
import HCI
import SimulatedKernel
import Testing

/// Docs/Guide/Central/Connecting.md
@Suite struct ConnectingStories {
    @Test func toADevice() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.toADevice(adapter, world.sensor.address)
            #expect(world.lines == ["517"])
            // The kernel takes the link down within two seconds.
            try await world.radio.sleep(for: .seconds(2.1))
            #expect(world.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func aDeviceThatIsNotThere() async throws {
        try await World.withAdapter { world, adapter in
            world.sensor.peripheral.setHidden(true)
            let time = await world.duration {
                #expect(await code { try await ConnectingPage.toADevice(adapter, world.sensor.address) } == .timedOut)
            }
            #expect(time == .seconds(30))
            let connecting = world.begin { try await ConnectingPage.toADevice(adapter, world.sensor.address) }
            try await world.radio.sleep(for: .seconds(3))
            #expect(await connecting.ended() == .cancelled)
        }
    }

    @Test func waitingUntilItComes() async throws {
        try await World.withAdapter { world, adapter in
            world.sensor.peripheral.setHidden(true)
            let connecting = world.begin { try await ConnectingPage.toADevice2(adapter, world.sensor.address) }
            try await world.radio.sleep(for: .seconds(300))
            #expect(world.lines.isEmpty)
            world.sensor.peripheral.setHidden(false)
            try await connecting.value
            #expect(world.lines == ["it is there: \(world.sensor.address)"])
        }
    }

    @Test func byWhatWasHeard() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.toADevice3(adapter)
            #expect(world.lines.count == 2)
            #expect([world.sensor.address, world.linble.address].map { "\($0)" }.contains(world.lines.first))
            #expect(world.lines.last == "\(world.linble.address)")
        }
    }

    @Test func forTheLengthOfAClosure() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.toADevice4(adapter, world.sensor.address)
            let uuids: [BluetoothUUID] = [0x1800, 0x1801, 0xFFE0, 0x180D, 0x180F, 0x1812, 0x181A, 0xFFF0]
            #expect(world.lines == ["\(uuids)"])
            try await world.radio.sleep(for: .seconds(2.1))
            #expect(world.kernel.links(adapter: 0).isEmpty)
        }
    }

    // MARK: The end

    @Test func whyALinkEnded() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.whyALinkEnded(adapter, world.sensor.address)
            #expect(world.lines == ["we did"])
        }
    }

    @Test func everybodyIsToldTheSameReason() async throws {
        try await World.withConnection { world, _, connection in
            let maintained = world.begin { try await AttributesPage.subscribe(connection) }
            let reading = world.begin { _ = try await connection.read(AttributeHandle(3)) }
            world.sensor.peripheral.breakLinks()
            let end = await connection.closed()
            #expect(end.disconnectReason == .supervisionTimeout)
            #expect(await code { try await maintained.value } == .disconnected)
            #expect(await code { try await reading.value } == .disconnected)
        }
    }

    // MARK: The link

    @Test func theLinkItself() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.theLinkItself(adapter, world.sensor.address)
            #expect(world.lines.count == 4)
            #expect(world.lines.first.flatMap { Int($0) }.map { (-60...(-50)).contains($0) } == true)
            #expect(world.lines.dropFirst().first?.contains("interval") == true)
            let interval = world.lines.dropFirst(2).first ?? ""
            #expect(["\(Duration.milliseconds(7.5))", "\(Duration.milliseconds(15))"].contains(interval))
            #expect(world.lines.last == "transmit LE 2M, receive LE 2M")
        }
    }

    @Test func withoutPrivilegeTheSignalIsKnownAndTheRestIsNot() async throws {
        try await World.withAdapter { world, adapter in
            world.kernel.hasNetRaw = false
            #expect(
                await code { try await ConnectingPage.theLinkItself(adapter, world.sensor.address) } == .notPermitted)
            #expect(world.lines.count == 2)
            #expect(world.lines.last == "nil")
        }
    }

    @Test func itsChanges() async throws {
        try await World.withAdapter { world, adapter in
            let following = world.begin { try await ConnectingPage.theLinkItself2(adapter, world.sensor.address) }
            try await world.settle { !world.sensor.peripheral.links.isEmpty }
            try await world.radio.sleep(for: .seconds(1))
            world.sensor.peripheral.requestConnectionParameters(
                LEConnectionParameters(
                    intervalMinimum: 80, intervalMaximum: 80, latency: 0, supervisionTimeout: 400))
            try await following.value
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.contains("100 ms") == true, "\(world.lines)")
        }
    }

    @Test func theEndOfTheLinkEndsItsChanges() async throws {
        try await World.withAdapter { world, adapter in
            let following = world.begin { try await ConnectingPage.theLinkItself2(adapter, world.sensor.address) }
            try await world.settle { !world.sensor.peripheral.links.isEmpty }
            try await world.radio.sleep(for: .seconds(1))
            world.sensor.peripheral.disconnect()
            #expect(await code { try await following.value } == .disconnected)
        }
    }

    @Test func itsPolicy() async throws {
        try await World.withAdapter { world, adapter in
            try await ConnectingPage.theLinkItself3(adapter, world.sensor.address)
            try await world.radio.sleep(for: .seconds(3))
            #expect(world.kernel.links(adapter: 0).isEmpty)
        }
    }

    // MARK: Kept connected

    @Test func keepingADeviceConnected() async throws {
        try await World.withAdapter { world, adapter in
            world.sensor.peripheral.setHidden(true)
            let keeping = world.begin {
                try await ConnectingPage.keepingADeviceConnected(adapter, world.sensor.address)
            }
            try await world.radio.sleep(for: .seconds(200))
            #expect(world.lines.isEmpty)
            world.sensor.peripheral.setHidden(false)
            try await keeping.value
            #expect(world.lines == ["up: 517"])
            try await world.radio.sleep(for: .seconds(3))
            #expect(world.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func closingTheAdapterEndsIt() async throws {
        try await World.withAdapter { world, adapter in
            world.sensor.peripheral.setHidden(true)
            let keeping = world.begin {
                try await ConnectingPage.keepingADeviceConnected(adapter, world.sensor.address)
            }
            try await world.radio.sleep(for: .seconds(5))
            await adapter.close()
            #expect(await code { try await keeping.value } == .cancelled)
        }
    }

    @Test func subscriptionsThatOutliveLinks() async throws {
        try await World.withAdapter { world, adapter in
            let keeping = world.begin {
                try await ConnectingPage.keepingADeviceConnected2(adapter, world.sensor.address)
            }
            try await world.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, world)
            try await keeping.value
            #expect(world.lines == ["[0, 72]"])
        }
    }

    @Test func aGapIsTold() async throws {
        try await World.withAdapter { world, adapter in
            let keeping = world.begin {
                try await ConnectingPage.keepingADeviceConnected2(adapter, world.sensor.address)
            }
            let rate = world.sensor.handle(of: 0x2A37, in: 0x180D)
            try await world.settle { !world.sensor.server.subscribers(of: rate).isEmpty }
            try await world.radio.sleep(for: .seconds(1))
            world.sensor.peripheral.breakLinks()
            try await keeping.value
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.hasPrefix("a gap:") == true)
        }
    }
}
