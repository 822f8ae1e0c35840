import BluetoothHCI
import BluetoothSimulation
import Testing

struct ScanningTests {
    @Test func theOtherGenerationOfCommandsIsRefused() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [
            SimulatedController(family: .legacy), SimulatedController(family: .extended),
        ])
        let legacy = LESetScanParameters(timing: LEScanTiming(type: .active, interval: 0x10, window: 0x10))
        let extended = extendedScan
        try await radio.run {
            let (old, new) = (try kernel.hci(0), try kernel.hci(1))
            #expect(try await old.perform(legacy) == .success)
            #expect(try await old.perform(extended) == .commandDisallowed)
            #expect(try await new.perform(extended) == .success)
            #expect(try await new.perform(legacy) == .commandDisallowed)
        }
    }

    @Test func aScanHasItsRules() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        try await radio.run {
            let scanner = try kernel.hci()
            let on = LESetExtendedScanEnable(isEnabled: true)
            let off = LESetExtendedScanEnable(isEnabled: false)
            #expect(try await scanner.perform(off) == .commandDisallowed)
            #expect(try await scanner.perform(extendedScan) == .success)
            #expect(try await scanner.perform(on) == .success)
            #expect(try await scanner.perform(extendedScan) == .commandDisallowed)
            #expect(try await scanner.perform(on) == .success)
            #expect(try await scanner.perform(off) == .success)
        }
    }

    @Test func duplicatesAreFilteredOnlyWhenAskedFor() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        for _ in 0..<3 { SimulatedPeripheral(on: radio, advertisements: [.beacon([2, 1, 6])]) }
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(extendedScan) == .success)
            for (duplicates, counts) in [(LEDuplicateFilter.enabled, 3...3), (.disabled, 20...30)] {
                let on = LESetExtendedScanEnable(isEnabled: true, duplicates: duplicates)
                #expect(try await scanner.perform(on) == .success)
                try await radio.sleep(for: .seconds(1))
                #expect(counts.contains(scanner.takeReports()))
            }
        }
    }

    @Test func connectingSwitchesARawScanOffAndDoesNotRestoreIt() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
        SimulatedPeripheral(on: radio, advertisements: [.beacon([2, 1, 6])])
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(extendedScan) == .success)
            let on = LESetExtendedScanEnable(isEnabled: true)
            #expect(try await scanner.perform(on) == .success)
            _ = try await scanner.nextReport()
            let channel = try kernel.connect(to: peripheral.address)
            #expect(await channel.tap.next() == .writable)
            // The answers to the kernel's own commands were received as well; ours is the next.
            while scanner.receive() != nil {}
            let off = LESetExtendedScanEnable(isEnabled: false)
            #expect(try await scanner.perform(off) == .commandDisallowed)
        }
    }

    @Test func longAdvertisementsComeInParts() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let data = (0..<600).map { UInt8(truncatingIfNeeded: $0) }
        SimulatedPeripheral(
            on: radio,
            advertisements: [
                SimulatedAdvertisement(data: data, isConnectable: false, isScannable: false, isLegacy: false)
            ])
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(extendedScan) == .success)
            let on = LESetExtendedScanEnable(isEnabled: true, duplicates: .enabled)
            #expect(try await scanner.perform(on) == .success)
            var heard: [UInt8] = []
            for _ in 0..<3 { heard += try await scanner.nextReport().1 }
            #expect(heard == data)
        }
    }

    @Test func malformedDataIsReportedAsItIs() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        for (_, data) in SimulatedAdvertisement.malformed {
            SimulatedPeripheral(on: radio, advertisements: [.beacon(data)])
        }
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(extendedScan) == .success)
            let on = LESetExtendedScanEnable(isEnabled: true, duplicates: .enabled)
            #expect(try await scanner.perform(on) == .success)
            var heard: Set<[UInt8]> = []
            for _ in SimulatedAdvertisement.malformed { heard.insert(try await scanner.nextReport().1) }
            #expect(heard == Set(SimulatedAdvertisement.malformed.map(\.data)))
        }
    }

    @Test func outOfRangeNothingIsHeard() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let address = try #require(try kernel.adapters().first?.address)
        let (near, far) = (SimulatedPeripheral(on: radio), SimulatedPeripheral(on: radio))
        radio.setInRange(false, address, far.address)
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(try await scanner.perform(extendedScan) == .success)
            let on = LESetExtendedScanEnable(isEnabled: true)
            #expect(try await scanner.perform(on) == .success)
            for _ in 0..<10 { #expect(try await scanner.nextReport().0 == near.address) }
            near.setHidden(true)
            radio.setInRange(true, address, far.address)
            try await radio.sleep(for: .milliseconds(1))
            while scanner.receive() != nil {}
            #expect(try await scanner.nextReport().0 == far.address)
        }
    }

    /// New devices may be allocated at the address of devices that were out of range.
    @Test func whoWasOutOfRangeIsForgottenWhenGone() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let address = try #require(try kernel.adapters().first?.address)
        try await radio.run {
            for _ in 0..<10 {
                let gone = SimulatedPeripheral(on: radio)
                radio.setInRange(false, address, gone.address)
                gone.remove()
                let channel = try kernel.connect(to: SimulatedPeripheral(on: radio) { _ in Echo() }.address)
                #expect(await channel.tap.next() == .writable)
            }
        }
    }

    @Test func aSilentControllerAnswersNothing() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        kernel.setSilent(true, adapter: 0)
        try await radio.run {
            let scanner = try kernel.hci()
            #expect(scanner.send(try HCIReadBDADDR().packet()) == .sent)
            try await radio.sleep(for: .seconds(10))
            #expect(scanner.receive() == nil)
        }
    }
}

extension Channel {
    /// Receives all packets and counts the advertising reports among them.
    func takeReports() -> Int {
        var count = 0
        while let packet = receive() {
            guard let event = try? HCIEventPacket(decoding: packet.span.bytes),
                let reports = try? event.advertisingReports()
            else { continue }
            count += reports.remainingCount
        }
        return count
    }
}
