import BluetoothKernel
import HCI

/// What a scanner is asked to do, or was told to by somebody else.
struct ScanSettings: Hashable {
    var le1M: LEScanTiming?
    var leCoded: LEScanTiming?
    var filterPolicy = LEScanFilterPolicy.all

    /// What a caller asks for, of what the controller has; nil when nothing of it is left.
    init?(_ options: ScanOptions, hasCoded: Bool) {
        le1M = options.le1M.map(Self.timing)
        leCoded = hasCoded ? options.leCoded.map(Self.timing) : nil
        guard le1M != nil || leCoded != nil else { return nil }
    }

    /// What somebody told the controller; nil for any other command.
    init?(_ command: HCICommand) {
        switch command {
        case .leSetScanParameters(let parameters):
            le1M = parameters.timing
            filterPolicy = parameters.filterPolicy
        case .leSetExtendedScanParameters(let parameters):
            le1M = parameters.le1M
            leCoded = parameters.leCoded
            filterPolicy = parameters.filterPolicy
        default: return nil
        }
    }

    private init(le1M: LEScanTiming, filterPolicy: LEScanFilterPolicy) {
        self.le1M = le1M
        self.filterPolicy = filterPolicy
    }

    /// The least of an active scan there is: it listens for 2.5 ms of 10.24 s and asks nobody for a scan response that
    /// is not on the accept list.
    static let leastActive = ScanSettings(
        le1M: LEScanTiming(type: .active, interval: 0x4000, window: 4), filterPolicy: .acceptList)

    private static func timing(_ parameters: ScanParameters) -> LEScanTiming {
        let interval = units(parameters.interval)
        return LEScanTiming(
            type: parameters.isActive ? .active : .passive, interval: interval,
            window: min(units(parameters.window), interval))
    }

    /// In units of 0.625 ms, within what both families allow: 4 to 0x4000 (Core Vol 4 Part E §7.8.10).
    private static func units(_ duration: Duration) -> UInt16 {
        UInt16(clamping: min(max(duration.clampedNanoseconds / 625_000, 4), 0x4000))
    }

    /// Whether devices are asked for their scan response.
    var isActive: Bool { le1M?.type == .active || leCoded?.type == .active }

    /// Whether Linux takes it for a discovery: it looks at the first PHY only.
    var isDiscovery: Bool { (le1M ?? leCoded)?.type == .active }

    /// What serves both: everybody's advertisements, on the PHYs of both, as often as the keener one wants.
    func united(with other: ScanSettings) -> ScanSettings {
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

    /// Whether who asks for `other` hears from this all that it would from its own.
    func serves(_ other: ScanSettings) -> Bool {
        filterPolicy == .all && united(with: other) == self
    }
}
