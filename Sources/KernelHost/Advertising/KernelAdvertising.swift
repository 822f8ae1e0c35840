import Advertising
import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Logging
import Management

/// The advertising instances of one adapter's kernel.
//
// Lives on the loop, with what is advertised.
final class KernelAdvertising: HostAdvertising {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterFacts
    fileprivate let management: ManagementClient
    private var follower: UInt64?

    init(of adapter: AdapterFacts, by management: ManagementClient) {
        mark = management.loop.components.mark("KernelAdvertising")
        self.adapter = adapter
        self.management = management
    }

    fileprivate var index: UInt16 { adapter.information.index }

    func follow(_ onEvent: @escaping (AdvertisingEvent) -> Void) throws(BluetoothError) {
        guard follower == nil else { return }
        follower = try management.follow { [adapter] notice in
            let own = adapter.information.index
            switch notice {
            case .advertisingRemoved(own, let instance): onEvent(.removed(instance: instance))
            case .connectedByPeer(own): onEvent(.connectedByPeer)
            case .disconnected(own): onEvent(.linkEnded)
            default: break
            }
        }
    }

    nonisolated(nonsending) func capacity(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> any HostAdvertisingCapacity {
        KernelAdvertisingCapacity(features: try await features(operation), advertising: self)
    }

    private nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdvertisingFeatures {
        let reply = try await management.sendWhenIdle(.readAdvertisingFeatures, to: index)
        guard case .advertisingFeatures(let features) = reply else { throw .unreadable(operation) }
        return features
    }

    @discardableResult
    nonisolated(nonsending) func remove(_ instance: UInt8) async throws(BluetoothError) -> Bool {
        do throws(BluetoothError) {
            try await management.sendWhenIdle(.removeAdvertising(instance), to: index)
            return true
        } catch {
            guard error.cause == .management(.invalidParameters) else { throw error }
            return false
        }
    }

    nonisolated(nonsending) func removeAll(
        but own: () -> Set<UInt8>, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int {
        let features = try await features(operation)
        var count = 0
        // The kernel does not list all there are, so each number is tried; it says so when there is none.
        for instance in (1...max(1, features.maximumInstances)) where !own().contains(instance) {
            if try await remove(instance) { count += 1 }
        }
        return count
    }
}

/// What an adapter's kernel can advertise now.
private struct KernelAdvertisingCapacity: HostAdvertisingCapacity {
    let features: AdvertisingFeatures
    let advertising: KernelAdvertising

    func instance(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, own: UInt8?, taken: Set<UInt8>,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> any HostAdvertisingInstance {
        let plan = try AdvertisingPlan(content, options, features, operation)
        let number: UInt8
        if let own { number = own } else { number = try freeInstance(taken, operation) }
        return KernelAdvertisingInstance(
            number: number, plan: plan, tellsPower: features.supportedFlags.contains(.canSetTransmitPower),
            advertising: advertising)
    }

    private func freeInstance(_ own: Set<UInt8>, _ operation: BluetoothError.Operation) throws(BluetoothError) -> UInt8
    {
        // Of numbers above the number of instances the kernel lists none; the lowest that is free is below those.
        let taken = own.union(features.instances)
        if features.maximumInstances > 0,
            let free = (1...features.maximumInstances).first(where: { !taken.contains($0) })
        {
            return free
        }
        guard features.maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        throw BluetoothError(
            .busy, operation,
            "All \(features.maximumInstances) advertising instances of the adapter are taken, \(own.count) of them by this program.",
            remedy: BluetoothError.remedy(
                "Others may be left behind by a program that was killed: removeForeignAdvertising() removes them.",
                orRun: "advertise --clear"),
            isRetryable: true)
    }
}

/// An instance as it is to be.
private struct KernelAdvertisingInstance: HostAdvertisingInstance {
    let number: UInt8
    let plan: AdvertisingPlan
    let tellsPower: Bool
    let advertising: KernelAdvertising

    var payloads: AdvertisingPayloads { plan.payloads }

    nonisolated(nonsending) func put(_ operation: BluetoothError.Operation) async throws(BluetoothError) -> Int? {
        let (management, index) = (advertising.management, advertising.index)
        let parameters = ExtendedAdvertisingInstanceParameters(
            instance: number, flags: plan.flags, intervals: plan.intervals, transmitPower: plan.transmitPower)
        let answer = try await management.sendWhenIdle(.addExtendedAdvertisingParameters(parameters), to: index)
        guard case .extendedAdvertisingParameters(let limits) = answer else { throw .unreadable(operation) }
        try await management.sendWhenIdle(
            .addExtendedAdvertisingData(
                ExtendedAdvertisingInstanceData(
                    instance: number, advertisingData: plan.payloads.advertising,
                    scanResponse: plan.payloads.scanResponse)), to: index)
        return tellsPower ? Int(limits.transmitPower) : nil
    }
}
