import BluetoothAdvertising
import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

/// The advertising instances of one adapter in the kernel, including those of other programs.
struct AdvertisingInstances {
    private let adapter: AdapterRecord
    private let management: ManagementClient

    init(of adapter: AdapterRecord, by management: ManagementClient) {
        (self.adapter, self.management) = (adapter, management)
    }

    private var index: UInt16 { adapter.information.index }

    nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdvertisingFeatures {
        try await management.sendWhenIdle(ManagementReadAdvertisingFeatures(), to: index)
    }

    /// Adds or replaces an instance according to a plan; returns its transmit power. An instance whose change failed is
    /// removed, or only half configured.
    nonisolated(nonsending) func put(
        _ plan: AdvertisingPlan, _ flags: AdvertisingInstanceFlags, as instance: UInt8,
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int {
        let parameters = ManagementAddExtendedAdvertisingParameters(
            instance: instance, flags: plan.isScannable ? flags.union(.scanResponse) : flags,
            intervals: .init(minimum: plan.interval.lowerBound, maximum: plan.interval.upperBound),
            transmitPower: plan.transmitPower)
        let limits = try await management.sendWhenIdle(parameters, to: index)
        try await management.sendWhenIdle(
            ManagementAddExtendedAdvertisingData(
                instance: instance, advertisingData: plan.payloads.advertising,
                scanResponse: plan.payloads.scanResponse), to: index)
        return Int(limits.transmitPower)
    }

    /// Removes an instance; false when there was none.
    @discardableResult
    nonisolated(nonsending) func remove(_ instance: UInt8) async throws(BluetoothError) -> Bool {
        do throws(BluetoothError) {
            try await management.sendWhenIdle(ManagementRemoveAdvertising(instance), to: index)
            return true
        } catch {
            guard error.cause == .management(.invalidParameters) else { throw error }
            return false
        }
    }

    /// Removes all instances that match the condition, and returns their number.
    nonisolated(nonsending) func removeAll(
        where isLeft: (UInt8) -> Bool, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int {
        let features = try await features(operation)
        var count = 0
        // The kernel does not list all instances, so each number is tried; it reports one that does not exist.
        for instance in (1...max(1, features.maximumInstances)) where isLeft(instance) {
            if try await remove(instance) { count += 1 }
        }
        return count
    }
}

extension AdvertisingFeatures {
    /// The limits of the plans of sets.
    var limits: AdvertisingPlan.Limits {
        .init(
            advertisingData: Int(maximumAdvertisingDataLength), scanResponse: Int(maximumScanResponseLength),
            canSetTransmitPower: supportedFlags.contains(.canSetTransmitPower))
    }

    /// The kind of a set, and the data that the kernel adds.
    /// - Throws: `.invalidArgument` for values that no adapter allows, `.unsupported` for those that this one does not.
    func flags(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> AdvertisingInstanceFlags {
        var flags: AdvertisingInstanceFlags = options.kind == .connectable ? .connectable : []
        switch content.discoverability {
        case .none: break
        case .limited: flags.insert(.limitedDiscoverable)
        case .general: flags.insert(.generalDiscoverable)
        }
        if content.includesTransmitPower { flags.insert(.transmitPower) }
        switch options.format {
        case .legacy: break
        case .extended(.le1M): flags.insert(.secondaryLE1M)
        case .extended(.le2M): flags.insert(.secondaryLE2M)
        case .extended(.leCoded): flags.insert(.secondaryLECoded)
        case .extended(let phy): throw .invalidArgument(operation, "Advertising on \(phy) is not possible.")
        }
        let missing = flags.subtracting(supportedFlags)
        guard missing.isEmpty else {
            throw BluetoothError(.unsupported, operation, "The adapter does not support \(missing).")
        }
        return flags
    }

    /// The number of a free instance that is not in `own`.
    func freeInstance(_ own: Set<UInt8>, _ operation: BluetoothError.Operation) throws(BluetoothError) -> UInt8 {
        guard maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        // The kernel does not list numbers above the number of instances; the lowest free number is below those.
        let taken = own.union(instances)
        if let free = (1...maximumInstances).first(where: { !taken.contains($0) }) { return free }
        throw BluetoothError(
            .busy, operation,
            "All \(maximumInstances) advertising instances of the adapter are in use; this program has \(own.count) of them.",
            remedy: BluetoothError.remedy(
                "A killed program may have left some behind, which can be removed.",
                inCode: "removeForeignAdvertising().", orRun: "advertise --clear"),
            isRetryable: true)
    }
}
