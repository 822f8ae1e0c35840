import BluetoothHost
import BluetoothSockets
import BluetoothHCI

/// The options of a scan.
public struct ScanOptions: Sendable {
    /// The filter of the delivered advertisements. Others take no room in the stream's buffer.
    public var filter: ScanFilter
    /// The duration of the scan, from its start; the stream then finishes. Nil, the default, means no limit.
    public var duration: Duration?
    /// The policy for further reports of a device that was already delivered.
    public var duplicates: DuplicatePolicy
    /// The scan on LE 1M, where all legacy and most extended advertising begins; nil for none.
    public var le1M: ScanParameters?
    /// The scan on LE Coded, the long-range PHY; nil, the default, for none.
    ///
    /// Ignored on a controller without LE Coded if LE 1M is scanned as well; otherwise the scan throws `.unsupported`.
    /// The radio divides its time among the PHYs, so each of them receives less.
    public var leCoded: ScanParameters?
    /// The time for which the scan holds the first report of a scannable device until the scan response, which often
    /// has the name, arrives; zero, the default, does not wait. Applies to active scans with ``DuplicatePolicy/merge``
    /// or ``DuplicatePolicy/once``.
    ///
    /// The scan response follows the report within a millisecond or is lost; the next report may then bring it. At most
    /// 256 reports wait; beyond that the oldest is delivered.
    public var scanResponseTimeout: Duration
    /// The time for which reports are left unread while they stream in, to receive those of this time together: 5 to
    /// 20 ms, at most 50. Zero, the default, reads each at once.
    ///
    /// Saves most of the work of a program that receives thousands of reports each second: it wakes up once for all. The
    /// ``Advertisement/time`` of a report is then later by up to this time. Has no effect while the adapter has
    /// connections, creates or accepts them, or has another scan without it.
    public var batching: Duration
    /// The maximum number of advertisements that wait for the consumer; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// The maximum number of devices stored for joining and merging; the least recently received one is removed first.
    ///
    /// The scans of an adapter share the stored devices: the largest limit of the active scans applies.
    public var deviceLimit: Int
    /// The policy for when the adapter is powered off, blocked or unplugged; by default the scan ends with the reason.
    public var whenAdapterUnavailable: AdapterUnavailablePolicy

    /// Creates options; by default for an active scan of all devices, merged, continuously on LE 1M.
    ///
    /// - Parameters:
    ///   - filter: the filter of the delivered advertisements.
    ///   - duration: the duration of the scan; nil for no limit.
    ///   - isActive: whether to send scan requests; scan responses often have the name.
    ///   - duplicates: the policy for further reports of the same device.
    ///   - interval: the scan interval, 2.5 ms to 10.24 s.
    ///   - window: the scan window, at most `interval`.
    ///   - coded: whether to scan LE Coded as well, with the same parameters.
    ///   - scanResponseTimeout: the time to hold the first report of a device for its scan response.
    ///   - batching: the time for which reports are left unread, to receive them together.
    ///   - bufferCapacity: the maximum number of advertisements that wait for the consumer.
    ///   - deviceLimit: the maximum number of stored devices.
    ///   - whenAdapterUnavailable: the policy for when the adapter is powered off, blocked or unplugged.
    public init(
        filter: ScanFilter = .any, duration: Duration? = nil, isActive: Bool = true,
        duplicates: DuplicatePolicy = .merge, interval: Duration = .milliseconds(60),
        window: Duration = .milliseconds(60), coded: Bool = false, scanResponseTimeout: Duration = .zero,
        batching: Duration = .zero, bufferCapacity: Int = 1024, deviceLimit: Int = 1024,
        whenAdapterUnavailable: AdapterUnavailablePolicy = .end
    ) {
        let parameters = ScanParameters(isActive: isActive, interval: interval, window: window)
        self.init(
            le1M: parameters, leCoded: coded ? parameters : nil, filter: filter, duration: duration,
            duplicates: duplicates, scanResponseTimeout: scanResponseTimeout, batching: batching,
            bufferCapacity: bufferCapacity, deviceLimit: deviceLimit, whenAdapterUnavailable: whenAdapterUnavailable)
    }

    /// Creates options with scan parameters for each PHY, `le1M` and `leCoded`; nil for no scan there. The other parameters
    /// are those of the initialiser for all PHYs.
    public init(
        le1M: ScanParameters?, leCoded: ScanParameters?, filter: ScanFilter = .any, duration: Duration? = nil,
        duplicates: DuplicatePolicy = .merge, scanResponseTimeout: Duration = .zero, batching: Duration = .zero,
        bufferCapacity: Int = 1024, deviceLimit: Int = 1024, whenAdapterUnavailable: AdapterUnavailablePolicy = .end
    ) {
        (self.le1M, self.leCoded) = (le1M, leCoded)
        (self.filter, self.duration, self.duplicates) = (filter, duration, duplicates)
        (self.scanResponseTimeout, self.batching) = (scanResponseTimeout, batching)
        (self.bufferCapacity, self.deviceLimit) = (bufferCapacity, deviceLimit)
        self.whenAdapterUnavailable = whenAdapterUnavailable
    }
}

/// The scan parameters of one PHY (Core Vol 4 Part E §7.8.64).
///
/// The scans of an adapter share its radio: it scans actively if any of them is active, with the longest duty cycle
/// that any of them requests.
public struct ScanParameters: Hashable, Sendable {
    /// Whether to send scan requests; scan responses often have the name.
    public var isActive: Bool
    /// The scan interval: 2.5 ms to 10.24 s.
    public var interval: Duration
    /// The scan window: at most ``interval``.
    public var window: Duration

    /// Creates scan parameters; by default for an active, continuous scan.
    public init(
        isActive: Bool = true, interval: Duration = .milliseconds(60), window: Duration = .milliseconds(60)
    ) {
        self.isActive = isActive
        self.interval = interval
        self.window = window
    }
}

/// The policy for further reports of a device that was already delivered.
///
/// An advertising set counts as a device of its own, since it has its own data. Anonymous advertisements cannot be told
/// apart and are all delivered. A device that was removed because of ``ScanOptions/deviceLimit`` counts as new.
public struct DuplicatePolicy: Hashable, Sendable {
    package enum Rule: Hashable {
        case once, all
        /// With the minimum change of the RSSI in dB.
        case merge(Int?)
    }

    package let rule: Rule

    /// Delivers every report.
    public static let all = DuplicatePolicy(rule: .all)

    /// Delivers each device once, when it first passes the filter.
    ///
    /// An active scan delivers a scannable device with its scan response, or, if that was lost, with its second report
    /// or after the ``ScanOptions/scanResponseTimeout``.
    public static let once = DuplicatePolicy(rule: .once)

    /// Delivers a device when it first passes the filter, and whenever its advertising data, its scan response or the
    /// type of its PDUs changes, such as when it stops being connectable.
    public static let merge = DuplicatePolicy(rule: .merge(nil))

    /// As ``merge``, and also when the RSSI differs from the last delivered one by `rssiChange` dB or more; at least 1.
    public static func merge(rssiChange: Int) -> DuplicatePolicy {
        DuplicatePolicy(rule: .merge(max(1, rssiChange)))
    }
}

extension ScanSettings {
    /// The settings that options request, as far as the controller supports them; nil if no PHY remains.
    init?(_ options: ScanOptions, hasCoded: Bool) {
        let le1M = options.le1M.map(Self.timing)
        let leCoded = hasCoded ? options.leCoded.map(Self.timing) : nil
        guard le1M != nil || leCoded != nil else { return nil }
        self.init(le1M: le1M, leCoded: leCoded)
        // In 50 ms the reports of a busy radio fill half of the socket's buffer.
        batching = min(max(options.batching, .zero), .milliseconds(50))
    }

    private static func timing(_ parameters: ScanParameters) -> LEScanTiming {
        let interval = units(parameters.interval)
        return LEScanTiming(
            type: parameters.isActive ? .active : .passive, interval: interval,
            window: min(units(parameters.window), interval))
    }

    /// A duration in units of 0.625 ms, within the range of both command families: 4 to 0x4000 (Core Vol 4 Part E
    /// §7.8.10).
    private static func units(_ duration: Duration) -> UInt16 {
        UInt16(clamping: min(max(duration.clampedNanoseconds / 625_000, 4), 0x4000))
    }
}
