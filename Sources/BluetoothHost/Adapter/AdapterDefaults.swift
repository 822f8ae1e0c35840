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
    /// The scan interval and window in units of 0.625 ms; nil if they stay as they are.
    /// - Throws: `.invalidArgument` outside the specification's ranges (Core Vol 4 Part E §7.8.12).
    package func connectScan(
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> (interval: UInt16, window: UInt16)? {
        guard connectScanInterval != nil || connectScanWindow != nil else { return nil }
        guard let interval = connectScanInterval?.slots, let window = connectScanWindow?.slots,
            (4...0x4000).contains(interval), (4...interval).contains(window)
        else {
            throw .invalidArgument(
                operation, "Scan interval and window are 2.5 ms to 10.24 s long, and the window at most the interval.")
        }
        return (UInt16(clamping: interval), UInt16(clamping: window))
    }

    /// - Throws: `.invalidArgument` for PHYs without LE 1M, or that do not exist.
    package func checkPHYs(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        guard let phys else { return }
        guard phys.contains(.le1M), phys.isSubset(of: [.le1M, .le2M, .leCoded]) else {
            throw .invalidArgument(operation, "The PHYs of an adapter are LE 1M and, optionally, LE 2M and LE Coded.")
        }
    }

    /// The time limit in milliseconds; nil if it stays as it is.
    /// - Throws: `.invalidArgument` if it is out of range.
    package func connectMilliseconds(_ operation: BluetoothError.Operation) throws(BluetoothError) -> UInt16? {
        guard let connectTimeout else { return nil }
        let milliseconds = connectTimeout.clampedNanoseconds / 1_000_000
        guard (1...65535).contains(milliseconds) else {
            throw .invalidArgument(operation, "The time limit for a connection is 1 ms to 65.535 s.")
        }
        return UInt16(clamping: milliseconds)
    }

    /// The advertising interval in units of 0.625 ms; nil if it stays as it is.
    /// - Throws: `.invalidArgument` outside the specification's range (Core Vol 4 Part E §7.8.5).
    package func advertisingSlots(_ operation: BluetoothError.Operation) throws(BluetoothError) -> ClosedRange<UInt16>?
    {
        guard let advertisingInterval else { return nil }
        let (shortest, longest) = (advertisingInterval.lowerBound.slots, advertisingInterval.upperBound.slots)
        guard (0x20...0x4000).contains(shortest), (shortest...0x4000).contains(longest) else {
            throw .invalidArgument(operation, "An advertising interval is 20 ms to 10.24 s long.")
        }
        return UInt16(clamping: shortest)...UInt16(clamping: longest)
    }
}

extension Duration {
    /// The duration in units of 0.625 ms.
    package var slots: Int64 { clampedNanoseconds / 625_000 }
}
