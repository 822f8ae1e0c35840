import BluetoothHost
import BluetoothKernel
import HCI

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
