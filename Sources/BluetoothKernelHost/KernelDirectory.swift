import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The adapters that the kernel lists.
///
/// It follows the management socket, and the radio switches if this process may.
//
// Lives on the loop, with its owner.
// Holds more than ten variables: most are what it is given to follow one list of adapters.
package final class KernelDirectory: HostDirectory, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    package let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let kernelPairing: KernelPairing
    private let log: Logger
    private let trace: PacketSynthesis?
    private var known: [UInt16: AdapterInformation] = [:]
    package weak var receiver: (any DirectoryReceiver)?
    private var switchWatch: (any RadioSwitchWatch)?
    private var end: BluetoothError?

    init(on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis? = nil) {
        mark = kernel.loop.components.mark("KernelDirectory")
        self.kernel = kernel
        management = ManagementClient(on: kernel, log: log, trace: trace)
        (self.log, self.trace) = (log, trace)
        kernelPairing = KernelPairing(of: kernel, by: LoopBound(management, on: kernel.loop), log: log)
    }

    package var loop: EventLoop { kernel.loop }

    package var adapters: [AdapterInformation] { known.values.sorted { $0.index < $1.index } }

    // MARK: Starting

    /// Starts following the adapters; returns when all present ones are known.
    ///
    /// The information about an adapter is processed with its packet, as events are, so that the order is that in which
    /// things happened: an adapter unplugged meanwhile is reported as removed, or the kernel no longer lists it.
    nonisolated(nonsending) func start() async throws(BluetoothError) {
        let operation = BluetoothError.Operation("list adapters")
        if let error = kernel.environment().socketError { throw .noBluetoothSockets(operation, error) }
        try management.follow(self)
        switchWatch = kernel.watchRadioSwitches { [weak self] in self?.lookAtRadioSwitches() }
        for index in try await management.send(ManagementReadControllerIndexList()).elements.sorted() {
            let call = Promise<Void, BluetoothError>()
            read(index, then: call)
            try await call.value(operation, timeout: .seconds(20), on: loop)
        }
        if let end { throw end }
    }

    /// Reads the information about an adapter.
    /// - Parameters:
    ///   - settings: applied if the information cannot be read.
    ///   - call: resolved afterwards.
    private func read(
        _ index: UInt16, otherwise settings: ManagementSettings? = nil, then call: Promise<Void, BluetoothError>? = nil
    ) {
        management.post(ManagementReadControllerInformation(), to: index) { [weak self, log] answer in
            var error: BluetoothError?
            switch answer {
            case .success(let read): self?.found(AdapterInformation(read, index: index))
            // An adapter that was unplugged meanwhile is no error.
            case .failure(let failure): error = failure.code == .noAdapter ? nil : failure
            }
            if let error {
                log.debug("\(error)")
                if let settings { self?.apply(settings, to: index) }
            }
            call?.resolve(error.map { .failure($0) } ?? .success(()))
        }
    }

    // MARK: Events

    package func receive(_ notice: AdapterNotice) {
        switch notice {
        case .event(let index, is ManagementIndexAdded): read(index)
        case .event(let index, is ManagementIndexRemoved): lost(index)
        case .event(let index, let event as ManagementNewSettings): change(index, to: event.value)
        case .event, .unanswered, .connected, .pairing: break
        case .lost(let reason): finish(reason)
        }
    }

    private func found(_ information: AdapterInformation) {
        var information = information
        if !information.isPowered { information.receive(kernel.radioSwitches()) }
        if let before = known[information.index] {
            information.formerAddress = before.formerAddress
            guard before.publicAddress == information.publicAddress else {
                information.formerAddress = before.formerAddress ?? before.publicAddress
                known[information.index] = information
                report(.init(.removed, before))
                return report(.init(.added, information))
            }
        }
        let before = known.updateValue(information, forKey: information.index)
        if information.isPowered, before?.isPowered != true {
            PowerChanges.setSwitchedOff(false, .init(information.index, information.publicAddress, on: loop))
        }
        if before == nil {
            report(.init(.added, information))
        } else if before != information {
            report(.init(.changed, information))
        }
    }

    private func lost(_ index: UInt16) {
        if let gone = known.removeValue(forKey: index) { report(.init(.removed, gone)) }
    }

    private func change(_ index: UInt16, to settings: ManagementSettings) {
        guard let information = known[index] else { return }
        guard settings.contains(.powered), !information.isPowered else { return apply(settings, to: index) }
        // The kernel asks the controller for its address whenever it opens it, and does not report that it has changed.
        read(index, otherwise: settings)
    }

    private func apply(_ settings: ManagementSettings, to index: UInt16) {
        guard var information = known[index] else { return }
        information.activeFeatures = AdapterFeatures(settings)
        if information.isPowered {
            (information.isSoftBlocked, information.isHardBlocked) = (false, false)
        } else {
            // An adapter that is being unplugged is reported as powered off first; the kernel no longer lists it then.
            if let listed = try? kernel.adapters(), !listed.contains(where: { $0.index == index }) {
                return lost(index)
            }
            information.receive(kernel.radioSwitches())
        }
        replace(information)
    }

    private func replace(_ information: AdapterInformation) {
        guard information != known[information.index] else { return }
        known[information.index] = information
        report(.init(.changed, information))
    }

    private func refreshState(of index: UInt16) {
        guard let listed = try? kernel.adapters(), var information = known[index] else { return }
        guard let adapter = listed.first(where: { $0.index == index }) else { return lost(index) }
        information.receive(kernel.radioSwitches())
        // While it is being powered off, the kernel still counts it as up.
        let isBlocked = information.isSoftBlocked || information.isHardBlocked
        if isBlocked || !adapter.isUp { information.activeFeatures.remove(.powered) }
        if information.isPowered { return }
        replace(information)
    }

    private func lookAtRadioSwitches() {
        let switches = kernel.radioSwitches()
        for var information in adapters where !information.isPowered {
            information.receive(switches)
            replace(information)
        }
    }

    package func refresh(_ adapter: AdapterID?) {
        if let adapter { return refreshState(of: adapter.index) }
        // If it may not follow the radio switches.
        if switchWatch == nil { lookAtRadioSwitches() }
    }

    private func report(_ change: AdapterChange) {
        log.debug("\(change)")
        receiver?.receive(.changed(change))
    }

    // MARK: The end

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        switchWatch = nil
        receiver?.receive(.ended(reason))
    }

    package func close(_ reason: BluetoothError) {
        receiver = nil
        finish(reason)
        management.close(reason)
    }

    // MARK: Preparation

    package nonisolated(nonsending) func bring(
        _ adapter: AdapterInformation, to target: AdapterTarget, store: (any AdapterStore)?
    ) async throws(BluetoothError) -> AdapterInformation {
        switch target {
        case .ready(let requirements):
            return try await preparation(store, requirements.privacy).prepare(adapter, power: requirements.power)
        case .off: try await switchOff(adapter.index)
        case .restored(let former): try await restoreSettings(of: adapter, to: former)
        }
        return adapter
    }

    package nonisolated(nonsending) func adapters(store: any AdapterStore) async
        -> [AdapterInformation]
    {
        await preparation(store).knowingStaticAddresses(adapters)
    }

    private nonisolated(nonsending) func switchOff(_ index: UInt16) async throws(BluetoothError) {
        let adapter = known[index].map { PowerChanges.Adapter(index, $0.publicAddress, on: loop) }
        if let adapter { PowerChanges.setSwitchedOff(true, adapter) }
        do throws(BluetoothError) {
            try await management.sendWhenIdle(ManagementSetPowered(false), to: index)
        } catch {
            // A command whose caller has stopped waiting may still take effect.
            if let adapter, ![.cancelled, .timedOut].contains(error.code) {
                PowerChanges.setSwitchedOff(false, adapter)
            }
            throw error
        }
    }

    package func isSwitchedOff(_ adapter: AdapterID) -> Bool {
        known[adapter.index].map { PowerChanges.isSwitchedOff(.init($0.index, $0.publicAddress, on: loop)) } ?? false
    }

    private nonisolated(nonsending) func restoreSettings(
        of adapter: AdapterInformation, to former: AdapterInformation
    ) async throws(BluetoothError) {
        var failure: BluetoothError?
        var now = adapter.activeFeatures
        do throws(BluetoothError) {
            // Also if it has the state: an earlier change that is still under way makes this one wait.
            now = AdapterFeatures(
                try await management.sendWhenIdle(ManagementSetPowered(former.isPowered), to: adapter.index))
        } catch {
            failure = error
        }
        for command in SettingsRestoration.commands(from: now, to: former.activeFeatures) {
            do throws(BluetoothError) {
                try await management.sendWhenIdle(command.base, to: adapter.index)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func preparation(_ store: (any AdapterStore)?, _ privacy: PrivacyMode? = nil) -> AdapterPreparation {
        AdapterPreparation(
            kernel: kernel, management: management, pairing: kernelPairing, store: store, privacy: privacy)
    }

    // MARK: Components of an adapter

    package var pairing: any HostPairing { kernelPairing }

    package func makeHost(of adapter: AdapterRecord) -> any Host {
        AdapterHost(adapter, of: kernel, in: self, management: management, kernelPairing, log: log, trace: trace)
    }
}

/// The adapters of a kernel.
package struct KernelProvider: HostProvider {
    package let kernel: any BluetoothKernel
    private let trace: PacketSynthesis?

    package init(_ kernel: any BluetoothKernel, trace: PacketSynthesis? = nil) {
        (self.kernel, self.trace) = (kernel, trace)
    }

    package nonisolated(nonsending) func makeDirectory(log: Logger) async throws(BluetoothError) -> any HostDirectory {
        let directory = KernelDirectory(on: kernel, log: log, trace: trace)
        try await directory.start()
        return directory
    }
}
