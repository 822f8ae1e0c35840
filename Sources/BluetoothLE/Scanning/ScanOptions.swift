import BluetoothHost
import BluetoothSockets
import BluetoothHCI

/// How to listen for advertisements.
public struct ScanOptions: Sendable {
    /// Which devices are handed out; the others cost no memory in the stream's buffer.
    public var filter: ScanFilter
    /// What becomes of further reports about a device that was handed out before.
    public var duplicates: DuplicatePolicy
    /// How to listen on LE 1M, where all legacy and most extended advertising begins; nil does not.
    public var le1M: ScanParameters?
    /// How to listen on LE Coded, the PHY of long range; nil, as at first, does not.
    ///
    /// Left out on a controller without it as long as LE 1M is wanted as well; otherwise the scan throws `.unsupported`.
    /// The radio divides its time among the PHYs, so each of them hears less.
    public var leCoded: ScanParameters?
    /// How long the scan holds the first report of a scannable device for the scan response, which often has the name;
    /// zero, the default, does not wait. Only active scans with ``DuplicatePolicy/merge`` or ``DuplicatePolicy/once``
    /// wait.
    ///
    /// The scan response follows the report within a millisecond, or is lost; then the next report may bring it. At most
    /// 256 reports wait; beyond that the oldest is delivered.
    public var scanResponseTimeout = Duration.zero
    /// How many advertisements may wait for the consumer; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// How many devices are remembered for joining and merging; the one silent the longest is forgotten first.
    ///
    /// Scans of one adapter share what they remember: the largest limit of those that are on counts.
    public var deviceLimit: Int
    /// What becomes of the scan when the adapter is powered off, blocked or unplugged; at first it ends with the reason.
    public var whenAdapterLeaves = AdapterLeavePolicy.end

    /// Options with the usual choices: everybody, active, merged, listening on LE 1M all the time.
    ///
    /// - Parameters:
    ///   - filter: which devices are handed out.
    ///   - isActive: whether devices are asked for their scan response, where names often are.
    ///   - duplicates: what becomes of further reports about the same device.
    ///   - interval: how often the controller begins to listen, 2.5 ms to 10.24 s.
    ///   - window: how long it listens each time, at most `interval`.
    ///   - coded: whether to listen on LE Coded as well, in the same way.
    ///   - bufferCapacity: how many advertisements may wait for the consumer.
    ///   - deviceLimit: how many devices are remembered.
    public init(
        filter: ScanFilter = .all, isActive: Bool = true, duplicates: DuplicatePolicy = .merge,
        interval: Duration = .milliseconds(60), window: Duration = .milliseconds(60), coded: Bool = false,
        bufferCapacity: Int = 1024, deviceLimit: Int = 1024
    ) {
        let parameters = ScanParameters(isActive: isActive, interval: interval, window: window)
        self.filter = filter
        self.duplicates = duplicates
        le1M = parameters
        leCoded = coded ? parameters : nil
        self.bufferCapacity = bufferCapacity
        self.deviceLimit = deviceLimit
    }
}

/// How to listen on one PHY (Core Vol 4 Part E §7.8.64).
///
/// Scans of one adapter share its radio: it is active when one of them is, and listens as much as the keenest wants.
public struct ScanParameters: Hashable, Sendable {
    /// Whether devices are asked for their scan response, where names often are.
    public var isActive: Bool
    /// How often the controller begins to listen: 2.5 ms to 10.24 s.
    public var interval: Duration
    /// How long it listens each time: at most ``interval``.
    public var window: Duration

    /// Parameters; at first active and listening all the time.
    public init(
        isActive: Bool = true, interval: Duration = .milliseconds(60), window: Duration = .milliseconds(60)
    ) {
        self.isActive = isActive
        self.interval = interval
        self.window = window
    }
}

/// What becomes of further reports about a device that was handed out before.
///
/// An advertising set counts as a device of its own, since it has data of its own. Anonymous advertisements cannot be
/// told apart and are all handed out. A device that was forgotten for want of room (``ScanOptions/deviceLimit``) is new.
public struct DuplicatePolicy: Hashable, Sendable {
    enum Rule: Hashable {
        case once, all
        /// With the change of the signal strength that counts, in dB.
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

    /// A device is handed out when it first passes the filter and whenever what it says has changed: its advertising
    /// data, its scan response, or the kind of its packets, such as when it is no longer connectable.
    public static let merge = DuplicatePolicy(rule: .merge(nil))

    /// As ``merge``, and also when the signal strength differs from what was handed out last by `rssiChange` dB or
    /// more; at least 1.
    public static func merge(rssiChange: Int) -> DuplicatePolicy {
        DuplicatePolicy(rule: .merge(max(1, rssiChange)))
    }
}

extension ScanSettings {
    /// What a caller asks for, of what the controller has; nil when nothing of it is left.
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
