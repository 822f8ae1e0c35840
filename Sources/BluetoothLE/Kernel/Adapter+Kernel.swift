import BluetoothSockets
import BluetoothKernelHost
import Logging

// The adapters of a kernel: the machine's own, or another that a program names.
extension Adapter {
    /// Opens an adapter and makes sure that LE works on it.
    ///
    /// Needs CAP_NET_ADMIN when something has to be switched on. What was switched on stays on.
    /// - Parameters:
    ///   - selector: which adapter.
    ///   - power: whether it may be powered on, now and later.
    ///   - limit: how long to wait for an adapter that can be used, such as one that is found late while the machine
    ///     boots or that is still blocked; nil for not at all.
    ///   - bonds: which bonds it works with. Their keys are loaded into the kernel in place of those it has, before the
    ///     adapter is powered on where this call does that, so that bonded devices reconnect without pairing again;
    ///     where CAP_NET_ADMIN is missing, or BlueZ's daemon is running, ``bondStanding`` tells that they are not.
    ///   - bondLimit: the maximum number of bonds, and what happens when a device pairs at that limit.
    ///   - privacy: whether the adapter shows others addresses that change, behind which only bonded devices know it
    ///     (management `Set Privacy`), with a key that is kept with the bonds; nil leaves that as it is. The kernel changes
    ///     it while the adapter is off only, so one that is on is switched off and on for it, which ends what other
    ///     programs do on it, unless `power` is ``PowerPolicy/leave``.
    ///   - kernel: whose adapter; nil for the machine's own kernel.
    ///   - log: takes what happens: PDUs and packets as `trace`, oddities as `debug`.
    ///   - trace: records what goes over the air and between program and kernel; of the same kernel.
    /// - Throws: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.notPermitted`, `.unsupported`, each
    ///   with the fix. Where several were tried, the message says what is wrong with each.
    public static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondKeeping = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        on kernel: (any BluetoothKernel)? = nil, log: Logger = Logger(label: "bluetooth.adapter"),
        trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        let kernel = try chosenKernel(kernel, .init("open \(selector)"))
        return try await open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            of: KernelProvider(kernel, trace: trace?.synthesis), log: log, trace: trace)
    }

    /// All adapters of this machine, lowest index first. Needs no privilege.
    /// - Parameters:
    ///   - bonds: where the static addresses of adapters without a public one are looked up.
    ///   - kernel: whose adapters; nil for the machine's own kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public static func all(
        bonds: BondKeeping = .standard, on kernel: (any BluetoothKernel)? = nil
    ) async throws(BluetoothError) -> [AdapterInformation] {
        let provider = KernelProvider(try chosenKernel(kernel, .init("list adapters")))
        return try await LooseSession(on: provider.loop).all(
            bonds, of: provider, log: Logger(label: "bluetooth.adapter"))
    }

    /// The adapters of this machine as they come, go and change: those that are there come first, as
    /// ``AdapterChange/added(_:)``. Needs no privilege.
    ///
    /// The stream lives until its loop is left; it then finishes nothing but itself. It throws `.overflow` when 1024
    /// changes wait for the consumer, and when the kernel's management interface ends. That a radio switch was released
    /// is told at once where `/dev/rfkill` may be read, otherwise with the adapter's next change.
    /// - Parameter kernel: whose adapters; nil for the machine's own kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public static func changes(
        on kernel: (any BluetoothKernel)? = nil
    ) async throws(BluetoothError) -> BoundedStream<AdapterChange> {
        let operation = BluetoothError.Operation("follow the adapters")
        let provider = KernelProvider(try chosenKernel(kernel, operation))
        return try await LooseSession(on: provider.loop).changes(
            operation, of: provider, log: Logger(label: "bluetooth.adapter"))
    }
}

extension Diagnosis {
    /// Looks at everything. Needs no privilege and changes nothing.
    /// - Parameter kernel: whose Bluetooth; nil for the machine's own kernel.
    public static func run(on kernel: (any BluetoothKernel)? = nil) async -> Diagnosis {
        let chosen: any BluetoothKernel
        do {
            chosen = try chosenKernel(kernel, .init("look"))
        } catch {
            return Diagnosis(findings: [finding("process", error)])
        }
        return await look(at: chosen) { () throws(BluetoothError) in try await Adapter.all(on: chosen) }
    }
}
