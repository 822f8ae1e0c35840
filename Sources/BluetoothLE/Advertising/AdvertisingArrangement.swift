import BluetoothAdvertising
import BluetoothHost

extension AdvertisingRequest {
    /// The request for a set, arranged for the adapter's limits.
    /// - Throws: `.invalidArgument` for values that no adapter allows, `.unsupported` for those that this one does not.
    init(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, within limits: AdvertisingLimits,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        try limits.check(content, options, operation)
        try options.check(limits, operation)
        let capacities = try options.capacities(for: content, limits, operation)
        let payloads: AdvertisingPayloads
        do throws(AdvertisementDataError) {
            payloads = try content.payloads(
                capacity: capacities.advertising, scanResponseCapacity: capacities.scanResponse)
        } catch {
            throw BluetoothError(
                .invalidArgument, operation, "The advertisement cannot be encoded: \(error).",
                remedy: "Shorten the content.\nIn code, have the excess omitted: AdvertisementContent.overflow.")
        }
        self.init(payloads, of: content, options)
    }
}

extension AdvertisingLimits {
    /// - Throws: `.invalidArgument` for a PHY on which nothing advertises, `.unsupported` for what the adapter lacks.
    fileprivate func check(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        var missing: [String] = []
        if content.includesTransmitPower, !canIncludeTransmitPower { missing.append("transmit power") }
        if case .extended(let phy) = options.format {
            guard !LEPHYSet(phy).isEmpty else {
                throw .invalidArgument(operation, "Advertising on \(phy) is not possible.")
            }
            if phys.isDisjoint(with: LEPHYSet(phy)) { missing.append("secondary \(phy)") }
        }
        guard missing.isEmpty else {
            let list = missing.joined(separator: ", ")
            throw BluetoothError(.unsupported, operation, "The adapter does not support \(list).")
        }
    }
}

extension AdvertisingOptions {
    /// - Throws: `.invalidArgument` for an interval or a transmit power outside the specification's ranges,
    ///   `.unsupported` for a transmit power that cannot be chosen.
    fileprivate func check(
        _ limits: AdvertisingLimits, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        let most: Int64 = format == .legacy ? 0x4000 : 0xFF_FFFF
        guard interval.lowerBound.slots >= 0x20, interval.upperBound.slots <= most else {
            throw .invalidArgument(
                operation,
                "The advertising interval is 20 ms to \(format == .legacy ? "10.24 s" : "10485.76 s").")
        }
        guard let transmitPower else { return }
        guard (-127...20).contains(transmitPower) else {
            throw .invalidArgument(operation, "The transmit power is -127 to 20 dBm.")
        }
        guard limits.canSetTransmitPower else {
            throw BluetoothError(.unsupported, operation, "The adapter's transmit power cannot be chosen.")
        }
    }

    /// The capacities in bytes of the advertising data and the scan response data.
    fileprivate func capacities(
        for content: AdvertisementContent, _ limits: AdvertisingLimits, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> (advertising: Int, scanResponse: Int) {
        let isLegacy = format == .legacy
        if !content.scanResponse.isEmpty, kind == .nonConnectable {
            throw .invalidArgument(operation, "Only a scannable or connectable advertisement has a scan response.")
        }
        if !content.scanResponse.isEmpty, kind == .connectable, !isLegacy {
            throw .invalidArgument(
                operation, "A connectable advertisement in the extended format has no scan response.")
        }
        if kind == .scannable, !isLegacy {
            // Such a set has no data except its scan response (Core Vol 4 Part E §7.8.54).
            guard content.automaticByteCount == 0 else {
                throw .invalidArgument(
                    operation,
                    "A scannable advertisement in the extended format cannot contain flags or transmit power; use discoverability none."
                )
            }
            return (0, limits.scanResponse)
        }
        let most = isLegacy ? AdvertisementDataBuilder.legacyCapacity : Int.max
        return (
            max(0, min(most, limits.advertisingData) - content.automaticByteCount),
            isLegacy && kind != .nonConnectable ? min(most, limits.scanResponse) : 0
        )
    }
}
