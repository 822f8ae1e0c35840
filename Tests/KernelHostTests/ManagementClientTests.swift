import BluetoothHost
import KernelHost
import Management
import Synchronization
import TestSupport
import Testing

@testable import SimulatedKernel

@Suite struct ManagementClientTests {
    /// Runs `body` on a machine with an adapter, in virtual time.
    private static func run(
        _ body: @escaping @Sendable (SimulatedRadio, SimulatedKernel) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [SimulatedController()])
        try await radio.run(limit: .seconds(600), stallGrace: .seconds(2)) { try await body(radio, kernel) }
        radio.tearDown()
    }

    @Test func whatIsNeverAnsweredGivesUpItsPlace() async throws {
        try await Self.run { radio, kernel in
            let management = ManagementCaller(on: kernel)
            let notices = Mutex<[AdapterNotice]>([])
            try await management.follow { notice in notices.withLock { $0.append(notice) } }
            kernel.setSilent(true, for: .setConnectable)
            let lost = Task(executorPreference: radio.loop) {
                try await management.send(.setConnectable(true), to: 0)
            }
            try await radio.sleep(for: .seconds(5))
            // This one waits behind it, others do not.
            let behind = Task(executorPreference: radio.loop) {
                try await management.send(.setConnectable(true), to: 0)
            }
            _ = try await management.send(.readControllerIndexList)
            kernel.setSilent(false, for: .setConnectable)
            #expect(await failure { _ = try await lost.value }?.code == .timedOut)
            _ = try await behind.value
            #expect(radio.now.nanoseconds < 11_000_000_000)
            // From now on there is nothing to wait for, and one socket that tells everything once.
            let time = try await radio.duration { _ = try await management.send(.setConnectable(false), to: 0) }
            #expect(time < .seconds(1))
            #expect(kernel.managementSocketCount == 1)
            notices.withLock { $0 = [] }
            kernel.unplug(0)
            try await radio.sleep(for: .seconds(1))
            #expect(notices.withLock { $0.count } == 2)
            await management.close(.cancelled(.init("test")))
        }
    }

    @Test func severalFollowUntilTheyDoNot() async throws {
        try await Self.run { radio, kernel in
            let management = ManagementCaller(on: kernel)
            let counts = Mutex([0, 0])
            let first = try await management.follow { _ in counts.withLock { $0[0] += 1 } }
            try await management.follow { _ in counts.withLock { $0[1] += 1 } }
            kernel.setPowered(false, adapter: 0)
            try await radio.sleep(for: .seconds(1))
            await management.unfollow(first)
            // What is changed here is told as well.
            _ = try await management.send(.setPowered(true), to: 0)
            #expect(counts.withLock { $0 } == [1, 2])
            await management.close(.cancelled(.init("test")))
            #expect(kernel.managementSocketCount == 0)
            #expect(await failure { try await management.follow { _ in } }?.code == .cancelled)
        }
    }
}

extension SimulatedKernel {
    /// How many management sockets are open.
    fileprivate var managementSocketCount: Int { withHost { $0.management.sockets.count } }
}
