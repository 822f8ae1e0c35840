import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

private let controllerAddress = BluetoothAddress(0x00AA_0100_0042, kind: .public)

/// Advertising through power, radio switches, hot plug, other programs and refusals.
@Suite struct AdvertisingLifeTests {
    private static let families = [HCICommandFamily.extended, .legacy]
    private static let resuming = AdvertisingOptions(whenAdapterUnavailable: .resume)

    @Test(arguments: families, Ending.allCases)
    func itEndsWithTheAdapterAndLeavesNothingBehind(_ family: HCICommandFamily, _ ending: Ending) async throws {
        let controller = SimulatedController(address: controllerAddress, family: family)
        try await PeripheralFixture.run(controller) { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            ending.happen(to: fixture)
            let reason = await set.closed()
            #expect(reason.code == ending.code)
            #expect(reason.remedy != nil)
            ending.undo(in: fixture, controller)
            try await fixture.peripheral.ready(timeout: .seconds(10))
            try await fixture.base.settle { await fixture.instances() == [] }
            #expect(await fixture.isHeard() == nil)
            let again = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(again.instance == 1)
            #expect(await fixture.isHeard() != nil)
            await again.close()
        }
    }

    @Test(arguments: families, Ending.allCases)
    func itGoesOnWhenTheAdapterIsBack(_ family: HCICommandFamily, _ ending: Ending) async throws {
        let controller = SimulatedController(address: controllerAddress, family: family)
        try await PeripheralFixture.run(controller) { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: Self.resuming)
            for _ in 0..<2 {
                ending.happen(to: fixture)
                try await fixture.base.settle {
                    guard let reason = set.state.waiting else { return false }
                    return reason.code == ending.code
                }
                try await fixture.base.radio.sleep(for: .seconds(20))
                ending.undo(in: fixture, controller)
                try await fixture.base.settle { set.state == .advertising }
                #expect(await fixture.instances() == [1])
                #expect(await fixture.isHeard() != nil)
            }
            await set.close()
            #expect(await fixture.instances() == [])
        }
    }

    @Test func stoppedWhileTheAdapterIsOffItDoesNotComeBack() async throws {
        try await PeripheralFixture.run(SimulatedController(family: .legacy)) { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: Self.resuming)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.base.settle { fixture.peripheral.state == .poweredOff }
            let time = await fixture.base.duration { await set.close() }
            #expect(time < .seconds(1))
            fixture.kernel.setPowered(true, adapter: 0)
            try await fixture.base.settle { await fixture.instances() == [] }
            #expect(await fixture.isHeard() == nil)
        }
    }

    @Test func anotherProgramThatRemovesItEndsIt() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: Self.resuming)
            let other = try await Adapter.open(on: fixture.kernel)
            try await other.sendToManagement(ManagementRemoveAdvertising(1), to: 0)
            let reason = await set.closed()
            #expect(reason.code == .busy)
            #expect(reason.message.contains("Another program"))
            await other.close()
        }
    }

    @Test func cancelledAtAnyMomentItLeavesNothingBehind() async throws {
        try await PeripheralFixture.run { fixture in
            for microseconds in stride(from: 0, through: 1500, by: 25) {
                let advertising = fixture.base.begin {
                    try await fixture.peripheral.advertise(PeripheralFixture.content)
                }
                try await fixture.base.radio.sleep(for: .microseconds(microseconds))
                advertising.cancel()
                do {
                    let set = try await advertising.value
                    #expect(set.state == .advertising)
                    await set.close()
                } catch let error as BluetoothError {
                    #expect(error.code == .cancelled)
                }
                try await fixture.base.settle { await fixture.instances() == [] }
            }
        }
    }

    @Test(arguments: [
        ManagementOpcode.readAdvertisingFeatures, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
    ])
    func whatTheKernelRefusesIsTold(_ opcode: ManagementOpcode) async throws {
        try await PeripheralFixture.run { fixture in
            fixture.kernel.setRefusal(.failed, of: opcode)
            let error = await failure { _ = try await fixture.peripheral.advertise(PeripheralFixture.content) }
            #expect(error?.code == .failed)
            #expect(error?.cause == .management(.failed))
            fixture.kernel.setRefusal(nil, of: opcode)
            #expect(await fixture.instances() == [])
            // Busy is asked again.
            fixture.kernel.setRefusal(.busy, of: opcode)
            let waiting = fixture.base.begin { try await fixture.peripheral.advertise(PeripheralFixture.content) }
            try await fixture.base.radio.sleep(for: .seconds(1))
            fixture.kernel.setRefusal(nil, of: opcode)
            let set = try await waiting.value
            #expect(set.instance == 1)
            await set.close()
        }
    }

    @Test(arguments: [
        ManagementOpcode.readAdvertisingFeatures, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
    ])
    func aKernelThatDoesNotAnswerIsNotWaitedForForEver(_ opcode: ManagementOpcode) async throws {
        try await PeripheralFixture.run { fixture in
            fixture.kernel.setSilent(true, for: opcode)
            let time = await fixture.base.duration {
                let error = await failure { _ = try await fixture.peripheral.advertise(PeripheralFixture.content) }
                #expect(error?.code == .timedOut)
            }
            #expect(time <= .seconds(11))
            fixture.kernel.setSilent(false, for: opcode)
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(set.state == .advertising)
            await set.close()
            #expect(await fixture.instances() == [])
        }
    }

    @Test func withoutRoomBesideALinkItWaitsForItsEnd() async throws {
        try await PeripheralFixture.run { fixture in
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            fixture.kernel.setRefusal(.rejected, of: .addExtendedAdvertisingParameters)
            let connection = try await fixture.connect()
            try await fixture.base.settle { set.state.waiting != nil }
            fixture.kernel.setRefusal(nil, of: .addExtendedAdvertisingParameters)
            await connection.disconnect()
            try await fixture.base.settle { set.state == .advertising }
            #expect(await fixture.isHeard() != nil)
            await set.close()
            withExtendedLifetime(incoming) {}
        }
    }

    // MARK: Changes that come to nothing

    @Test func aChangeThatIsCancelledOrRefusedLeavesWhatWasSaidBefore() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            // Cancelled at any moment, it says the one or the other, and does so for as long as it lasts.
            for microseconds in stride(from: 0, through: 1000, by: 100) {
                let changing = fixture.base.begin {
                    try await set.update(AdvertisementContent(localName: "changed"))
                }
                try await fixture.base.radio.sleep(for: .microseconds(microseconds))
                changing.cancel()
                let isChanged = await failure { try await changing.value } == nil
                try await fixture.base.radio.sleep(for: .seconds(1))
                #expect(set.state == .advertising)
                let heard = try #require(await fixture.isHeard())
                #expect(heard.data.localName == (isChanged ? "changed" : "served"), "\(microseconds) µs")
                try await set.update(PeripheralFixture.content)
            }
            for status in [ManagementStatus.failed, .rejected, .invalidParameters] {
                fixture.kernel.setRefusal(status, of: .addExtendedAdvertisingData)
                let error = await failure { try await set.update(AdvertisementContent(localName: "refused")) }
                #expect(error?.cause == .management(status))
                try await fixture.base.radio.sleep(for: .seconds(1))
                // What was there is gone with what was refused, and comes back when the kernel takes it.
                guard set.state.waiting != nil else {
                    Issue.record("\(set.state)")
                    return
                }
                fixture.kernel.setRefusal(nil, of: .addExtendedAdvertisingData)
                try await fixture.base.settle { set.state == .advertising }
                #expect(await fixture.isHeard()?.data.localName == "served")
            }
            await set.close()
            #expect(await fixture.instances() == [])
        }
    }

    @Test func itComesBackWhenTheLinkEndedWhileItWasRefused() async throws {
        try await PeripheralFixture.run { fixture in
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            for _ in 0..<2 {
                // It is said again after a connection, which takes the kernel longer than the link lasts.
                fixture.kernel.setSilent(true, for: .addExtendedAdvertisingData)
                let connection = try await fixture.connect()
                try await fixture.base.radio.sleep(for: .seconds(1))
                await connection.disconnect()
                try await fixture.base.settle {
                    incoming.connections.isEmpty && fixture.kernel.links(adapter: 0).isEmpty
                }
                fixture.kernel.setSilent(false, for: .addExtendedAdvertisingData)
                // The kernel has never said what became of the last that it was told.
                try await fixture.base.radio.sleep(for: .seconds(15))
                #expect(set.state == .advertising)
                #expect(await fixture.isHeard() != nil)
            }
            await set.close()
        }
    }

    @Test func whatTheKernelDoesNotTakeBackIsAskedForAgain() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            fixture.kernel.setRefusal(.failed, of: .removeAdvertising)
            let time = await fixture.base.duration { await set.close() }
            #expect(time < .seconds(5))
            #expect(await fixture.instances() == [1])
            // Its number is not given to another meanwhile.
            let next = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(next.instance == 2)
            fixture.kernel.setRefusal(nil, of: .removeAdvertising)
            // The kernel lists no number above the number of instances.
            try await fixture.base.settle { await fixture.instances() == [] }
            #expect(next.state == .advertising)
            #expect(await fixture.isHeard() != nil)
            await next.close()
            #expect(await fixture.instances() == [])
        }
    }

    @Test func linksOutliveTheAdapterOnlyAsFarAsTheyCan() async throws {
        let controller = SimulatedController(address: controllerAddress)
        for ending in Ending.allCases {
            try await PeripheralFixture.run(controller) { fixture in
                try await fixture.peripheral.publish([PeripheralFixture.service])
                let incoming = try await fixture.peripheral.incomingConnections()
                let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: Self.resuming)
                for _ in 0..<2 {
                    let connection = try await fixture.connect()
                    let accepted = try #require(incoming.connections.last)
                    ending.happen(to: fixture)
                    #expect(await accepted.disconnected().code == ending.code)
                    #expect(await connection.disconnected().code == .disconnected)
                    #expect(incoming.connections.isEmpty)
                    ending.undo(in: fixture, controller)
                    try await fixture.base.settle { set.state == .advertising }
                }
                // Links are taken again by themselves.
                let connection = try await fixture.connect()
                let value = try await connection.found(0xFFF1, in: 0xFFF0)
                #expect(try await connection.read(value) == [7])
                await connection.disconnect()
                await set.close()
            }
        }
    }
}

extension Ending {
    /// Takes the adapter that advertises away.
    fileprivate func happen(to fixture: PeripheralFixture) {
        happen(to: fixture.kernel, adapter: fixture.peripheral.information.index)
    }

    /// Brings it back.
    fileprivate func undo(in fixture: PeripheralFixture, _ controller: SimulatedController) {
        let index = fixture.peripheral.information.index
        switch self {
        case .block:
            fixture.kernel.setRadioSwitch(adapter: index)
            fallthrough
        case .powerOff: fixture.kernel.setPowered(true, adapter: index)
        case .unplug: fixture.kernel.plug(controller)
        }
    }
}
