import BluetoothKernel
import KernelHost
import Logging

extension LooseSession {
    /// An adapter that was chosen and is ready for use, with what was opened to find it.
    struct Opened: Sendable {
        let information: AdapterInformation
        let management: LoopBound<ManagementClient>
        let monitor: LoopBound<AdapterMonitor>
        let bonds: LoopBound<BondKeeper>
    }

    /// Chooses an adapter and makes it ready for use; see ``Adapter/open(_:power:waitingFor:bonds:bondLimit:privacy:on:log:trace:)``.
    func open(
        _ selector: AdapterSelector, power: PowerPolicy, waitingFor limit: Duration?, bonds: BondKeeping,
        bondLimit: BondLimit, privacy: PrivacyMode?, on kernel: any BluetoothKernel, log: Logger,
        trace: PacketSynthesis?
    ) async throws(BluetoothError) -> Opened {
        let client = ManagementClient(on: kernel, log: log, trace: trace)
        let management = LoopBound(client, on: loop)
        let monitor = AdapterMonitor(on: kernel, management: client, log: log)
        try await monitor.start()
        let keeper = LoopBound(
            BondKeeper(
                bonds.store(on: kernel, log: log), limit: bondLimit,
                keys: KernelKeys(of: kernel, by: management, log: log), log: log), on: loop)
        let preparation = AdapterPreparation(
            on: kernel, by: management, knowing: LoopBound(keeper.value, on: loop), privacy: privacy)
        let information = try await monitor.choose(selector, power: power, waitingFor: limit, by: preparation)
        return Opened(
            information: information, management: management, monitor: LoopBound(monitor, on: loop), bonds: keeper)
    }

    /// All adapters, lowest index first.
    func all(_ bonds: BondKeeping, on kernel: any BluetoothKernel, log: Logger) async throws(BluetoothError)
        -> [AdapterInformation]
    {
        let client = ManagementClient(on: kernel, log: log)
        let monitor = AdapterMonitor(on: kernel, management: client, log: log)
        try await monitor.start()
        defer { monitor.close(.cancelled(.init("list adapters"))) }
        let identities = LocalIdentities(bonds.store(on: kernel, log: log), log: log)
        let preparation = AdapterPreparation(
            on: kernel, by: LoopBound(client, on: loop), knowing: LoopBound(identities, on: loop))
        return await preparation.knowingStaticAddresses(monitor.adapters)
    }

    /// What happens to adapters, after those there are.
    func changes(_ operation: BluetoothError.Operation, on kernel: any BluetoothKernel, log: Logger)
        async throws(BluetoothError) -> BoundedStream<AdapterChange>
    {
        let monitor = AdapterMonitor(on: kernel, management: ManagementClient(on: kernel, log: log), log: log)
        let channel = StreamChannel<AdapterChange>(capacity: 1024, policy: .fail, operation: operation, from: loop)
        monitor.follow({ channel.send($0) }, onEnd: { channel.finish($0) })
        try await monitor.start()
        let bound = LoopBound(monitor, on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { bound.value.close(.cancelled(operation)) }
        }
    }
}
