import HCI

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
