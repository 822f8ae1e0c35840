import BluetoothSimulation

@testable import BluetoothLE

/// An adapter that scans and has heard a beacon, which advertises ten times a second.
struct ListeningAdapter {
    let adapter: Adapter
    /// The events of its health.
    let events: BoundedStream<HealthEvent>
    /// The reports of its scan.
    var reports: BoundedStream<Advertisement>.AsyncIterator

    init(
        _ fixture: Fixture, power: PowerPolicy = .powerOn, recovery: RecoveryOptions = RecoveryOptions(),
        _ policy: AdapterUnavailablePolicy = .end
    ) async throws {
        SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 0x01, 0x06])])
        adapter = try await Adapter.open(power: power, configuration: .init(recovery: recovery), on: fixture.kernel)
        events = await adapter.healthEvents(bufferCapacity: 1000)
        let scan = try await adapter.scan(ScanOptions(duplicates: .all, whenAdapterUnavailable: policy))
        reports = scan.makeAsyncIterator()
        _ = try await reports.next()
    }

    /// The first report from now on; nil if the scan has ended.
    mutating func nextReport(_ fixture: Fixture) async throws -> Advertisement? {
        let now = fixture.radio.now
        while let report = try await reports.next() { if report.time >= now { return report } }
        return nil
    }
}

extension BoundedStream<HealthEvent> {
    /// The steps of a recovery, up to the event with which it ends.
    func steps() async throws -> (tried: [RecoveryStep], helped: RecoveryStep?) {
        var tried: [RecoveryStep] = []
        for try await event in self {
            if let step = event.began { tried.append(step) }
            if event.isRecovered { return (tried, event.helpfulStep) }
        }
        return (tried, nil)
    }
}
