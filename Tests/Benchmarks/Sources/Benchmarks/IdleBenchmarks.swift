import BluetoothLE
import CBenchmarkSupport
import Glibc
import LinuxKernel

/// What connections cost on which nothing happens.
func idleBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let kernel = try LinuxKernel()
    let count = 200
    let first = try await Link.make(on: kernel)

    var links: [Link] = []
    links.reserveCapacity(count)
    benchmark_start_counting()
    for _ in 0..<count { links.append(try await Link.make(on: kernel)) }
    let memory = benchmark_stop_counting()

    // The thread that watches wakes up at the end of its own sleep, which is not the connections' doing.
    let start = benchmark_usage_of_other_threads()
    var time = timespec(tv_sec: Int(harness.options.idleSeconds), tv_nsec: 0)
    nanosleep(&time, nil)
    let end = benchmark_usage_of_other_threads()
    let switches = end.voluntary_switches - start.voluntary_switches
    let cpu = end.microseconds - start.microseconds

    let ends = Double(2 * count)
    for link in links + [first] { await link.client.disconnect() }
    return Report.Section(
        title: "Idle: \(2 * count) connections for \(Int(harness.options.idleSeconds)) s", measurements: [],
        facts: [
            Report.Fact(name: "wake-ups of other threads", value: Double(switches), unit: "", goal: 0),
            Report.Fact(name: "processor time of other threads", value: Double(cpu), unit: "µs", goal: 0),
            Report.Fact(
                name: "memory of an idle connection, with socket and timers", value: Double(memory.bytes) / ends,
                unit: "bytes"),
            Report.Fact(
                name: "allocations to make a connection, with the exchange of the ATT_MTU",
                value: Double(memory.count) / ends, unit: ""),
        ])
}
