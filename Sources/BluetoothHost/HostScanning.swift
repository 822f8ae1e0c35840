import BluetoothHCI

/// The scanner of an adapter.
///
/// What is declared holds until it is declared otherwise, beside the scans of others; it is brought back when the adapter is
/// back.
//
// Lives on the loop, with the session.
package protocol HostScanning: AnyObject {
    /// Who hears what is scanned. Kept, as each report passes here, so it keeps no host in turn.
    var receiver: (any HostScanReceiver)? { get set }

    /// Declares what is wanted, nil for nothing; nobody waits.
    func setScan(_ wanted: ScanSettings?)

    /// Declares what is wanted; returns when it is so, or will be by itself as soon as another program lets it.
    nonisolated(nonsending) func scan(
        _ wanted: ScanSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Makes sure, for up to `timeout`, that nothing of a scan keeps a connection from being made.
    nonisolated(nonsending) func prepareToConnect(timeout: Duration?) async

    /// What the controller can do.
    nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> LEFeatures
}

/// Who hears what an adapter scans.
package protocol HostScanReceiver: AnyObject {
    /// Takes reports, which are lent.
    func receive(_ reports: AdvertisingReports)

    /// Scanning has stopped for now: chains of packets will not be completed.
    func scanStopped()

    /// What was declared has failed, or the adapter leaves, for good or not; says what is wanted from now on.
    func scanEnded(_ reason: BluetoothError, isForGood: Bool) -> ScanSettings?
}

/// What a scanner is asked to do, or was told to by somebody else.
package struct ScanSettings: Hashable {
    package var le1M: LEScanTiming?
    package var leCoded: LEScanTiming?
    package var filterPolicy = LEScanFilterPolicy.all

    package init(
        le1M: LEScanTiming?, leCoded: LEScanTiming? = nil, filterPolicy: LEScanFilterPolicy = .all
    ) {
        self.le1M = le1M
        self.leCoded = leCoded
        self.filterPolicy = filterPolicy
    }

    /// Whether devices are asked for their scan response.
    package var isActive: Bool { le1M?.type == .active || leCoded?.type == .active }

    /// What serves both: everybody's advertisements, on the PHYs of both, as often as the keener one wants.
    package func united(with other: ScanSettings) -> ScanSettings {
        var united = self
        united.le1M = Self.united(le1M, other.le1M)
        united.leCoded = Self.united(leCoded, other.leCoded)
        united.filterPolicy = .all
        return united
    }

    private static func united(_ one: LEScanTiming?, _ other: LEScanTiming?) -> LEScanTiming? {
        guard let one, let other else { return one ?? other }
        let interval = min(one.interval, other.interval)
        let isActive = one.type == .active || other.type == .active
        return LEScanTiming(
            type: isActive ? .active : .passive, interval: interval,
            window: min(max(one.window, other.window), interval))
    }
}
