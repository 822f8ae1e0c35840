import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

private let address = BluetoothAddress(0x00AA_0100_0042, kind: .public)
private let controller = SimulatedController(address: address)

/// One adapter through power, radio switches and hotplug.
@Suite struct AdapterLifeTests {
    @Test func itsStateIsToldFirstAndWheneverItChanges() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            #expect(adapter.state == .poweredOn)
            var states = adapter.states.makeAsyncIterator()
            #expect(try await next(&states) == .poweredOn)
            story.kernel.setPowered(false, adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            #expect(try await next(&states) == .blocked(isHard: false))
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true, isHardBlocked: true)
            #expect(try await next(&states) == .blocked(isHard: true))
            story.kernel.setRadioSwitch(adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            story.kernel.setPowered(true, adapter: 0)
            #expect(try await next(&states) == .poweredOn)
            story.kernel.unplug(0)
            #expect(try await next(&states) == .absent)
            #expect(adapter.state == .absent)
            story.kernel.plug(controller)
            #expect(try await next(&states) == .poweredOn)
            await adapter.close()
            #expect(try await next(&states) == nil)
        }
    }

    private func next<Value>(_ iterator: inout BoundedStream<Value>.Iterator) async throws -> Value? {
        try await iterator.next()
    }

    @Test func aSlowConsumerSeesHowThingsStandAndNothingStale() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            let slow = adapter.states
            let fast = story.begin {
                var seen: [AdapterState] = []
                for try await state in adapter.states {
                    seen.append(state)
                    if state == .absent { break }
                }
                return seen
            }
            for isOn in [false, true, false, true, false] {
                try await story.radio.sleep(for: .milliseconds(50))
                story.kernel.setPowered(isOn, adapter: 0)
            }
            try await story.radio.sleep(for: .milliseconds(50))
            story.kernel.unplug(0)
            let seen = try await fast.value
            #expect(seen == [.poweredOn, .poweredOff, .poweredOn, .poweredOff, .poweredOn, .poweredOff, .absent])
            for try await state in slow {
                #expect(state == .absent)
                break
            }
            #expect(slow.missedCount == 6)
            // Leaving its loop is the end of a stream.
            try await story.settle { adapter.session.standing.followerCount == 0 }
        }
    }

    @Test(arguments: Ending.allCases) func itSaysWhatIsInTheWay(_ ending: Ending) async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            ending.happen(to: story.kernel)
            try await story.settle { !adapter.state.isReady }
            let scan = await failure { _ = try await adapter.scan() }
            let connect = await failure { _ = try await adapter.connect(to: .zero) }
            let time = await story.duration {
                let ready = await failure { try await adapter.ready(timeout: .seconds(3)) }
                #expect(ready?.code == ending.code)
                #expect(ready?.remedy != nil)
            }
            #expect(time == .seconds(3))
            for error in [scan, connect] {
                #expect(error?.code == ending.code)
                #expect(error?.remedy != nil)
                #expect(error?.message.contains("hci0") == true)
            }
        }
    }

    @Test func readyReturnsWhenItIs() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            try await adapter.ready(timeout: .zero)
            story.kernel.setPowered(false, adapter: 0)
            try await story.settle { adapter.state == .poweredOff }
            let waiting = (0..<3).map { _ in story.begin { try await adapter.ready(timeout: nil) } }
            let cancelled = story.begin { try await adapter.ready(timeout: nil) }
            try await story.radio.sleep(for: .seconds(5))
            cancelled.cancel()
            #expect(await failure { try await cancelled.value }?.code == .cancelled)
            story.kernel.setPowered(true, adapter: 0)
            for task in waiting { try await task.value }
            story.kernel.setPowered(false, adapter: 0)
            try await story.settle { adapter.state == .poweredOff }
            let closed = story.begin { try await adapter.ready(timeout: nil) }
            try await story.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(await failure { try await closed.value }?.code == .cancelled)
            #expect(await failure { try await adapter.ready(timeout: nil) }?.code == .cancelled)
        }
    }

    @Test func aReplugUnderAnotherIndexIsTheSameAdapter() async throws {
        try await Story.run([controller]) { story in
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let adapter = try await Adapter.open(on: story.kernel)
            story.kernel.unplug(0)
            try await story.settle { adapter.state == .absent }
            #expect(adapter.information.name == "hci0")
            // Another one takes its place.
            #expect(story.kernel.plug() == 0)
            try await story.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .absent)
            #expect(story.kernel.plug(controller) == 1)
            try await adapter.ready(timeout: .seconds(1))
            #expect(adapter.information.name == "hci1")
            _ = try await adapter.first(timeout: .seconds(5)) { $0.address == peripheral.address }
            let connection = try await adapter.connect(to: peripheral.address)
            #expect(story.kernel.links(adapter: 1) == [peripheral.address])
            await connection.disconnect()
        }
    }

    @Test(arguments: [PowerPolicy.leave, .powerOn, .keepOn])
    func thePowerPolicyDecidesWhetherItIsSwitchedOnAgain(_ power: PowerPolicy) async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(power: power, on: story.kernel)
            // Plugged in again, it is off, with LE off.
            story.kernel.unplug(0)
            try await story.settle { adapter.state == .absent }
            story.kernel.plug(SimulatedController(address: address, isPowered: false, isLEEnabled: false))
            try await story.radio.sleep(for: .seconds(3))
            #expect(adapter.state == (power == .leave ? .poweredOff : .poweredOn))
            // Somebody else powers it on, as `btmgmt power on` does, without LE.
            if power == .leave { story.kernel.setPowered(true, adapter: 0) }
            try await adapter.ready(timeout: .seconds(1))

            // Given free by its radio switch.
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await story.settle { adapter.state == .blocked(isHard: false) }
            story.kernel.setRadioSwitch(adapter: 0)
            try await story.radio.sleep(for: .seconds(1))
            #expect(adapter.state == (power == .leave ? .poweredOff : .poweredOn))
            if power == .leave { story.kernel.setPowered(true, adapter: 0) }
            try await adapter.ready(timeout: .seconds(1))

            // Somebody powers it off.
            story.kernel.setPowered(false, adapter: 0)
            try await story.radio.sleep(for: .seconds(1))
            #expect(adapter.state == (power == .keepOn ? .poweredOn : .poweredOff))
            if power != .keepOn {
                // It stays so after a time under a radio switch, too.
                story.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
                try await story.settle { adapter.state == .blocked(isHard: true) }
                story.kernel.setRadioSwitch(adapter: 0)
                try await story.radio.sleep(for: .seconds(1))
                #expect(adapter.state == .poweredOff)
            }

            // This program's own word counts.
            try await adapter.setPowered(true)
            #expect(adapter.state == .poweredOn)
            try await adapter.setPowered(false)
            #expect(adapter.state == .poweredOff)
            try await story.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .poweredOff)
            try await adapter.setPowered(true)
            #expect(adapter.state == .poweredOn)
        }
    }

    @Test func poweringSaysWhatIsInTheWay() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await story.settle { !adapter.state.isReady }
            #expect(await failure { try await adapter.setPowered(true) }?.code == .adapterBlocked)
            story.kernel.unplug(0)
            try await story.settle { adapter.state == .absent }
            #expect(await failure { try await adapter.setPowered(true) }?.code == .noAdapter)
            #expect(await failure { try await adapter.setPowered(false) }?.code == .noAdapter)
            story.kernel.plug(controller)
            try await adapter.ready(timeout: .seconds(1))
            // Busy for a while is waited out.
            story.kernel.setRefusal(.busy, of: .setPowered)
            let off = story.begin { try await adapter.setPowered(false) }
            try await story.radio.sleep(for: .seconds(1))
            story.kernel.setRefusal(nil, of: .setPowered)
            try await off.value
            #expect(adapter.state == .poweredOff)
            await adapter.close()
            #expect(await failure { try await adapter.setPowered(true) }?.code == .cancelled)
        }
    }

    @Test func aMissingCapabilityToSwitchItOnAgainIsTold() async throws {
        try await Story.run([controller]) { story in
            story.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            story.kernel.unplug(0)
            try await story.settle { adapter.state == .absent }
            story.kernel.plug(SimulatedController(address: address, isPowered: false))
            try await story.settle { adapter.state == .poweredOff }
            let error = await failure { try await adapter.ready(timeout: .seconds(1)) }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("setcap") == true)
            story.kernel.setPowered(true, adapter: 0)
            try await adapter.ready(timeout: .seconds(1))
        }
    }

    @Test func withoutTheRightToFollowRadioSwitchesTheyAreLookedAtWhenItMatters() async throws {
        try await Story.run([controller]) { story in
            story.kernel.canWatchRadioSwitches = false
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await story.settle { adapter.state == .blocked(isHard: false) }
            story.kernel.setRadioSwitch(adapter: 0)
            try await story.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .blocked(isHard: false))
            try await adapter.ready(timeout: .seconds(1))
            #expect(adapter.state == .poweredOn)
        }
    }

    @Test(arguments: [false, true]) func scansEndOrResumeByOption(_ isReplug: Bool) async throws {
        try await Story.run([controller]) { story in
            let peripheral = SimulatedPeripheral(on: story.radio)
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            var options = ScanOptions(duplicates: .all)
            let ending = try await adapter.scan(options)
            options.whenAdapterLeaves = .resume
            let resuming = try await adapter.scan(options)
            let left = try await adapter.scan(options)
            var index: UInt16 = 0
            if isReplug { story.kernel.unplug(0) } else { story.kernel.setPowered(false, adapter: 0) }
            let end = await failure { for try await _ in ending {} }
            #expect(end?.code == (isReplug ? .noAdapter : .adapterOff))
            try await story.radio.sleep(for: .seconds(10))
            // A scan that is left while the adapter is away does not come back.
            do { _ = left.makeAsyncIterator() }
            if isReplug {
                story.kernel.plug()
                index = story.kernel.plug(controller)
                #expect(index == 1)
            } else {
                story.kernel.setPowered(true, adapter: 0)
            }
            let back = story.radio.now
            for try await advertisement in resuming where advertisement.time > back {
                #expect(advertisement.address == peripheral.address)
                break
            }
            try await story.settle { [index] in !story.kernel.isScanning(adapter: index) }
        }
    }

    @Test func aResumedScanEndsWithTheAdapter() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            var options = ScanOptions()
            options.whenAdapterLeaves = .resume
            let stream = try await adapter.scan(options)
            story.kernel.unplug(0)
            try await story.settle { adapter.state == .absent }
            let reading = story.begin { for try await _ in stream {} }
            try await story.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(await failure { try await reading.value }?.code == .cancelled)
        }
    }

    @Test func twoAdaptersLiveApart() async throws {
        try await Story.run([controller, SimulatedController()]) { story in
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let other = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let first = try await Adapter.open(.address(address), on: story.kernel)
            let second = try await Adapter.open(.index(1), on: story.kernel)
            let scan = try await second.scan(ScanOptions(duplicates: .all))
            let ending = try await first.scan()
            let lost = try await first.connect(to: peripheral.address)
            let kept = try await second.connect(to: other.address)
            story.kernel.unplug(0)
            #expect(await failure { for try await _ in ending {} }?.code == .noAdapter)
            try await story.settle { first.state == .absent }
            #expect(second.state == .poweredOn)
            _ = await lost.closed()
            let isKept = await kept.isConnected
            #expect(isKept)
            let now = story.radio.now
            for try await advertisement in scan where advertisement.time > now { break }
            story.kernel.plug(controller)
            try await first.ready(timeout: .seconds(1))
            let again = try await first.connect(to: peripheral.address)
            await again.disconnect()
            await kept.disconnect()
        }
    }

    @Test func anAdapterThatCouldNotBePoweredOffIsStillKeptOn() async throws {
        try await Story.run([controller]) { story in
            let adapter = try await Adapter.open(power: .keepOn, on: story.kernel)
            story.kernel.setRefusal(.failed, of: .setPowered)
            #expect(await failure { try await adapter.setPowered(false) }?.code == .failed)
            story.kernel.setRefusal(nil, of: .setPowered)
            #expect(adapter.state == .poweredOn)
            var states = adapter.states.makeAsyncIterator()
            #expect(try await next(&states) == .poweredOn)
            story.kernel.setPowered(false, adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            try await adapter.ready(timeout: .seconds(5))
        }
    }

    @Test func connectionsThatAreDroppedLeaveNothingBehind() async throws {
        try await Story.run([controller]) { story in
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let adapter = try await Adapter.open(on: story.kernel)
            for _ in 0..<3 {
                _ = try await adapter.connect(to: peripheral.address)
                try await story.radio.sleep(for: .seconds(3))
            }
            #expect(await adapter.session.linkCount == 0)
        }
    }

    @Test func flappingLeavesNothingBehind() async throws {
        try await Story.run([controller]) { story in
            SimulatedPeripheral(on: story.radio)
            let adapter = try await Adapter.open(power: .keepOn, on: story.kernel)
            var options = ScanOptions()
            options.whenAdapterLeaves = .resume
            let scan = try await adapter.scan(options)
            var index: UInt16 = 0
            for round in 0..<1000 {
                switch round % 3 {
                case 0: story.kernel.setPowered(false, adapter: index)
                case 1:
                    story.kernel.setRadioSwitch(adapter: index, isSoftBlocked: true)
                    story.kernel.setRadioSwitch(adapter: index)
                default:
                    story.kernel.unplug(index)
                    index = story.kernel.plug(SimulatedController(address: address, isPowered: false))
                }
                if round % 7 != 0 { try await adapter.ready(timeout: .seconds(5)) }
            }
            try await adapter.ready(timeout: .seconds(5))
            try await story.settle { [index] in story.kernel.isScanning(adapter: index) }
            let waiting = await adapter.session.life.readyWaiters.count
            #expect(waiting == 0)
            let isRestoring = await adapter.session.life.restoration != nil
            #expect(!isRestoring)
            #expect(adapter.information.index == index)
            withExtendedLifetime(scan) {}
        }
    }
}
