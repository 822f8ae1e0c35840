import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct OpeningFaultTests {
    /// Every command sent while opening is refused, or remains without a response, in turn.
    @Test(
        arguments: [
            ManagementOpcode.readControllerIndexList, .readControllerInformation, .setLowEnergy, .setStaticAddress,
            .setPowered,
        ], [ManagementStatus.failed, .busy, .rejected, .permissionDenied, .invalidIndex, nil])
    func openingEndsWhateverTheKernelAnswers(_ opcode: ManagementOpcode, _ status: ManagementStatus?) async throws {
        let bare = SimulatedController(address: .zero, isPowered: false, isLEEnabled: false)
        try await Fixture.run([bare]) { fixture in
            if let status {
                fixture.kernel.setRefusal(status, of: opcode)
            } else {
                fixture.kernel.setSilent(true, for: opcode)
            }
            let time = await fixture.duration {
                let error = await failure { _ = try await Adapter.open(power: .powerOn, on: fixture.kernel) }
                #expect(error != nil)
            }
            #expect(time < .seconds(21))
            try await fixture.settle { fixture.kernel.managementSocketCount == 0 }
            fixture.kernel.setRefusal(nil, of: opcode)
            fixture.kernel.setSilent(false, for: opcode)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            #expect(adapter.state == .poweredOn)
        }
    }

    /// The same while an adapter is restored after hotplug.
    @Test(
        arguments: [ManagementOpcode.readControllerInformation, .setLowEnergy, .setStaticAddress, .setPowered],
        [ManagementStatus.failed, .rejected, .permissionDenied, nil])
    func restorationEndsWhateverTheKernelAnswers(_ opcode: ManagementOpcode, _ status: ManagementStatus?) async throws {
        let bare = SimulatedController(address: .zero, isPowered: false, isLEEnabled: false)
        try await Fixture.run([bare]) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            if let status {
                fixture.kernel.setRefusal(status, of: opcode)
            } else {
                fixture.kernel.setSilent(true, for: opcode)
            }
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            fixture.kernel.plug(bare)
            let error = await failure { try await adapter.ready(timeout: .seconds(30)) }
            #expect(error != nil)
            #expect(await !adapter.session.isRestoring)
            fixture.kernel.setRefusal(nil, of: opcode)
            fixture.kernel.setSilent(false, for: opcode)
            // A failed restoration is repeated when the adapter is plugged in again.
            fixture.kernel.unplug(0)
            fixture.kernel.plug(bare)
            try await adapter.ready(timeout: .seconds(5))
        }
    }
}
