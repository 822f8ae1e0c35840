import BluetoothGATT
import BluetoothLE
import BluetoothLinux
import CBenchmarkSupport
import Glibc

/// The cost of idle connections.
func idleBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let kernel = try LinuxKernel()
    let database = try AttributeDatabase.benchmark
    let count = 500
    allowDescriptors(2 * count + 64)
    var links = [try await Link.make(on: kernel, database)]
    links.reserveCapacity(count + 1)

    benchmark_start_counting()
    // On the loop: the thread pool keeps memory of its own for each change of threads.
    links += try await withTaskExecutorPreference(kernel.loop) {
        var links: [Link] = []
        links.reserveCapacity(count)
        for _ in 0..<count { links.append(try await Link.make(on: kernel, database)) }
        return links
    }
    let made = benchmark_stop_counting()

    // One more call, after which the loop sleeps; on a busy machine that can take a while.
    await kernel.loop.run {}
    var start = benchmark_usage_of_threads("bluetooth-loop")
    for _ in 0..<50 {
        sleep(milliseconds: 100)
        let now = benchmark_usage_of_threads("bluetooth-loop")
        defer { start = now }
        if now.nanoseconds == start.nanoseconds { break }
    }
    sleep(milliseconds: Int(harness.options.idleSeconds * 1000))
    let end = benchmark_usage_of_threads("bluetooth-loop")

    for link in links { await link.client.disconnect() }
    let ends = Double(2 * count)
    return Report.Section(
        title: "Idle: \(2 * count) connections for \(number(harness.options.idleSeconds)) s", measurements: [],
        facts: [
            Report.Fact(
                name: "wake-ups", value: Double(end.voluntary_switches - start.voluntary_switches), unit: "", goal: 0),
            Report.Fact(
                name: "processor time", value: Double(end.nanoseconds - start.nanoseconds), unit: "ns", goal: 0),
            Report.Fact(
                name: "memory of a connection, besides what it serves", value: Double(made.bytes) / ends, unit: "bytes",
                goal: 2_400),
            Report.Fact(
                name: "allocations to make a connection and agree on the ATT_MTU", value: Double(made.count) / ends,
                unit: "", goal: 30),
        ])
}

/// Raises this process's limit of open files as far as permitted.
func allowDescriptors(_ count: Int) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < count else { return }
    limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

private func sleep(milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    nanosleep(&time, nil)
}
