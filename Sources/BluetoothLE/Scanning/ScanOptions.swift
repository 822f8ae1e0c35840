import BluetoothHost
import BluetoothSockets
import BluetoothHCI

/// The options of a scan.
public struct ScanOptions: Sendable {
    /// Which devices are handed out; the others cost no memory in the stream's buffer.
    public var filter: ScanFilter
    /// How long the scan lasts from the moment it is on; then its stream finishes. Nil, the default, for no limit.
    public var duration: Duration?
    /// What happens to further reports of a device that was handed out before.
    public var duplicates: DuplicatePolicy
    /// The scan on LE 1M, where all legacy and most extended advertising begins; nil for none.
    public var le1M: ScanParameters?
    /// The scan on LE Coded, the long-range PHY; nil, the default, for none.
    ///
    /// Left out on a controller without it as long as LE 1M is scanned as well; otherwise the scan throws `.unsupported`.
    /// The radio divides its time among the PHYs, so each of them receives less.
    public var leCoded: ScanParameters?
    /// How long the scan holds the first report of a scannable device for the scan response, which often has the name;
    /// zero, the default, does not wait. Only active scans with ``DuplicatePolicy/merge`` or ``DuplicatePolicy/once``
    /// wait.
    ///
    /// The scan response follows the report within a millisecond, or is lost; then the next report may bring it. At most
    /// 256 reports wait; beyond that the oldest is delivered.
    public var scanResponseTimeout: Duration
    /// The most advertisements that wait for the consumer; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// The most devices that are remembered for joining and merging; the one silent the longest is forgotten first.
    ///
    /// Scans of one adapter share what they remember: the largest limit of those that are on counts.
    public var deviceLimit: Int
    /// What happens to the scan when the adapter is powered off, blocked or unplugged; by default it ends with the reason.
    public var whenAdapterLeaves: AdapterLeavePolicy

    /// Options with the usual choices: all devices, active, merged, scanning LE 1M all the time.
    ///
    /// - Parameters:
    ///   - filter: which devices are handed out.
    ///   - duration: how long the scan lasts; nil for no limit.
    ///   - isActive: whether scan requests are sent, whose responses often have the name.
    ///   - duplicates: what happens to further reports of the same device.
    ///   - interval: the scan interval, 2.5 ms to 10.24 s.
    ///   - window: the scan window, at most `interval`.
    ///   - coded: whether to scan LE Coded as well, in the same way.
    ///   - scanResponseTimeout: how long the first report of a device waits for its scan response.
    ///   - bufferCapacity: the most advertisements that wait for the consumer.
    ///   - deviceLimit: the most devices that are remembered.
    ///   - whenAdapterLeaves: what happens when the adapter is powered off, blocked or unplugged.
    public init(
        filter: ScanFilter = .all, duration: Duration? = nil, isActive: Bool = true,
        duplicates: DuplicatePolicy = .merge, interval: Duration = .milliseconds(60),
        window: Duration = .milliseconds(60), coded: Bool = false, scanResponseTimeout: Duration = .zero,
        bufferCapacity: Int = 1024, deviceLimit: Int = 1024, whenAdapterLeaves: AdapterLeavePolicy = .end
    ) {
        let parameters = ScanParameters(isActive: isActive, interval: interval, window: window)
        self.init(
            le1M: parameters, leCoded: coded ? parameters : nil, filter: filter, duration: duration,
            duplicates: duplicates, scanResponseTimeout: scanResponseTimeout, bufferCapacity: bufferCapacity,
            deviceLimit: deviceLimit, whenAdapterLeaves: whenAdapterLeaves)
    }

    /// Options with scan parameters for each PHY; the others are those of
    /// ``init(filter:duration:isActive:duplicates:interval:window:coded:scanResponseTimeout:bufferCapacity:deviceLimit:whenAdapterLeaves:)``.
    ///
    /// - Parameters:
    ///   - le1M: the scan on LE 1M; nil for none.
    ///   - leCoded: the scan on LE Coded; nil for none.
    public init(
        le1M: ScanParameters?, leCoded: ScanParameters?, filter: ScanFilter = .all, duration: Duration? = nil,
        duplicates: DuplicatePolicy = .merge, scanResponseTimeout: Duration = .zero, bufferCapacity: Int = 1024,
        deviceLimit: Int = 1024, whenAdapterLeaves: AdapterLeavePolicy = .end
    ) {
        (self.le1M, self.leCoded) = (le1M, leCoded)
        (self.filter, self.duration, self.duplicates) = (filter, duration, duplicates)
        self.scanResponseTimeout = scanResponseTimeout
        (self.bufferCapacity, self.deviceLimit) = (bufferCapacity, deviceLimit)
        self.whenAdapterLeaves = whenAdapterLeaves
    }
}

/// The scan parameters of one PHY (Core Vol 4 Part E §7.8.64).
///
/// Scans of one adapter share its radio: it scans actively when one of them does, with the longest share of time that one
/// of them requests.
public struct ScanParameters: Hashable, Sendable {
    /// Whether scan requests are sent, whose responses often have the name.
    public var isActive: Bool
    /// The scan interval: 2.5 ms to 10.24 s.
    public var interval: Duration
    /// The scan window: at most ``interval``.
    public var window: Duration

    /// Parameters; by default active and scanning all the time.
    public init(
        isActive: Bool = true, interval: Duration = .milliseconds(60), window: Duration = .milliseconds(60)
    ) {
        self.isActive = isActive
        self.interval = interval
        self.window = window
    }
}

/// What happens to further reports of a device that was handed out before.
///
/// An advertising set counts as a device of its own, since it has data of its own. Anonymous advertisements cannot be
/// told apart and are all handed out. A device that was forgotten for want of room (``ScanOptions/deviceLimit``) is new.
public struct DuplicatePolicy: Hashable, Sendable {
    enum Rule: Hashable {
        case once, all
        /// With the change of the RSSI that counts, in dB.
        case merge(Int?)
    }

    let rule: Rule

    /// Every report is handed out.
    public static let all = DuplicatePolicy(rule: .all)

    /// Each device is handed out once: when it first passes the filter.
    ///
    /// An active scan delivers a scannable device with its scan response, or, if that was lost, with its second report or
    /// after the ``ScanOptions/scanResponseTimeout``.
    public static let once = DuplicatePolicy(rule: .once)

    /// A device is handed out when it first passes the filter, and whenever its advertising data, its scan response or the
    /// type of its PDUs has changed, such as when it is no longer connectable.
    public static let merge = DuplicatePolicy(rule: .merge(nil))

    /// As ``merge``, and also when the RSSI differs from what was handed out last by `rssiChange` dB or more; at least 1.
    public static func merge(rssiChange: Int) -> DuplicatePolicy {
        DuplicatePolicy(rule: .merge(max(1, rssiChange)))
    }
}

extension ScanSettings {
    /// The settings that options request, of what the controller has; nil when no PHY is left.
    init?(_ options: ScanOptions, hasCoded: Bool) {
        let le1M = options.le1M.map(Self.timing)
        let leCoded = hasCoded ? options.leCoded.map(Self.timing) : nil
        guard le1M != nil || leCoded != nil else { return nil }
        self.init(le1M: le1M, leCoded: leCoded)
    }

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
}
