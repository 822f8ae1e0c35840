import BluetoothSockets
import BluetoothKernelHost
import BluetoothLoop

// The adapters of a source: this machine's kernel, or another that a program passes.
extension Adapter {
    /// Opens an adapter and checks that it supports LE.
    ///
    /// Needs CAP_NET_ADMIN to switch anything on. An adapter that this call has powered on stays on.
    /// - Parameters:
    ///   - selector: the adapter.
    ///   - power: whether the adapter may be powered on, now and later.
    ///   - configuration: the bonds, the privacy and more.
    ///   - source: the source of the adapter; nil for this machine's kernel.
    /// - Throws: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.notPermitted`, `.unsupported`, each
    ///   with the fix. Where several adapters were tried, the message has the reason for each.
    public nonisolated(nonsending) static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave,
        configuration: AdapterConfiguration = AdapterConfiguration(), on source: (any AdapterSource)? = nil
    ) async throws(BluetoothError) -> Adapter {
        let source = try chosenSource(source, .init("open \(selector)"))
        var configuration = configuration
        configuration.trace = try await EnvironmentTrace.trace(configuration.trace, on: source)
        configuration.bonds = configuration.bonds.of(source)
        let session = try await DetachedSession(on: source.loop).open(
            selector, power: power, configuration,
            of: source.provider(recordedBy: configuration.trace?.synthesis))
        return Adapter(session)
    }

    /// All adapters of this machine, lowest index first. Needs no privilege.
    /// - Parameters:
    ///   - bonds: the store of the static addresses of adapters without a public one.
    ///   - source: the source of the adapters; nil for this machine's kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public nonisolated(nonsending) static func all(
        bonds: BondStorage = .standard, on source: (any AdapterSource)? = nil
    ) async throws(BluetoothError) -> [AdapterInformation] {
        let source = try chosenSource(source, .init("list adapters"))
        return try await DetachedSession(on: source.loop).all(bonds.of(source), of: source.provider())
    }

    /// Gives an adapter the settings that it had before, for a program that leaves a machine as it found it: power, LE,
    /// Bondable, Secure Simple Pairing, Secure Connections, and no static address if it had none. Opening an adapter and
    /// pairing change them.
    ///
    /// Close the adapter first: while it is open, its `PowerPolicy` may switch LE on again. Powering off ends everything
    /// under way on the adapter, including that of other programs. A change of its power that is still under way is waited
    /// for, and every setting is tried, also after a failure. Needs CAP_NET_ADMIN.
    /// - Parameters:
    ///   - former: the adapter's state before, as ``all(bonds:on:)`` returns it.
    ///   - source: the source of the adapter; nil for this machine's kernel.
    /// - Throws: the first failure: `.noAdapter` when the adapter is absent, `.notPermitted`, `.adapterBlocked`, `.busy`,
    ///   `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) static func restoreSettings(
        _ former: AdapterInformation, on source: (any AdapterSource)? = nil
    ) async throws(BluetoothError) {
        let source = try chosenSource(source, .init("restore the settings", adapter: former.name))
        try await DetachedSession(on: source.loop).restoreSettings(former, of: source.provider())
    }

    /// A stream of the machine's adapters as they appear, change and disappear, beginning with
    /// an addition for each present one. Needs no privilege.
    ///
    /// Leaving the loop ends the stream and nothing else. It throws `.overflow` when 1024 changes wait for the
    /// consumer, and an error when the kernel's management interface ends. The release of a radio switch is reported at
    /// once where `/dev/rfkill` may be read, otherwise with the adapter's next change.
    /// - Parameter source: the source of the adapters; nil for this machine's kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public nonisolated(nonsending) static func changes(
        on source: (any AdapterSource)? = nil
    ) async throws(BluetoothError) -> BoundedStream<AdapterChange> {
        let operation = BluetoothError.Operation("follow the adapters")
        let source = try chosenSource(source, operation)
        return try await DetachedSession(on: source.loop).changes(operation, of: source.provider())
    }
}

extension BondStorage {
    /// The storage for the adapters of a source: the standard is in files if they are this machine's.
    fileprivate func of(_ source: any AdapterSource) -> BondStorage {
        guard case .standard = self, !source.isMachine else { return self }
        return .store(MemoryBondStore())
    }
}

extension Diagnosis {
    /// Examines the Bluetooth set-up. Needs no privilege and changes nothing.
    /// - Parameter source: the source to examine; nil for this machine's kernel.
    public nonisolated(nonsending) static func run(on source: (any AdapterSource)? = nil) async -> Diagnosis {
        let kernel: any BluetoothKernel
        do {
            kernel = try chosenSource(source, .init("look")).kernel(.init("look"))
        } catch {
            return Diagnosis(findings: [finding("process", error)])
        }
        return await look(at: kernel) { () throws(BluetoothError) in try await Adapter.all(on: kernel) }
    }
}
