import BluetoothAdvertising
import BluetoothHost
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// What the kernel is to be told of an advertising set, made from what the program wants and the adapter can.
package struct AdvertisingPlan: Hashable, Sendable {
    package var flags: AdvertisingInstanceFlags
    package var intervals: ExtendedAdvertisingInstanceParameters.Intervals
    package var transmitPower: Int8?
    package var payloads: AdvertisingPayloads

    /// - Throws: `.invalidArgument` for what no adapter can do, `.unsupported` for what this one cannot.
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
                throw BluetoothError(.unsupported, operation, "The adapter cannot choose its transmit power.")
            }
            transmitPower = power
        }
        let missing = flags.subtracting(features.supportedFlags)
        guard missing.isEmpty else {
            throw BluetoothError(.unsupported, operation, "The adapter cannot do that: \(missing).")
        }
        let capacities = try Self.capacities(content, options.kind, isExtended: isExtended, features, operation)
        do throws(AdvertisementDataError) {
            payloads = try content.payloads(
                capacity: capacities.advertising, scanResponseCapacity: capacities.scanResponse)
        } catch {
            throw BluetoothError(
                .invalidArgument, operation, "The advertisement cannot be made: \(error).",
                remedy: "Say less, or leave out what does not fit: AdvertisementContent.overflow.")
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
        default: throw .invalidArgument(operation, "There is no advertising on \(phy).")
        }
    }

    /// How many bytes there are for what is sent unasked and for the answer to a scan request.
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
            // Such a set has no data but its scan response (Core Vol 4 Part E §7.8.54).
            guard content.automaticByteCount == 0 else {
                throw .invalidArgument(
                    operation,
                    "A scannable advertisement in the extended format has no room for flags or transmit power; ask for discoverability none."
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
    ) throws(BluetoothError) -> ExtendedAdvertisingInstanceParameters.Intervals {
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
