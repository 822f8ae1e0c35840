import BluetoothAdvertising
import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

extension ManagementAddExtendedAdvertisingParameters {
    init(_ request: AdvertisingRequest, as instance: UInt8) {
        let interval = request.options.interval
        self.init(
            instance: instance, flags: AdvertisingInstanceFlags(request),
            intervals: .init(
                minimum: UInt32(clamping: interval.lowerBound.slots),
                maximum: UInt32(clamping: interval.upperBound.slots)),
            transmitPower: request.options.transmitPower.map { Int8(clamping: $0) })
    }
}

extension AdvertisingInstanceFlags {
    /// The kind of a set, and the data that the kernel adds.
    init(_ request: AdvertisingRequest) {
        switch request.options.kind {
        case .connectable: self = .connectable
        case .scannable: self = .scanResponse
        case .nonConnectable: self = []
        }
        switch request.discoverability {
        case .none: break
        case .limited: insert(.limitedDiscoverable)
        case .general: insert(.generalDiscoverable)
        }
        if request.includesTransmitPower { insert(.transmitPower) }
        if case .extended(let phy) = request.options.format { formUnion(Self.secondaryPHYs[phy] ?? []) }
    }

    /// The flags that select the format, which is the legacy one without them.
    fileprivate static let secondaryPHYs: [LEPHY: AdvertisingInstanceFlags] = [
        .le1M: .secondaryLE1M, .le2M: .secondaryLE2M, .leCoded: .secondaryLECoded,
    ]
}

extension AdvertisingFeatures {
    /// The limits, with the number of the instances in use; those in `own` are.
    func limits(_ own: Set<UInt8>) -> AdvertisingLimits {
        var limits = AdvertisingLimits()
        limits.advertisingData = Int(maximumAdvertisingDataLength)
        limits.scanResponse = Int(maximumScanResponseLength)
        limits.canSetTransmitPower = supportedFlags.contains(.canSetTransmitPower)
        limits.canIncludeTransmitPower = supportedFlags.contains(.transmitPower)
        for (phy, flag) in AdvertisingInstanceFlags.secondaryPHYs where supportedFlags.contains(flag) {
            limits.phys.insert(LEPHYSet(phy))
        }
        limits.count = Int(maximumInstances)
        // The kernel does not list an instance whose number exceeds their count.
        limits.countInUse = own.union(instances).count
        return limits
    }

    /// The number of a free instance that is not in `own`, nor marked by another program, which may be about to send it.
    func freeInstance(
        _ own: Set<UInt8>, _ marks: AdapterMarks, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> UInt8 {
        guard maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        // The kernel does not list numbers above the number of instances; the lowest free number is below those.
        let taken = own.union(instances)
        if let free = (1...maximumInstances).first(where: { !taken.contains($0) && marks.isLeft($0) }) { return free }
        throw BluetoothError(
            .busy, operation,
            "All \(maximumInstances) advertising instances of the adapter are in use; this program has \(own.count) of them.",
            remedy: BluetoothError.remedy(
                "A killed program may have left some behind, which can be removed.",
                inCode: "removeForeignAdvertising().", orRun: "advertise --clear"),
            isRetryable: true)
    }
}
