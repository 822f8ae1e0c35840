import BluetoothAdvertising
import BluetoothHost
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// The kernel's parameters for an advertising set, derived from the content, the options and the adapter's features.
package struct AdvertisingPlan: Hashable, Sendable {
    package var flags: AdvertisingInstanceFlags
    package var intervals: ManagementAddExtendedAdvertisingParameters.Intervals
    package var transmitPower: Int8?
    package var payloads: AdvertisingPayloads

    /// - Throws: `.invalidArgument` for values that no adapter allows, `.unsupported` for those that this one does not.
    package init(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ features: AdvertisingFeatures,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        intervals = try options.intervals(operation)
        flags = options.kind == .connectable ? .connectable : []
        switch content.discoverability {
        case .none: break
        case .limited: flags.insert(.limitedDiscoverable)
        case .general: flags.insert(.generalDiscoverable)
        }
        if content.includesTransmitPower { flags.insert(.transmitPower) }
        var isExtended = false
        if case .extended(let phy) = options.format {
            isExtended = true
            flags.insert(try Self.flag(of: phy, operation))
        }
        if let power = options.transmitPower {
            guard let power = Int8(exactly: power), (-127...20).contains(power) else {
                throw .invalidArgument(operation, "The transmit power is -127 to 20 dBm.")
            }
            guard features.supportedFlags.contains(.canSetTransmitPower) else {
                throw BluetoothError(.unsupported, operation, "The adapter's transmit power cannot be chosen.")
            }
            transmitPower = power
        }
        let missing = flags.subtracting(features.supportedFlags)
        guard missing.isEmpty else {
            throw BluetoothError(.unsupported, operation, "The adapter does not support \(missing).")
        }
        let capacities = try Self.capacities(content, options.kind, isExtended: isExtended, features, operation)
        do throws(AdvertisementDataError) {
            payloads = try content.payloads(
                capacity: capacities.advertising, scanResponseCapacity: capacities.scanResponse)
        } catch {
            throw BluetoothError(
                .invalidArgument, operation, "The advertisement cannot be encoded: \(error).",
                remedy: "Shorten the content.\nIn code, have the excess omitted: AdvertisementContent.overflow.")
        }
        if options.kind != .connectable, !payloads.scanResponse.isEmpty || options.kind == .scannable {
            flags.insert(.scanResponse)
        }
    }

    private static func flag(
        of phy: LEPHY, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> AdvertisingInstanceFlags {
        switch phy {
        case .le1M: return .secondaryLE1M
        case .le2M: return .secondaryLE2M
        case .leCoded: return .secondaryLECoded
        default: throw .invalidArgument(operation, "Advertising on \(phy) is not possible.")
        }
    }

    /// The capacities in bytes of the advertising data and the scan response data.
    private static func capacities(
        _ content: AdvertisementContent, _ kind: AdvertisingOptions.Kind, isExtended: Bool,
        _ features: AdvertisingFeatures, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> (advertising: Int, scanResponse: Int) {
        let most = (
            advertising: Int(features.maximumAdvertisingDataLength),
            scanResponse: Int(features.maximumScanResponseLength)
        )
        let legacy = AdvertisementDataBuilder.legacyCapacity
        switch (isExtended, kind) {
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
            return (0, most.scanResponse)
        case (true, _): return (max(0, most.advertising - content.automaticByteCount), 0)
        case (false, .nonConnectable): return (max(0, min(legacy, most.advertising) - content.automaticByteCount), 0)
        case (false, _):
            return (
                max(0, min(legacy, most.advertising) - content.automaticByteCount), min(legacy, most.scanResponse)
            )
        }
    }
}

extension AdvertisingOptions {
    /// The interval in the controller's units of 0.625 ms.
    fileprivate func intervals(
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ManagementAddExtendedAdvertisingParameters.Intervals {
        let most: Int64 = format == .legacy ? 0x4000 : 0xFF_FFFF
        let bounds = [interval.lowerBound, interval.upperBound].map { $0.clampedNanoseconds / 625_000 }
        guard bounds[0] >= 0x20, bounds[1] <= most else {
            throw .invalidArgument(
                operation,
                "The advertising interval is 20 ms to \(format == .legacy ? "10.24 s" : "10485.76 s").")
        }
        return .init(minimum: UInt32(clamping: bounds[0]), maximum: UInt32(clamping: bounds[1]))
    }
}
