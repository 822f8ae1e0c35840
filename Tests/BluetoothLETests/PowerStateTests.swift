import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let address = BluetoothAddress(0x00AA_0100_0042, kind: .public)
private let controller = SimulatedController(address: address)

/// One adapter through power, radio switches and hotplug.
@Suite struct PowerStateTests {
    @Test func theStateIsReportedAtOnceAndOnEveryChange() async throws {
        try await Fixture.run([controller]) { fixture in
            let adapter = try await Adapter.open(on: fixture.kernel)
            #expect(adapter.state == .poweredOn)
            var states = adapter.states().makeAsyncIterator()
            #expect(try await next(&states) == .poweredOn)
            fixture.kernel.setPowered(false, adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            #expect(try await next(&states) == .blocked(isHard: false))
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true, isHardBlocked: true)
            #expect(try await next(&states) == .blocked(isHard: true))
            fixture.kernel.setRadioSwitch(adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            fixture.kernel.setPowered(true, adapter: 0)
            #expect(try await next(&states) == .poweredOn)
            fixture.kernel.unplug(0)
            #expect(try await next(&states) == .absent)
            #expect(adapter.state == .absent)
            fixture.kernel.plug(controller)
            #expect(try await next(&states) == .poweredOn)
            await adapter.close()
            #expect(try await next(&states) == nil)
        }
    }

    private func next<Value>(_ iterator: inout BoundedStream<Value>.Iterator) async throws -> Value? {
        try await iterator.next()
    }

    @Test func aSlowConsumerSeesTheLatestState() async throws {
        try await Fixture.withAdapter([controller]) { fixture, adapter in
            let slow = adapter.states()
            let fast = fixture.begin {
                var seen: [AdapterState] = []
                for try await state in adapter.states() {
                    seen.append(state)
                    if state == .absent { break }
                }
                return seen
            }
            for isOn in [false, true, false, true, false] {
                try await fixture.radio.sleep(for: .milliseconds(50))
                fixture.kernel.setPowered(isOn, adapter: 0)
            }
            try await fixture.radio.sleep(for: .milliseconds(50))
            fixture.kernel.unplug(0)
            let seen = try await fast.value
            #expect(seen == [.poweredOn, .poweredOff, .poweredOn, .poweredOff, .poweredOn, .poweredOff, .absent])
            for try await state in slow {
                #expect(state == .absent)
                break
            }
            #expect(slow.missedCount == 6)
            // Leaving its loop ends a stream.
            try await fixture.settle { adapter.session.stateSource.followerCount == 0 }
        }
    }

    @Test(arguments: Ending.allCases) func operationsReportWhyTheAdapterIsUnusable(_ ending: Ending) async throws {
        try await Fixture.withAdapter([controller]) { fixture, adapter in
            ending.happen(to: fixture.kernel)
            try await fixture.settle { !adapter.state.isReady }
            let scan = await failure { _ = try await adapter.scan() }
            let connect = await failure { _ = try await adapter.connect(to: .zero) }
            let time = await fixture.duration {
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
        try await Fixture.withAdapter([controller]) { fixture, adapter in
            try await adapter.ready(timeout: .zero)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle { adapter.state == .poweredOff }
            let waiting = (0..<3).map { _ in fixture.begin { try await adapter.ready(timeout: nil) } }
            let cancelled = fixture.begin { try await adapter.ready(timeout: nil) }
            try await fixture.radio.sleep(for: .seconds(5))
            cancelled.cancel()
            #expect(await failure { try await cancelled.value }?.code == .cancelled)
            fixture.kernel.setPowered(true, adapter: 0)
            for task in waiting { try await task.value }
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle { adapter.state == .poweredOff }
            let closed = fixture.begin { try await adapter.ready(timeout: nil) }
            try await fixture.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(await failure { try await closed.value }?.code == .cancelled)
            #expect(await failure { try await adapter.ready(timeout: nil) }?.code == .cancelled)
        }
    }

    @Test func aReplugUnderAnotherIndexIsTheSameAdapter() async throws {
        try await Fixture.withPeripheral([controller]) { fixture, adapter, peripheral in
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            #expect(adapter.information.name == "hci0")
            // Another adapter takes its index.
            #expect(fixture.kernel.plug() == 0)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .absent)
            #expect(fixture.kernel.plug(controller) == 1)
            try await adapter.ready(timeout: .seconds(1))
            #expect(adapter.information.name == "hci1")
            _ = try await adapter.firstAdvertisement(timeout: .seconds(5)) { $0.address == peripheral.address }
            let connection = try await adapter.connect(to: peripheral.address)
            #expect(fixture.kernel.links(adapter: 1) == [peripheral.address])
            await connection.disconnect()
        }
    }

    @Test(arguments: [PowerPolicy.leave, .powerOn, .keepOn])
    func thePowerPolicyDecidesAboutRestoration(_ power: PowerPolicy) async throws {
        try await Fixture.run([controller]) { fixture in
            let adapter = try await Adapter.open(power: power, on: fixture.kernel)
            // Plugged in again, it is off, with LE off.
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            fixture.kernel.plug(SimulatedController(address: address, isPowered: false, isLEEnabled: false))
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(adapter.state == (power == .leave ? .poweredOff : .poweredOn))
            // Another program powers it on without LE, as `btmgmt power on` does.
            if power == .leave { fixture.kernel.setPowered(true, adapter: 0) }
            try await adapter.ready(timeout: .seconds(1))

            // Released by its radio switch.
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await fixture.settle { adapter.state == .blocked(isHard: false) }
            fixture.kernel.setRadioSwitch(adapter: 0)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(adapter.state == (power == .leave ? .poweredOff : .poweredOn))
            if power == .leave { fixture.kernel.setPowered(true, adapter: 0) }
            try await adapter.ready(timeout: .seconds(1))

            // Another program powers it off.
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(adapter.state == (power == .keepOn ? .poweredOn : .poweredOff))
            if power != .keepOn {
                // It stays off after the radio switch was on for a time.
                fixture.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
                try await fixture.settle { adapter.state == .blocked(isHard: true) }
                fixture.kernel.setRadioSwitch(adapter: 0)
                try await fixture.radio.sleep(for: .seconds(1))
                #expect(adapter.state == .poweredOff)
            }

            // This program's own request counts.
            try await adapter.setPowered(true)
            #expect(adapter.state == .poweredOn)
            try await adapter.setPowered(false)
            #expect(adapter.state == .poweredOff)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .poweredOff)
            try await adapter.setPowered(true)
            #expect(adapter.state == .poweredOn)
        }
    }

    @Test func poweringReportsWhyItFails() async throws {
        try await Fixture.run([controller]) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await fixture.settle { !adapter.state.isReady }
            #expect(await failure { try await adapter.setPowered(true) }?.code == .adapterBlocked)
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            #expect(await failure { try await adapter.setPowered(true) }?.code == .noAdapter)
            #expect(await failure { try await adapter.setPowered(false) }?.code == .noAdapter)
            fixture.kernel.plug(controller)
            try await adapter.ready(timeout: .seconds(1))
            // A busy adapter is waited for.
            fixture.kernel.setRefusal(.busy, of: .setPowered)
            let off = fixture.begin { try await adapter.setPowered(false) }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.kernel.setRefusal(nil, of: .setPowered)
            try await off.value
            #expect(adapter.state == .poweredOff)
            await adapter.close()
            #expect(await failure { try await adapter.setPowered(true) }?.code == .cancelled)
        }
    }

    @Test func aMissingCapabilityToRestoreItIsReported() async throws {
        try await Fixture.run([controller]) { fixture in
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            fixture.kernel.plug(SimulatedController(address: address, isPowered: false))
            try await fixture.settle { adapter.state == .poweredOff }
            let error = await failure { try await adapter.ready(timeout: .seconds(1)) }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("setcap") == true)
            fixture.kernel.setPowered(true, adapter: 0)
            try await adapter.ready(timeout: .seconds(1))
        }
    }

    @Test func theNextRestorationIsLaterEachTime() {
        let delays = (1...10).map { PowerStateMachine.Restoration(failureCount: $0).retryDelay }
        let seconds = [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
        #expect(delays == seconds.map { .seconds($0) })
    }

    @Test func withoutPermissionToFollowRadioSwitchesTheyAreReadOnDemand() async throws {
        try await Fixture.run([controller]) { fixture in
            fixture.kernel.canWatchRadioSwitches = false
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await fixture.settle { adapter.state == .blocked(isHard: false) }
            fixture.kernel.setRadioSwitch(adapter: 0)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .blocked(isHard: false))
            try await adapter.ready(timeout: .seconds(1))
            #expect(adapter.state == .poweredOn)
        }
    }

    @Test(arguments: [false, true]) func scansEndOrResumeByOption(_ isReplug: Bool) async throws {
        try await Fixture.run([controller]) { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            var options = ScanOptions(duplicates: .all)
            let ending = try await adapter.scan(options)
            options.whenAdapterUnavailable = .resume
            let resuming = try await adapter.scan(options)
            let left = try await adapter.scan(options)
            var index: UInt16 = 0
            if isReplug { fixture.kernel.unplug(0) } else { fixture.kernel.setPowered(false, adapter: 0) }
            let end = await failure { for try await _ in ending {} }
            #expect(end?.code == (isReplug ? .noAdapter : .adapterOff))
            try await fixture.radio.sleep(for: .seconds(10))
            // A scan whose loop is left while the adapter is absent is not resumed.
            do { _ = left.makeAsyncIterator() }
            if isReplug {
                fixture.kernel.plug()
                index = fixture.kernel.plug(controller)
                #expect(index == 1)
            } else {
                fixture.kernel.setPowered(true, adapter: 0)
            }
            let back = fixture.radio.now
            for try await advertisement in resuming where advertisement.time > back {
                #expect(advertisement.address == peripheral.address)
                break
            }
            try await fixture.settle { [index] in !fixture.kernel.isScanning(adapter: index) }
        }
    }

    @Test func aResumedScanEndsWithTheAdapter() async throws {
        try await Fixture.withAdapter([controller]) { fixture, adapter in
            var options = ScanOptions()
            options.whenAdapterUnavailable = .resume
            let stream = try await adapter.scan(options)
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            let reading = fixture.begin { for try await _ in stream {} }
            try await fixture.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(await failure { try await reading.value }?.code == .cancelled)
        }
    }

    @Test func twoAdaptersAreIndependent() async throws {
        try await Fixture.run([controller, SimulatedController()]) { fixture in
            let peripheral = try fixture.makePeripheral()
            let other = try fixture.makePeripheral()
            let first = try await Adapter.open(.address(address), on: fixture.kernel)
            let second = try await Adapter.open(.index(1), on: fixture.kernel)
            let scan = try await second.scan(ScanOptions(duplicates: .all))
            let ending = try await first.scan()
            let lost = try await first.connect(to: peripheral.address)
            let kept = try await second.connect(to: other.address)
            fixture.kernel.unplug(0)
            #expect(await failure { for try await _ in ending {} }?.code == .noAdapter)
            try await fixture.settle { first.state == .absent }
            #expect(second.state == .poweredOn)
            _ = await lost.disconnected()
            #expect(await kept.isConnected)
            let now = fixture.radio.now
            for try await advertisement in scan where advertisement.time > now { break }
            fixture.kernel.plug(controller)
            try await first.ready(timeout: .seconds(1))
            let again = try await first.connect(to: peripheral.address)
            await again.disconnect()
            await kept.disconnect()
        }
    }

    @Test func anAdapterThatFailedToPowerOffIsKeptOn() async throws {
        try await Fixture.run([controller]) { fixture in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            fixture.kernel.setRefusal(.failed, of: .setPowered)
            #expect(await failure { try await adapter.setPowered(false) }?.code == .failed)
            fixture.kernel.setRefusal(nil, of: .setPowered)
            #expect(adapter.state == .poweredOn)
            var states = adapter.states().makeAsyncIterator()
            #expect(try await next(&states) == .poweredOn)
            fixture.kernel.setPowered(false, adapter: 0)
            #expect(try await next(&states) == .poweredOff)
            try await adapter.ready(timeout: .seconds(5))
        }
    }

    @Test func releasedConnectionsLeaveNothingBehind() async throws {
        try await Fixture.withPeripheral([controller]) { fixture, adapter, peripheral in
            for _ in 0..<3 {
                _ = try await adapter.connect(to: peripheral.address)
                try await fixture.radio.sleep(for: .seconds(3))
            }
            #expect(await adapter.session.linkCount == 0)
        }
    }

    @Test func flappingLeavesNothingBehind() async throws {
        try await Fixture.run([controller]) { fixture in
            SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            var options = ScanOptions()
            options.whenAdapterUnavailable = .resume
            let scan = try await adapter.scan(options)
            var index: UInt16 = 0
            for round in 0..<1000 {
                switch round % 3 {
                case 0: fixture.kernel.setPowered(false, adapter: index)
                case 1:
                    fixture.kernel.setRadioSwitch(adapter: index, isSoftBlocked: true)
                    fixture.kernel.setRadioSwitch(adapter: index)
                default:
                    fixture.kernel.unplug(index)
                    index = fixture.kernel.plug(SimulatedController(address: address, isPowered: false))
                }
                if round % 7 != 0 { try await adapter.ready(timeout: .seconds(5)) }
            }
            try await adapter.ready(timeout: .seconds(5))
            try await fixture.settle { [index] in fixture.kernel.isScanning(adapter: index) }
            #expect(await adapter.session.readyWaiterCount == 0)
            #expect(await !adapter.session.isRestoring)
            #expect(adapter.information.index == index)
            withExtendedLifetime(scan) {}
        }
    }
}
