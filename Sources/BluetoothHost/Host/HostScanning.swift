import BluetoothHCI

/// The scanner of an adapter.
///
/// A declared scan runs until it is replaced, beside the scans of other programs; it is restored when the adapter is
/// back.
//
// Lives on the loop, with the session.
package protocol HostScanning: AnyObject {
    /// Declares a scan, nil for none, without waiting.
    func setScan(_ wanted: ScanSettings?)

    /// Declares a scan; returns when it runs, or will run automatically as soon as another program allows it.
    nonisolated(nonsending) func scan(
        _ wanted: ScanSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// The controller's LE features.
    nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> LEFeatures
}

/// The settings of a scan, of this program or another.
package struct ScanSettings: Hashable {
    package var le1M: LEScanTiming?
    package var leCoded: LEScanTiming?
    package var filterPolicy = LEScanFilterPolicy.all
    /// The longest time for which the host may leave reports unread.
    package var batching = Duration.zero

    package init(
        le1M: LEScanTiming?, leCoded: LEScanTiming? = nil, filterPolicy: LEScanFilterPolicy = .all
    ) {
        self.le1M = le1M
        self.leCoded = leCoded
        self.filterPolicy = filterPolicy
    }

    /// Whether the scan requests scan responses.
    package var isActive: Bool { le1M?.type == .active || leCoded?.type == .active }

    /// The settings that serve both scans: all advertisers, the PHYs of both, and the shorter times.
    package func united(with other: ScanSettings) -> ScanSettings {
        var united = self
        united.le1M = Self.united(le1M, other.le1M)
        united.leCoded = Self.united(leCoded, other.leCoded)
        united.filterPolicy = .all
        united.batching = min(batching, other.batching)
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
