import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// What can go wrong with a scan at any packet to or from the controller.
enum ScanFault: String, CaseIterable, Sendable {
    case cancel, unplug, powerOff, silence, otherSwitchesOff, otherSwitchesOn

    /// What the scan may end with; nothing where it goes on.
    var codes: Set<BluetoothError.Code> {
        switch self {
        case .cancel: [.cancelled]
        case .unplug: [.noAdapter, .adapterOff]
        case .powerOff: [.adapterOff]
        case .silence: [.timedOut]
        case .otherSwitchesOff, .otherSwitchesOn: []
        }
    }
}

/// Every fault at every packet of a scan's beginning, course and end: all ends, nothing stays on, and the next scan works.
@Suite struct ScanFaultTests {
    @Test(arguments: [HCIFamily.legacy, .extended], ScanFault.allCases)
    func everyFaultAtEveryPacketEndsTyped(_ family: HCIFamily, _ fault: ScanFault) async throws {
        for isActive in [true, false] {
            let calm = try await Self.run(family, isActive: isActive, nil, at: nil)
            #expect(calm.error == nil)
            #expect(calm.packets >= 10)
            for index in 0..<calm.packets {
                guard let error = try await Self.run(family, isActive: isActive, fault, at: index).error else {
                    continue
                }
                #expect(fault.codes.contains(error.code), "\(fault) at packet \(index): \(error)")
            }
        }
    }

    /// The next command of a scan is refused before anybody has told that the adapter is off.
    @Test(arguments: [HCIFamily.legacy, .extended])
    func aScanThatIsToBeResumedOutlivesACommandThatCannotBeSent(_ family: HCIFamily) async throws {
        try await Fixture.run([family.controller]) { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 1, 6])])
            let kernel = FaultingKernel(fixture.kernel)
            let other = try RawProgram(fixture)
            let adapter = try await Adapter.open(on: kernel)
            var options = ScanOptions(duplicates: .all)
            options.whenAdapterUnavailable = .resume
            var heard = try await adapter.scan(options).makeAsyncIterator()
            for index in 0..<8 {
                let isOff = Mutex(false)
                kernel.arm(at: index, withController: true) {
                    isOff.withLock { $0 = true }
                    fixture.kernel.setPowered(false, adapter: 0)
                }
                try other.stop(family: family.controller.family)
                try await fixture.settle { isOff.withLock { $0 } && adapter.state == .poweredOff }
                fixture.kernel.setPowered(true, adapter: 0)
                let back = fixture.radio.now
                while let advertisement = try await heard.next(), advertisement.time <= back {}
            }
        }
    }

    /// One scan from its beginning to its end, with a fault; says how many packets there were, and what it ended with.
    private static func run(
        _ family: HCIFamily, isActive: Bool, _ fault: ScanFault?, at index: Int?
    ) async throws -> (packets: Int, error: BluetoothError?) {
        let outcome = Mutex((packets: 0, error: BluetoothError?.none))
        try await Fixture.run([family.controller]) { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 1, 6])])
            let kernel = FaultingKernel(fixture.kernel)
            let other = try RawProgram(fixture)
            let adapter = try await Adapter.open(on: kernel)
            let task = Mutex<Task<Void, any Error>?>(nil)
            kernel.arm(at: index, withController: true) {
                switch fault {
                case nil: break
                case .cancel: task.withLock { $0 }?.cancel()
                case .unplug: fixture.kernel.unplug(0)
                case .powerOff: fixture.kernel.setPowered(false, adapter: 0)
                case .silence: fixture.kernel.setSilent(true, adapter: 0)
                case .otherSwitchesOff: try? other.stop(family: family.controller.family)
                case .otherSwitchesOn: try? other.scan(family: family.controller.family)
                }
            }
            let running = fixture.begin {
                var heard = 0
                let options = ScanOptions(isActive: isActive, duplicates: .all)
                for try await _ in try await adapter.scan(options) {
                    heard += 1
                    if heard == 3 { break }
                }
            }
            task.withLock { $0 = running }
            if fault == .silence {
                // A controller that hangs while a scan is on says nothing, so nothing ends; its user gives up.
                try await fixture.radio.sleep(for: .seconds(20))
                running.cancel()
            }
            var error = await failure { try await running.value }
            if fault == .silence, error?.code == .cancelled { error = nil }
            // The end of a scan takes its own time.
            try await fixture.radio.sleep(for: .seconds(1))
            let (packets, ended) = (kernel.count, error)
            outcome.withLock { $0 = (packets, ended) }
            kernel.arm(at: nil) {}
            fixture.kernel.setSilent(false, adapter: 0)
            await adapter.close()
            // Another's scan is its own affair.
            try? other.stop(family: family.controller.family)
            try await fixture.radio.sleep(for: .seconds(1))
            other.close()
            try await again(fixture, family)
        }
        return outcome.withLock { $0 }
    }

    /// A machine on which all is well again scans, and leaves the scanner off.
    private static func again(_ fixture: Fixture, _ family: HCIFamily) async throws {
        if try await Adapter.all(on: fixture.kernel).isEmpty { fixture.kernel.plug(family.controller) }
        let index = try #require(try await Adapter.all(on: fixture.kernel).first?.index)
        let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
        _ = try await adapter.firstAdvertisement(timeout: .seconds(30)) { _ in true }
        try await fixture.settle { !fixture.kernel.isScanning(adapter: index) }
        await adapter.close()
    }
}
