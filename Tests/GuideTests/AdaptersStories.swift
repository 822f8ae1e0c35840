import BluetoothLE
import SimulatedKernel
import Testing

/// Docs/Guide/Central/Adapters.md
@Suite struct AdaptersStories {
    @Test func choosingOne() async throws {
        try await World.run { world in
            try await AdaptersPage.choosingOne()
            #expect(world.lines == ["hci0 00:AA:01:00:00:01"])
            #expect(try world.kernel.adapters().map(\.isUp) == [true])
        }
    }

    @Test func oneThatIsBlockedIsPassedOver() async throws {
        try await World.run([.fresh, .fresh]) { world in
            world.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await AdaptersPage.choosingOne()
            #expect(world.lines == ["hci1 00:AA:01:00:00:02"])
        }
    }

    @Test func anAdapterThatAppearsLate() async throws {
        try await World.run([]) { world in
            #expect(await code { try await AdaptersPage.choosingOne() } == .noAdapter)
            let waiting = world.begin { try await AdaptersPage.choosingOne2() }
            try await world.radio.sleep(for: .seconds(10))
            #expect(world.lines.isEmpty)
            world.kernel.plug(.fresh)
            try await waiting.value
            #expect(world.lines == ["hci0 is there"])
        }
    }

    @Test func anAdapterThatNeverAppears() async throws {
        try await World.run([]) { world in
            let time = await world.duration {
                #expect(await code { try await AdaptersPage.choosingOne2() } == .noAdapter)
            }
            #expect(time >= .seconds(30) && time < .seconds(31))
        }
    }

    @Test func itsStates() async throws {
        try await World.withAdapter { world, adapter in
            let following = world.begin { try await AdaptersPage.followingOne(adapter) }
            try await world.settle(printed: 1)
            world.kernel.setPowered(false, adapter: 0)
            try await world.settle(printed: 2)
            world.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await world.settle(printed: 3)
            world.kernel.unplug(0)
            try await following.value
            #expect(world.lines == ["on", "off", "blocked by rfkill (soft)", "absent"])
        }
    }

    @Test func closingTheAdapterFinishesItsStates() async throws {
        try await World.withAdapter { world, adapter in
            let following = world.begin { try await AdaptersPage.followingOne(adapter) }
            try await world.settle(printed: 1)
            await adapter.close()
            try await following.value
            #expect(world.lines == ["on"])
        }
    }

    @Test func beingReady() async throws {
        try await World.withAdapter { world, adapter in
            try await AdaptersPage.followingOne2(adapter)
            #expect(world.lines == ["on"])
            world.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
            try await world.settle { adapter.state == .blocked(isHard: true) }
            let time = await world.duration {
                #expect(await code { try await AdaptersPage.followingOne2(adapter) } == .adapterBlocked)
            }
            #expect(time == .seconds(10))
        }
    }

    @Test func aScanThatGoesOn() async throws {
        try await World.withAdapter { world, adapter in
            let scanning = world.begin { try await AdaptersPage.whenItGoes(adapter) }
            try await world.settle(printed: 3)
            world.kernel.unplug(0)
            try await world.settle { adapter.state == .absent }
            let count = world.lines.count
            try await world.radio.sleep(for: .seconds(5))
            #expect(world.lines.count == count)
            SimulatedPeripheral(
                on: world.radio, advertisements: [try SimulatedAdvertisement(fields: [.localName("New")])])
            world.kernel.plug(SimulatedController(address: adapter.information.address))
            try await world.settle { world.lines.dropFirst(count).contains { $0.contains("New") } }
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func aConnectionThatWaits() async throws {
        try await World.withAdapter { world, adapter in
            world.kernel.setPowered(false, adapter: 0)
            try await world.settle { adapter.state == .poweredOff }
            #expect(await code { try await ConnectingPage.toADevice(adapter, world.sensor.address) } == .adapterOff)
            let connecting = world.begin { try await AdaptersPage.whenItGoes2(adapter, world.sensor.address) }
            try await world.radio.sleep(for: .seconds(20))
            #expect(world.lines.isEmpty)
            world.kernel.setPowered(true, adapter: 0)
            try await connecting.value
            #expect(world.lines == ["connected to \(world.sensor.address)"])
        }
    }

    @Test func allAdaptersAsTheyChange() async throws {
        try await World.run { world in
            let following = world.begin { try await AdaptersPage.allOfThem() }
            try await world.settle(printed: 1)
            #expect(world.lines == ["hci0 (00:AA:01:00:00:01) added: off"])
            world.kernel.plug(.fresh)
            try await world.settle { world.lines.last?.hasPrefix("hci1 (00:AA:01:00:00:02) added") == true }
            world.kernel.unplug(0)
            try await world.settle { world.lines.last == "hci0 (00:AA:01:00:00:01) removed" }
            #expect(await following.ended() == .cancelled)
        }
    }

    @Test func severalBesideEachOther() async throws {
        try await World.run([.fresh, SimulatedController(hasLE: false), .fresh]) { world in
            try await AdaptersPage.allOfThem2()
            #expect(
                world.lines.map { $0.split(separator: ",").first } == [
                    "hci0 hears \(world.sensor.address)", "hci2 hears \(world.sensor.address)",
                ])
            #expect(world.lines.allSatisfy { $0.contains(Sensor.name) })
        }
    }
}
