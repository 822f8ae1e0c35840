import BluetoothLE
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Adapters.md
@Suite struct AdaptersStories {
    @Test func choosingOne() async throws {
        try await Fixture.run { fixture in
            try await AdaptersPage.choosingOne()
            #expect(fixture.lines == ["hci0 00:AA:01:00:00:01/public"])
            #expect(try fixture.kernel.adapters().map(\.isUp) == [true])
        }
    }

    @Test func aBlockedAdapterIsSkipped() async throws {
        try await Fixture.run([.fresh, .fresh]) { fixture in
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await AdaptersPage.choosingOne()
            #expect(fixture.lines == ["hci1 00:AA:01:00:00:02/public"])
        }
    }

    @Test func anAdapterThatAppearsLate() async throws {
        try await Fixture.run([]) { fixture in
            #expect(await failureCode { try await AdaptersPage.choosingOne() } == .noAdapter)
            let waiting = fixture.begin { try await AdaptersPage.choosingOne2() }
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(fixture.lines.isEmpty)
            fixture.kernel.plug(.fresh)
            try await waiting.value
            #expect(fixture.lines == ["hci0 is there"])
        }
    }

    @Test func anAdapterThatNeverAppears() async throws {
        try await Fixture.run([]) { fixture in
            let time = await fixture.duration {
                #expect(await failureCode { try await AdaptersPage.choosingOne2() } == .noAdapter)
            }
            #expect(time >= .seconds(30) && time < .seconds(31))
        }
    }

    @Test func itsStates() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let following = fixture.begin { try await AdaptersPage.followingOne(adapter) }
            try await fixture.settle(printed: 1)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle(printed: 2)
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await fixture.settle(printed: 3)
            fixture.kernel.unplug(0)
            try await following.value
            #expect(fixture.lines == ["on", "off", "blocked by rfkill (soft)", "absent"])
        }
    }

    @Test func closingTheAdapterFinishesItsStates() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let following = fixture.begin { try await AdaptersPage.followingOne(adapter) }
            try await fixture.settle(printed: 1)
            await adapter.close()
            try await following.value
            #expect(fixture.lines == ["on"])
        }
    }

    @Test func beingReady() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await AdaptersPage.followingOne2(adapter)
            #expect(fixture.lines == ["on"])
            fixture.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
            try await fixture.settle { adapter.state == .blocked(isHard: true) }
            let time = await fixture.duration {
                #expect(await failureCode { try await AdaptersPage.followingOne2(adapter) } == .adapterBlocked)
            }
            #expect(time == .seconds(10))
        }
    }

    @Test func aScanThatGoesOn() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let scanning = fixture.begin { try await AdaptersPage.whenItGoes(adapter) }
            try await fixture.settle(printed: 3)
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            let count = fixture.lines.count
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(fixture.lines.count == count)
            SimulatedPeripheral(
                on: fixture.radio, advertisements: [try SimulatedAdvertisement(fields: [.localName("New")])])
            fixture.kernel.plug(SimulatedController(address: adapter.information.address))
            try await fixture.settle { fixture.lines.dropFirst(count).contains { $0.contains("New") } }
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func aConnectionThatWaits() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle { adapter.state == .poweredOff }
            #expect(
                await failureCode { try await ConnectingPage.toADevice(adapter, fixture.sensor.address) } == .adapterOff
            )
            let connecting = fixture.begin { try await AdaptersPage.whenItGoes2(adapter, fixture.sensor.address) }
            try await fixture.radio.sleep(for: .seconds(20))
            #expect(fixture.lines.isEmpty)
            fixture.kernel.setPowered(true, adapter: 0)
            try await connecting.value
            #expect(fixture.lines == ["connected to \(fixture.sensor.address)"])
        }
    }

    @Test func allAdaptersAsTheyChange() async throws {
        try await Fixture.run { fixture in
            let following = fixture.begin { try await AdaptersPage.allOfThem() }
            try await fixture.settle(printed: 1)
            #expect(fixture.lines == ["hci0 (00:AA:01:00:00:01) added: off"])
            fixture.kernel.plug(.fresh)
            try await fixture.settle { fixture.lines.last?.hasPrefix("hci1 (00:AA:01:00:00:02) added") == true }
            fixture.kernel.unplug(0)
            try await fixture.settle { fixture.lines.last == "hci0 (00:AA:01:00:00:01) removed" }
            #expect(await following.ended() == .cancelled)
        }
    }

    @Test func severalBesideEachOther() async throws {
        try await Fixture.run([.fresh, SimulatedController(hasLE: false), .fresh]) { fixture in
            try await AdaptersPage.allOfThem2()
            #expect(
                fixture.lines.map { $0.split(separator: ",").first } == [
                    "hci0 hears \(fixture.sensor.address.digits)", "hci2 hears \(fixture.sensor.address.digits)",
                ])
            #expect(fixture.lines.allSatisfy { $0.contains(Sensor.name) })
        }
    }

    @Test func theEventsOfItsHealth() async throws {
        try await Fixture.run { fixture in
            let running = fixture.begin { try await AdaptersPage.whenItsRadioFails() }
            try await fixture.settle(printed: 1)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle(printed: 2)
            #expect(fixture.lines == ["good", "the adapter was powered off"])
            #expect(await running.ended() == .cancelled)
        }
    }
}
