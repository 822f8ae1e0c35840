import Advertising
import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Logging
import Management

/// What is told of advertising by the kernel.
package enum KernelAdvertisingEvent {
    /// An instance is there no more. Powering off does that, before the adapter is off, and so do other programs.
    case removed(instance: UInt8)
    /// A device has made a link. Which advertisement it has answered is not told.
    case connectedByPeer
    case linkEnded
}

/// The advertising instances of one adapter's kernel.
//
// Lives on the loop, with what is advertised.
package final class KernelAdvertising {
    /// An instance as it is to be.
    package struct Instance {
        package let number: UInt8
        package let payloads: AdvertisingPayloads
        fileprivate let plan: AdvertisingPlan
        fileprivate let tellsPower: Bool
    }

    private let adapter: AdapterFacts
    private let management: LoopBound<ManagementClient>
    private var follower: UInt64?

    package init(of adapter: AdapterFacts, by management: LoopBound<ManagementClient>) {
        self.adapter = adapter
        self.management = management
    }

    private var index: UInt16 { adapter.information.index }

    /// Has `onEvent` called with what happens, on the loop; a second call does nothing.
    package func follow(_ onEvent: @escaping (KernelAdvertisingEvent) -> Void) throws(BluetoothError) {
        guard follower == nil else { return }
        follower = try management.value.follow { [adapter] notice in
            let own = adapter.information.index
            switch notice {
            case .advertisingRemoved(own, let instance): onEvent(.removed(instance: instance))
            case .connectedByPeer(own): onEvent(.connectedByPeer)
            case .disconnected(own): onEvent(.linkEnded)
            default: break
            }
        }
    }

    /// What the adapter can advertise, and what instances there are.
    package nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdvertisingFeatures {
        let reply = try await management.value.sendWhenIdle(.readAdvertisingFeatures, to: index)
        guard case .advertisingFeatures(let features) = reply else { throw .unreadable(operation) }
        return features
    }

    /// Has the kernel advertise an instance, for the first time or again; returns the power it sends with, where one can be
    /// asked for. One whose change failed is not there any more, or half made.
    package nonisolated(nonsending) func put(
        _ instance: Instance, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int? {
        let index = index
        let plan = instance.plan
        let parameters = ExtendedAdvertisingInstanceParameters(
            instance: instance.number, flags: plan.flags, intervals: plan.intervals, transmitPower: plan.transmitPower)
        let answer = try await management.value.sendWhenIdle(.addExtendedAdvertisingParameters(parameters), to: index)
        guard case .extendedAdvertisingParameters(let limits) = answer else { throw .unreadable(operation) }
        try await management.value.sendWhenIdle(
            .addExtendedAdvertisingData(
                ExtendedAdvertisingInstanceData(
                    instance: instance.number, advertisingData: plan.payloads.advertising,
                    scanResponse: plan.payloads.scanResponse)), to: index)
        return instance.tellsPower ? Int(limits.transmitPower) : nil
    }

    /// Removes an instance; false when there was none.
    @discardableResult
    package nonisolated(nonsending) func remove(_ instance: UInt8) async throws(BluetoothError) -> Bool {
        do throws(BluetoothError) {
            try await management.value.sendWhenIdle(.removeAdvertising(instance), to: index)
            return true
        } catch {
            guard error.cause == .management(.invalidParameters) else { throw error }
            return false
        }
    }

    /// Removes every instance that is not of these, and says how many there were.
    package nonisolated(nonsending) func removeAll(
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

extension AdvertisingFeatures {
    /// An instance that says what is wanted: number `own`, or the lowest that is free and not of `taken`.
    /// - Throws: `.invalidArgument` for what no adapter can do, `.unsupported` for what this one cannot, `.busy`.
    package func instance(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, own: UInt8?, taken: Set<UInt8>,
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> KernelAdvertising.Instance {
        let plan = try AdvertisingPlan(content, options, self, operation)
        let number: UInt8
        if let own { number = own } else { number = try freeInstance(taken, operation) }
        return KernelAdvertising.Instance(
            number: number, payloads: plan.payloads, plan: plan,
            tellsPower: supportedFlags.contains(.canSetTransmitPower))
    }

    private func freeInstance(_ own: Set<UInt8>, _ operation: BluetoothError.Operation) throws(BluetoothError) -> UInt8
    {
        // Of numbers above the number of instances the kernel lists none; the lowest that is free is below those.
        let taken = own.union(instances)
        if maximumInstances > 0, let free = (1...maximumInstances).first(where: { !taken.contains($0) }) { return free }
        guard maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        throw BluetoothError(
            .busy, operation,
            "All \(maximumInstances) advertising instances of the adapter are taken, \(own.count) of them by this program.",
            remedy: BluetoothError.remedy(
                "Others may be left behind by a program that was killed: removeForeignAdvertising() removes them.",
                orRun: "advertise --clear"),
            isRetryable: true)
    }
}
