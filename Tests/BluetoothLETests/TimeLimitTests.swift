import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Time limits around tasks, and tasks on the adapter's loop.
@Suite struct TimeLimitTests {
    private struct Refusal: Error {}

    @Test func aTaskInTimeReturnsItsResult() async throws {
        try await Fixture.run { fixture in
            for limit: Duration? in [nil, .seconds(10)] {
                let value = try await withTimeLimit(limit, on: fixture.radio.loop) {
                    try await fixture.radio.sleep(for: .seconds(1))
                    return 7
                }
                #expect(value == 7)
                let error = await failure { try await withTimeLimit(limit, on: fixture.radio.loop) { throw Refusal() } }
                #expect(error?.underlyingError is Refusal)
            }
        }
    }

    @Test func aTaskThatTakesTooLongIsCancelled() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let time = await fixture.duration {
                let error = await failure {
                    try await withTimeLimit(.seconds(3), on: adapter.loop) {
                        for try await _ in try await adapter.scan() {}
                    }
                }
                #expect(error?.code == .timedOut)
                #expect(error?.isRetryable == true)
            }
            #expect(time >= .seconds(3) && time < .seconds(4))
            try await fixture.settle { !fixture.kernel.isScanning() }
        }
    }

    @Test func aCancelledCallerGetsTheTasksOwnError() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let task = fixture.begin {
                try await withTimeLimit(.seconds(60), on: adapter.loop) {
                    for try await _ in try await adapter.scan() {}
                }
            }
            try await fixture.radio.sleep(for: .seconds(1))
            task.cancel()
            #expect(await failureCode { try await task.value } == .cancelled)
        }
    }

    @Test func withoutALoopTheSystemsClockCounts() async throws {
        let error = await failure {
            try await withTimeLimit(.milliseconds(1)) { try await Task.sleep(for: .seconds(3600)) }
        }
        #expect(error?.code == .timedOut)
    }

    // MARK: On the loop

    @Test func aTaskRunsOnTheLoop() async throws {
        try await TwoMachines.run(time: .real) { machines in
            let adapter = machines.central
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                #expect(!adapter.loop.isCurrent)
                let mtu = try await adapter.run {
                    #expect(adapter.loop.isCurrent)
                    let connection = try await adapter.connect(to: machines.peer)
                    #expect(adapter.loop.isCurrent)
                    async let child = adapter.loop.isCurrent
                    #expect(await child)
                    let isMemberOnLoop = await withTaskGroup { group in
                        group.addTask { adapter.loop.isCurrent }
                        return await group.next()
                    }
                    #expect(isMemberOnLoop == true)
                    let isTaskOnLoop = await Task { adapter.loop.isCurrent }.value
                    #expect(!isTaskOnLoop)
                    let isNamedLoop = await Task(executorPreference: adapter.loop) { adapter.loop.isCurrent }.value
                    #expect(isNamedLoop)
                    return await connection.maximumTransmissionUnit
                }
                #expect(mtu >= 23)
                #expect(!adapter.loop.isCurrent)
            }
        }
    }

    @MainActor @Test func aTaskOfAnActorRunsOnTheLoop() async throws {
        let radio = SimulatedRadio(time: .real, seed: 1)
        let adapter = try await Adapter.open(on: radio.makeKernel(adapters: [SimulatedController()]))
        #expect(await adapter.run { adapter.loop.isCurrent })
        await #expect(throws: Refusal.self) {
            try await adapter.run { () async throws(Refusal) in throw Refusal() }
        }
        #expect(!adapter.loop.isCurrent)
        await adapter.close()
        radio.close()
    }
}
