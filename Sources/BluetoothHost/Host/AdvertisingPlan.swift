import BluetoothAdvertising

/// The parameters and the data of an advertising set, derived from the content, the options and the adapter's limits.
package struct AdvertisingPlan: Hashable, Sendable {
    /// The limits of an adapter.
    package struct Limits: Sendable {
        /// The greatest lengths of the data in bytes.
        package var advertisingData: Int
        package var scanResponse: Int
        /// Whether a transmit power can be requested.
        package var canSetTransmitPower: Bool

        package init(advertisingData: Int, scanResponse: Int, canSetTransmitPower: Bool) {
            (self.advertisingData, self.scanResponse) = (advertisingData, scanResponse)
            self.canSetTransmitPower = canSetTransmitPower
        }
    }

    /// The advertising interval in units of 0.625 ms.
    package var interval: ClosedRange<UInt32>
    package var transmitPower: Int8?
    package var payloads: AdvertisingPayloads
    /// Whether the set must be scannable, though nobody can connect.
    package var isScannable: Bool

    /// - Throws: `.invalidArgument` for values that no adapter allows, `.unsupported` for those that this one does not.
    package init(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ limits: Limits,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        interval = try options.intervalInUnits(operation)
        if let power = options.transmitPower {
            guard let power = Int8(exactly: power), (-127...20).contains(power) else {
                throw .invalidArgument(operation, "The transmit power is -127 to 20 dBm.")
            }
            guard limits.canSetTransmitPower else {
                throw BluetoothError(.unsupported, operation, "The adapter's transmit power cannot be chosen.")
            }
            transmitPower = power
        }
        let capacities = try options.capacities(for: content, limits, operation)
        do throws(AdvertisementDataError) {
            payloads = try content.payloads(
                capacity: capacities.advertising, scanResponseCapacity: capacities.scanResponse)
        } catch {
            throw BluetoothError(
                .invalidArgument, operation, "The advertisement cannot be encoded: \(error).",
                remedy: "Shorten the content.\nIn code, have the excess omitted: AdvertisementContent.overflow.")
        }
        isScannable = options.kind != .connectable && (!payloads.scanResponse.isEmpty || options.kind == .scannable)
    }
}

extension AdvertisingOptions {
    /// The capacities in bytes of the advertising data and the scan response data.
    fileprivate func capacities(
        for content: AdvertisementContent, _ limits: AdvertisingPlan.Limits, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> (advertising: Int, scanResponse: Int) {
        let legacy = AdvertisementDataBuilder.legacyCapacity
        switch (format != .legacy, kind) {
        case (_, .nonConnectable) where !content.scanResponse.isEmpty:
            throw .invalidArgument(operation, "Only a scannable or connectable advertisement has a scan response.")
        case (true, .connectable) where !content.scanResponse.isEmpty:
            throw .invalidArgument(
                operation, "A connectable advertisement in the extended format has no scan response.")
        case (true, .scannable):
            // Such a set has no data except its scan response (Core Vol 4 Part E §7.8.54).
            guard content.automaticByteCount == 0 else {
                throw .invalidArgument(
                    operation,
                    "A scannable advertisement in the extended format cannot contain flags or transmit power; use discoverability none."
                )
            }
            return (0, limits.scanResponse)
        case (true, _): return (max(0, limits.advertisingData - content.automaticByteCount), 0)
        case (false, .nonConnectable):
            return (max(0, min(legacy, limits.advertisingData) - content.automaticByteCount), 0)
        case (false, _):
            return (
                max(0, min(legacy, limits.advertisingData) - content.automaticByteCount),
                min(legacy, limits.scanResponse)
            )
        }
    }

    /// The interval in units of 0.625 ms.
    fileprivate func intervalInUnits(
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ClosedRange<UInt32> {
        let most: Int64 = format == .legacy ? 0x4000 : 0xFF_FFFF
        let bounds = [interval.lowerBound, interval.upperBound].map { $0.clampedNanoseconds / 625_000 }
        guard bounds[0] >= 0x20, bounds[1] <= most else {
            throw .invalidArgument(
                operation,
                "The advertising interval is 20 ms to \(format == .legacy ? "10.24 s" : "10485.76 s").")
        }
        return UInt32(clamping: bounds[0])...UInt32(clamping: bounds[1])
    }
}
