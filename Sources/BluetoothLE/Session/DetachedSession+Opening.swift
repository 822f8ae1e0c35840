import BluetoothHost
import BluetoothLoop
import Logging

extension DetachedSession {
    /// Selects an adapter and makes it ready for use; see ``Adapter/open(_:power:configuration:on:)``.
    func open(
        _ selector: AdapterSelector, power: PowerPolicy, _ configuration: AdapterConfiguration,
        of provider: any HostProvider
    ) async throws(BluetoothError) -> AdapterSession {
        let (recovery, log) = (configuration.recovery, configuration.log)
        let (silence, least) = (recovery.silence.lowerBound, RecoveryOptions.leastSilence)
        guard silence >= least else {
            throw .invalidArgument(
                .init("open an adapter"),
                "A scan cannot count as silent after \(silence.inSeconds); the minimum is \(least.inSeconds).")
        }
        let directory = try await provider.makeDirectory(log: log)
        let bondManager = BondManager(
            configuration.bonds.store(log: log), limit: configuration.bondLimit, directory.pairing, on: loop, log: log)
        let requirements = AdapterRequirements(power: power, privacy: configuration.privacy)
        let information = try await directory.choose(
            selector, requirements, timeout: configuration.timeout, store: bondManager)
        // The components are made on the loop, whatever the caller's executor.
        let session = AdapterSession(
            information, requirements, in: LoopBound(directory, on: loop), LoopBound(bondManager, on: loop),
            recovery: recovery, log: log, trace: configuration.trace)
        await session.begin()
        return session
    }

    /// All adapters, lowest index first.
    func all(_ bonds: BondStorage, of provider: any HostProvider) async throws(BluetoothError) -> [AdapterInformation] {
        let log = Logger(label: "bluetooth.adapter")
        let directory = try await provider.makeDirectory(log: log)
        defer { directory.close(.cancelled(.init("list adapters"))) }
        return await directory.adapters(store: LocalIdentities(bonds.store(log: log), log: log))
    }

    /// Gives an adapter the settings that it had before; see ``Adapter/restoreSettings(_:on:)``.
    func restoreSettings(_ former: AdapterInformation, of provider: any HostProvider) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("restore the settings", adapter: former.name)
        let directory = try await provider.makeDirectory(log: Logger(label: "bluetooth.adapter"))
        defer { directory.close(.cancelled(operation)) }
        // Adapters without a public address cannot be told apart by it.
        let present = directory.adapters.first { adapter in
            adapter.publicAddress == former.publicAddress
                && (!former.publicAddress.isZero || adapter.id == former.id)
        }
        guard let present else { throw .noAdapter(operation) }
        try await directory.bring(present, to: .restored(former), store: nil)
    }

    /// A stream of the adapters' changes, after an addition for each present adapter.
    func changes(
        _ operation: BluetoothError.Operation, of provider: any HostProvider
    ) async throws(BluetoothError) -> BoundedStream<AdapterChange> {
        let channel = StreamChannel<AdapterChange>(capacity: 1024, policy: .fail, operation: operation, from: loop)
        let directory = try await provider.makeDirectory(log: Logger(label: "bluetooth.adapter"))
        for adapter in directory.adapters { channel.send(.init(.added, adapter)) }
        directory.receiver = channel
        let bound = LoopBound(directory, on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { bound.value.close(.cancelled(operation)) }
        }
    }
}

extension StreamChannel: DirectoryReceiver where Element == AdapterChange {
    package func receive(_ event: DirectoryEvent) {
        switch event {
        case .changed(let change): send(change)
        case .ended(let reason): finish(reason)
        }
    }
}
