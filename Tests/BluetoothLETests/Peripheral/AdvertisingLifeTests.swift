import HCI
import Management
import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

private let controllerAddress = BluetoothAddress(0x00AA_0100_0042, kind: .public)

/// Advertising through power, radio switches, hot plug, other programs and refusals.
@Suite struct AdvertisingLifeTests {
    private static let families = [HCICommandFamily.extended, .legacy]
    private static let resuming = AdvertisingOptions(whenAdapterLeaves: .resume)

    @Test(arguments: families, Ending.allCases)
    func itEndsWithTheAdapterAndLeavesNothingBehind(_ family: HCICommandFamily, _ ending: Ending) async throws {
        let controller = SimulatedController(address: controllerAddress, family: family)
        try await PeripheralStory.run(controller) { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            ending.happen(to: story)
            let reason = await set.ended()
            #expect(reason.code == ending.code)
            #expect(reason.remedy != nil)
            ending.undo(in: story, controller)
            try await story.peripheral.ready(timeout: .seconds(10))
            try await story.story.settle { await story.instances() == [] }
            #expect(await story.isHeard() == nil)
            let again = try await story.peripheral.advertise(PeripheralStory.content)
            #expect(again.instance == 1)
            #expect(await story.isHeard() != nil)
            await again.stop()
        }
    }

    @Test(arguments: families, Ending.allCases)
    func itGoesOnWhenTheAdapterIsBack(_ family: HCICommandFamily, _ ending: Ending) async throws {
        let controller = SimulatedController(address: controllerAddress, family: family)
        try await PeripheralStory.run(controller) { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content, options: Self.resuming)
            for _ in 0..<2 {
                ending.happen(to: story)
                try await story.story.settle {
                    guard case .waiting(let reason) = set.state else { return false }
                    return reason.code == ending.code
                }
                try await story.story.radio.sleep(for: .seconds(20))
                ending.undo(in: story, controller)
                try await story.story.settle { set.state == .advertising }
                #expect(await story.instances() == [1])
                #expect(await story.isHeard() != nil)
            }
            await set.stop()
            #expect(await story.instances() == [])
        }
    }

    @Test func stoppedWhileTheAdapterIsOffItDoesNotComeBack() async throws {
        try await PeripheralStory.run(SimulatedController(family: .legacy)) { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content, options: Self.resuming)
            story.kernel.setPowered(false, adapter: 0)
            try await story.story.settle { story.peripheral.state == .poweredOff }
            let time = await story.story.duration { await set.stop() }
            #expect(time < .seconds(1))
            story.kernel.setPowered(true, adapter: 0)
            try await story.story.settle { await story.instances() == [] }
            #expect(await story.isHeard() == nil)
        }
    }

    @Test func anotherProgramThatRemovesItEndsIt() async throws {
        try await PeripheralStory.run { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content, options: Self.resuming)
            let other = try await Adapter.open(on: story.kernel)
            #expect(try await other.removeForeignAdvertising() == 1)
            let reason = await set.ended()
            #expect(reason.code == .busy)
            #expect(reason.message.contains("Another program"))
            await other.close()
        }
    }

    @Test func cancelledAtAnyMomentItLeavesNothingBehind() async throws {
        try await PeripheralStory.run { story in
            for microseconds in stride(from: 0, through: 1500, by: 25) {
                let advertising = story.story.begin {
                    try await story.peripheral.advertise(PeripheralStory.content)
                }
                try await story.story.radio.sleep(for: .microseconds(microseconds))
                advertising.cancel()
                do {
                    let set = try await advertising.value
                    #expect(set.state == .advertising)
                    await set.stop()
                } catch let error as BluetoothError {
                    #expect(error.code == .cancelled)
                }
                try await story.story.settle { await story.instances() == [] }
            }
        }
    }

    @Test(arguments: [
        ManagementOpcode.readAdvertisingFeatures, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
    ])
    func whatTheKernelRefusesIsTold(_ opcode: ManagementOpcode) async throws {
        try await PeripheralStory.run { story in
            story.kernel.setRefusal(.failed, of: opcode)
            let error = await failure { _ = try await story.peripheral.advertise(PeripheralStory.content) }
            #expect(error?.code == .failed)
            #expect(error?.cause == .management(.failed))
            story.kernel.setRefusal(nil, of: opcode)
            #expect(await story.instances() == [])
            // Busy is asked again.
            story.kernel.setRefusal(.busy, of: opcode)
            let waiting = story.story.begin { try await story.peripheral.advertise(PeripheralStory.content) }
            try await story.story.radio.sleep(for: .seconds(1))
            story.kernel.setRefusal(nil, of: opcode)
            let set = try await waiting.value
            #expect(set.instance == 1)
            await set.stop()
        }
    }

    @Test(arguments: [
        ManagementOpcode.readAdvertisingFeatures, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
    ])
    func aKernelThatDoesNotAnswerIsNotWaitedForForEver(_ opcode: ManagementOpcode) async throws {
        try await PeripheralStory.run { story in
            story.kernel.setSilent(true, for: opcode)
            let time = await story.story.duration {
                let error = await failure { _ = try await story.peripheral.advertise(PeripheralStory.content) }
                #expect(error?.code == .timedOut)
            }
            #expect(time <= .seconds(11))
            story.kernel.setSilent(false, for: opcode)
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            #expect(set.state == .advertising)
            await set.stop()
            #expect(await story.instances() == [])
        }
    }

    @Test func withoutRoomBesideALinkItWaitsForItsEnd() async throws {
        try await PeripheralStory.run { story in
            let incoming = try await story.peripheral.incomingConnections()
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            story.kernel.setRefusal(.rejected, of: .addExtendedAdvertisingParameters)
            let connection = try await story.connect()
            try await story.story.settle { if case .waiting = set.state { true } else { false } }
            story.kernel.setRefusal(nil, of: .addExtendedAdvertisingParameters)
            await connection.disconnect()
            try await story.story.settle { set.state == .advertising }
            #expect(await story.isHeard() != nil)
            await set.stop()
            withExtendedLifetime(incoming) {}
        }
    }

    // MARK: Changes that come to nothing

    @Test func aChangeThatIsCancelledOrRefusedLeavesWhatWasSaidBefore() async throws {
        try await PeripheralStory.run { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            // Cancelled at any moment, it says the one or the other, and does so for as long as it lasts.
            for microseconds in stride(from: 0, through: 1000, by: 100) {
                let changing = story.story.begin { try await set.update(AdvertisementContent(localName: "changed")) }
                try await story.story.radio.sleep(for: .microseconds(microseconds))
                changing.cancel()
                let isChanged = await failure { try await changing.value } == nil
                try await story.story.radio.sleep(for: .seconds(1))
                #expect(set.state == .advertising)
                let heard = try #require(await story.isHeard())
                #expect(heard.data.localName == (isChanged ? "changed" : "served"), "\(microseconds) µs")
                try await set.update(PeripheralStory.content)
            }
            for status in [ManagementStatus.failed, .rejected, .invalidParameters] {
                story.kernel.setRefusal(status, of: .addExtendedAdvertisingData)
                let error = await failure { try await set.update(AdvertisementContent(localName: "refused")) }
                #expect(error?.cause == .management(status))
                try await story.story.radio.sleep(for: .seconds(1))
                // What was there is gone with what was refused, and comes back when the kernel takes it.
                guard case .waiting = set.state else {
                    Issue.record("\(set.state)")
                    return
                }
                story.kernel.setRefusal(nil, of: .addExtendedAdvertisingData)
                try await story.story.settle { set.state == .advertising }
                #expect(await story.isHeard()?.data.localName == "served")
            }
            await set.stop()
            #expect(await story.instances() == [])
        }
    }

    @Test func itComesBackWhenTheLinkEndedWhileItWasRefused() async throws {
        try await PeripheralStory.run { story in
            let incoming = try await story.peripheral.incomingConnections()
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            for _ in 0..<2 {
                // It is said again after a connection, which takes the kernel longer than the link lasts.
                story.kernel.setSilent(true, for: .addExtendedAdvertisingData)
                let connection = try await story.connect()
                try await story.story.radio.sleep(for: .seconds(1))
                await connection.disconnect()
                try await story.story.settle {
                    incoming.connections.isEmpty && story.kernel.links(adapter: 0).isEmpty
                }
                story.kernel.setSilent(false, for: .addExtendedAdvertisingData)
                // The kernel has never said what became of the last that it was told.
                try await story.story.radio.sleep(for: .seconds(15))
                #expect(set.state == .advertising)
                #expect(await story.isHeard() != nil)
            }
            await set.stop()
        }
    }

    @Test func whatTheKernelDoesNotTakeBackIsAskedForAgain() async throws {
        try await PeripheralStory.run { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            story.kernel.setRefusal(.failed, of: .removeAdvertising)
            let time = await story.story.duration { await set.stop() }
            #expect(time < .seconds(5))
            #expect(await story.instances() == [1])
            // Its number is not given to another meanwhile.
            let next = try await story.peripheral.advertise(PeripheralStory.content)
            #expect(next.instance == 2)
            story.kernel.setRefusal(nil, of: .removeAdvertising)
            // The kernel lists no number above the number of instances.
            try await story.story.settle { await story.instances() == [] }
            #expect(next.state == .advertising)
            #expect(await story.isHeard() != nil)
            await next.stop()
            #expect(await story.instances() == [])
        }
    }

    @Test func linksOutliveTheAdapterOnlyAsFarAsTheyCan() async throws {
        let controller = SimulatedController(address: controllerAddress)
        for ending in Ending.allCases {
            try await PeripheralStory.run(controller) { story in
                try await story.peripheral.publish([PeripheralStory.service])
                let incoming = try await story.peripheral.incomingConnections()
                let set = try await story.peripheral.advertise(PeripheralStory.content, options: Self.resuming)
                for _ in 0..<2 {
                    let connection = try await story.connect()
                    let accepted = try #require(incoming.connections.last)
                    ending.happen(to: story)
                    #expect(await accepted.closed().code == ending.code)
                    #expect(await connection.closed().code == .disconnected)
                    #expect(incoming.connections.isEmpty)
                    ending.undo(in: story, controller)
                    try await story.story.settle { set.state == .advertising }
                }
                // Links are taken again by themselves.
                let connection = try await story.connect()
                let value = try await connection.found(0xFFF1, in: 0xFFF0)
                #expect(try await connection.read(value) == [7])
                await connection.disconnect()
                await set.stop()
            }
        }
    }
}

extension Ending {
    /// Takes the adapter that advertises away.
    fileprivate func happen(to story: PeripheralStory) {
        happen(to: story.kernel, adapter: story.peripheral.information.index)
    }

    /// Brings it back.
    fileprivate func undo(in story: PeripheralStory, _ controller: SimulatedController) {
        let index = story.peripheral.information.index
        switch self {
        case .block:
            story.kernel.setRadioSwitch(adapter: index)
            fallthrough
        case .powerOff: story.kernel.setPowered(true, adapter: index)
        case .unplug: story.kernel.plug(controller)
        }
    }
}
