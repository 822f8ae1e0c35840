import BluetoothKernel
import KernelHost
import Logging

extension LooseSession {
    /// An adapter that was chosen and is ready for use, with what was opened to find it.
    struct Opened: Sendable {
        let information: AdapterInformation
        let management: LoopBound<ManagementClient>
        let directory: LoopBound<any HostDirectory>
        let bonds: LoopBound<BondKeeper>
    }

    /// Chooses an adapter and makes it ready for use; see ``Adapter/open(_:power:waitingFor:bonds:bondLimit:privacy:on:log:trace:)``.
    func open(
        _ selector: AdapterSelector, power: PowerPolicy, waitingFor limit: Duration?, bonds: BondKeeping,
        bondLimit: BondLimit, privacy: PrivacyMode?, on kernel: any BluetoothKernel, log: Logger,
        trace: PacketTrace?
    ) async throws(BluetoothError) -> AdapterSession {
        let directory = KernelDirectory(on: kernel, log: log, trace: trace?.synthesis)
        let management = LoopBound(directory.management, on: loop)
        try await directory.start()
        let keeper = LoopBound(
            BondKeeper(
                bonds.store(on: kernel, log: log), limit: bondLimit,
                keys: KernelKeys(of: kernel, by: management, log: log), log: log), on: loop)
        let information = try await directory.choose(
            selector, AdapterWish(power: power, privacy: privacy), waitingFor: limit, knowing: keeper.value)
        let opened = Opened(
            information: information, management: management, directory: LoopBound(directory, on: loop), bonds: keeper)
        // Its components are made on the loop, whatever the caller's executor.
        let session = AdapterSession(opened, power: power, privacy: privacy, on: kernel, log: log, trace: trace)
        await session.begin()
        return session
    }

    /// All adapters, lowest index first.
    func all(_ bonds: BondKeeping, on kernel: any BluetoothKernel, log: Logger) async throws(BluetoothError)
        -> [AdapterInformation]
    {
        let directory = KernelDirectory(on: kernel, log: log)
        try await directory.start()
        defer { directory.close(.cancelled(.init("list adapters"))) }
        return await directory.adapters(knowing: LocalIdentities(bonds.store(on: kernel, log: log), log: log))
    }

    /// What happens to adapters, after those there are.
    func changes(_ operation: BluetoothError.Operation, on kernel: any BluetoothKernel, log: Logger)
        async throws(BluetoothError) -> BoundedStream<AdapterChange>
    {
        let directory = KernelDirectory(on: kernel, log: log)
        let channel = StreamChannel<AdapterChange>(capacity: 1024, policy: .fail, operation: operation, from: loop)
        directory.follow({ channel.send($0) }, onEnd: { channel.finish($0) })
        try await directory.start()
        let bound = LoopBound(directory, on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { bound.value.close(.cancelled(operation)) }
        }
    }
}
