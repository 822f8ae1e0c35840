import ArgumentParser
import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Testing

@testable import ble

/// `ble selftest` is interrupted at any moment, in virtual time: everything is as before.
@Suite struct SelfTestInterruptionTests {
    /// What must be the same before and after.
    private struct State: Equatable {
        var settings: [String] = []
        var links = 0
        /// The keys of the adapters with each other.
        var keys = 0
        var advertisingSets = 0

        init(of kernel: SimulatedKernel) async throws {
            let adapters = try await Adapter.all(on: kernel)
            settings = adapters.map { "\($0.name): \($0.activeFeatures)" }
            for adapter in adapters {
                links += kernel.links(adapter: adapter.index).count
                keys += kernel.longTermKeys(adapter: adapter.index)
                    .count { key in adapters.contains { $0.address == key.address } }
                // The sets of an adapter that is off are gone.
                guard adapter.state.isReady else { continue }
                let opened = try await Adapter.open(.id(adapter.id), configuration: .init(bonds: .disabled), on: kernel)
                advertisingSets += await opened.capacity.advertisingSetsInUse ?? 0
                await opened.close()
            }
        }
    }

    /// Runs one test between two adapters, and cancels it after a time; returns the results and the duration.
    private static func run(
        _ test: String, on controller: SimulatedController, cancelledAfter delay: Duration?,
        meanwhile: @escaping @Sendable (SimulatedKernel) -> Void = { _ in }
    ) async throws -> (results: [SelfTestResult], time: Duration, before: State, after: State) {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [controller, controller])
        return try await radio.run(limit: .seconds(3600)) {
            let common = try CommonOptions.parse(["--simulate"])
            let console = Console(common)
            let before = try await State(of: kernel)
            let adapters = try await Adapter.all(on: kernel)
            let clock = BenchmarkClock(loop: radio.loop)
            let run = SelfTestRun(console, only: test == "encrypt" ? ["pair", test] : [test], clock: clock)
            let selfTest = SelfTest(common: common, kernel: kernel, console: console, trace: nil, clock: clock)
            let start = radio.now
            let task = Task(executorPreference: radio.loop) {
                try await selfTest.run(run, on: adapters[0], with: adapters[1])
            }
            if let delay {
                try await radio.sleep(for: delay)
                meanwhile(kernel)
                task.cancel()
            }
            _ = await task.result
            let time = start.duration(to: radio.now)
            // The kernel ends the links of closed sockets after 2 s.
            try await radio.sleep(for: .seconds(5))
            return (run.results, time, before, try await State(of: kernel))
        }
    }

    /// Adapters as they may be found: just plugged in, in use, on for BR/EDR alone.
    private static let controllers: [SimulatedController] = [
        .fresh, SimulatedController(), SimulatedController(isPowered: true, isLEEnabled: false),
    ]

    @Test(arguments: (AdapterTests.titles + ble.LinkTests.titles).map(\.0))
    func everythingIsPutBack(_ test: String) async throws {
        let complete = try await Self.run(test, on: .fresh, cancelledAfter: nil)
        #expect(complete.after == complete.before)
        #expect(complete.results.first { $0.test == test }?.verdict == .passed, "\(complete.results)")
        // Closer together at the beginning, where the adapters are opened.
        var (delay, number) = (Duration.zero, 0)
        while delay < complete.time {
            let controller = Self.controllers[number % Self.controllers.count]
            let ended = try await Self.run(test, on: controller, cancelledAfter: delay)
            #expect(ended.after == ended.before, "\(test) after \(delay), \(controller)")
            let left = ended.results.first { $0.test == "restore" }
            #expect(left == nil, "\(test) after \(delay): \(left?.text ?? "")")
            number += 1
            delay = delay * 3 + .milliseconds(1 + number)
        }
    }

    @Test func whatCannotBePutBackIsSaidWithTheCommandThatDoes() async throws {
        let ended = try await Self.run("scan.passive", on: .fresh, cancelledAfter: .seconds(1)) { kernel in
            kernel.setRefusal(.failed, of: .setPowered)
        }
        let left = try #require(ended.results.first { $0.test == "restore" })
        #expect(left.verdict == .failed)
        #expect(left.reason?.contains("the power and settings of hci0, which was off") == true, "\(left)")
        for name in ["hci0", "hci1"] {
            #expect(left.remedy?.contains("sudo ble power off -i \(name)") == true, "\(left)")
        }
    }
}
