import KernelHost
import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct ManagementClientTests {
    @Test func whatIsNeverAnsweredGivesUpItsPlace() async throws {
        try await Fixture.run { fixture in
            let management = ManagementUser(on: fixture.kernel)
            let notices = Mutex<[AdapterNotice]>([])
            try await management.follow { notice in notices.withLock { $0.append(notice) } }
            fixture.kernel.setSilent(true, for: .setConnectable)
            let lost = fixture.begin { try await management.send(.setConnectable(true), to: 0) }
            try await fixture.radio.sleep(for: .seconds(5))
            // This one waits behind it, others do not.
            let behind = fixture.begin { try await management.send(.setConnectable(true), to: 0) }
            _ = try await management.send(.readControllerIndexList)
            fixture.kernel.setSilent(false, for: .setConnectable)
            #expect(await failure { _ = try await lost.value }?.code == .timedOut)
            _ = try await behind.value
            #expect(fixture.radio.now.nanoseconds < 11_000_000_000)
            // From now on there is nothing to wait for, and one socket that tells everything once.
            let time = try await fixture.duration { _ = try await management.send(.setConnectable(false), to: 0) }
            #expect(time < .seconds(1))
            #expect(fixture.kernel.managementSocketCount == 1)
            notices.withLock { $0 = [] }
            fixture.kernel.unplug(0)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(notices.withLock { $0.count } == 2)
            await management.close(.cancelled(.init("test")))
        }
    }

    @Test func severalFollowUntilTheyDoNot() async throws {
        try await Fixture.run { fixture in
            let management = ManagementUser(on: fixture.kernel)
            let counts = Mutex([0, 0])
            let first = try await management.follow { _ in counts.withLock { $0[0] += 1 } }
            try await management.follow { _ in counts.withLock { $0[1] += 1 } }
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(1))
            await management.unfollow(first)
            // What is changed here is told as well.
            _ = try await management.send(.setPowered(true), to: 0)
            #expect(counts.withLock { $0 } == [1, 2])
            await management.close(.cancelled(.init("test")))
            #expect(fixture.kernel.managementSocketCount == 0)
            #expect(await failure { try await management.follow { _ in } }?.code == .cancelled)
        }
    }

    /// Every command that opening makes is refused, or never answered, in turn.
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

    /// The same while an adapter is switched on again after it was plugged in again.
    @Test(
        arguments: [ManagementOpcode.readControllerInformation, .setLowEnergy, .setStaticAddress, .setPowered],
        [ManagementStatus.failed, .rejected, .permissionDenied, nil])
    func comingBackEndsWhateverTheKernelAnswers(_ opcode: ManagementOpcode, _ status: ManagementStatus?) async throws {
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
            let isRestoring = await adapter.session.life.restoration != nil
            #expect(!isRestoring)
            fixture.kernel.setRefusal(nil, of: opcode)
            fixture.kernel.setSilent(false, for: opcode)
            // What has failed is tried again when it comes again.
            fixture.kernel.unplug(0)
            fixture.kernel.plug(bare)
            try await adapter.ready(timeout: .seconds(5))
        }
    }
}
