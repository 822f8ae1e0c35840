import BluetoothLoop
import BluetoothPrimitives

/// What an adapter does where a program does not say; nil leaves a value as it is.
public struct AdapterDefaults: Hashable, Sendable {
    /// The connection parameters of links that this side creates without others, and those that it requests as a
    /// peripheral, of a link whose connection interval is outside their range.
    ///
    /// Linux may have an entry for a device that was connected before, whose parameters then hold instead.
    public var connectionParameters: ConnectionParameterRequest?
    /// The scan interval while looking for a device to connect to: 2.5 ms to 10.24 s.
    public var connectScanInterval: Duration?
    /// The scan window in that interval: 2.5 ms to 10.24 s, at most the interval. The two need each other.
    public var connectScanWindow: Duration?
    /// The time limit for a connection after the device was heard: 1 ms to 65.535 s.
    public var connectTimeout: Duration?
    /// The advertising interval of advertisements that do not have one: 20 ms to 10.24 s.
    public var advertisingInterval: ClosedRange<Duration>?
    /// The PHYs on which the adapter looks for devices to connect to, creates links, and agrees to use links when the
    /// peer requests another PHY: LE 1M, which is always among them, with LE 2M and LE Coded, or one or none of these.
    ///
    /// From version 6.6 on Linux selects all that the controller has, and does so again whenever the adapter is powered
    /// on; the program that has set others sets them again. Before, it begins with LE 1M alone and keeps the selection.
    public var phys: LEPHYSet?

    /// Creates defaults, which change what is given.
    public init(
        connectionParameters: ConnectionParameterRequest? = nil, connectScanInterval: Duration? = nil,
        connectScanWindow: Duration? = nil, connectTimeout: Duration? = nil,
        advertisingInterval: ClosedRange<Duration>? = nil, phys: LEPHYSet? = nil
    ) {
        self.connectionParameters = connectionParameters
        self.connectScanInterval = connectScanInterval
        self.connectScanWindow = connectScanWindow
        self.connectTimeout = connectTimeout
        self.advertisingInterval = advertisingInterval
        self.phys = phys
    }
}

extension AdapterDefaults {
    /// - Throws: `.invalidArgument` for values outside the specification's ranges (Core Vol 4 Part E §7.8.5, §7.8.12).
    package func check(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        _ = try connectionParameters?.parameters(operation)
        if connectScanInterval != nil || connectScanWindow != nil {
            let (interval, window) = (connectScanInterval?.slots ?? 0, connectScanWindow?.slots ?? 0)
            guard (4...0x4000).contains(interval), (4...interval).contains(window) else {
                throw .invalidArgument(
                    operation,
                    "Scan interval and window are 2.5 ms to 10.24 s long, and the window at most the interval.")
            }
        }
        if let connectTimeout, !(1...65535).contains(connectTimeout.milliseconds) {
            throw .invalidArgument(operation, "The time limit for a connection is 1 ms to 65.535 s.")
        }
        if let interval = advertisingInterval,
            interval.lowerBound.slots < 0x20 || interval.upperBound.slots > 0x4000
        {
            throw .invalidArgument(operation, "An advertising interval is 20 ms to 10.24 s long.")
        }
        if let phys, !phys.contains(.le1M) || !phys.isSubset(of: [.le1M, .le2M, .leCoded]) {
            throw .invalidArgument(operation, "The PHYs of an adapter are LE 1M and, optionally, LE 2M and LE Coded.")
        }
    }
}

extension Duration {
    /// The duration in units of 0.625 ms.
    package var slots: Int64 { clampedNanoseconds / 625_000 }
    package var milliseconds: Int64 { clampedNanoseconds / 1_000_000 }
}
