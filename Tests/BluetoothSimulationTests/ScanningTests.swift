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
            for _ in SimulatedAdvertisement.malformed { heard.insert(try await scanner.nextReportedData()) }
            #expect(heard == Set(SimulatedAdvertisement.malformed.map(\.data)))
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
}
