import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Logging

/// The kernel as the host of one opened adapter.
//
// Lives on the loop, with the session.
package final class AdapterHost: Host {
    private let mark: ComponentCount.Mark
    private let adapterRecord: AdapterRecord
    private let kernel: any BluetoothKernel
    package let management: ManagementClient
    package let controller: KernelController
    package let channels: any HostChannels
    package let advertising: any HostAdvertising
    package let pairing: any HostPairing
    private let room: KernelCapacity
    private let defaults: KernelDefaults

    init(
        _ adapterRecord: AdapterRecord, of kernel: any BluetoothKernel, in directory: any HostDirectory,
        management: ManagementClient, state: @escaping () -> AdapterState, log: Logger, trace: PacketSynthesis?
    ) {
        mark = kernel.loop.components.mark("AdapterHost")
        (self.adapterRecord, self.kernel) = (adapterRecord, kernel)
        self.management = management
        trace?.opened(adapterRecord.information)
        controller = KernelController(
            adapterRecord.information, management: management, on: kernel, log: log, trace: trace)
        let links = controller.links
        let ends = LinkEndAttribution(of: adapterRecord, directory, controller, on: kernel.loop, state: state)
        let ending = LingeringLinks(
            controller, ends, of: adapterRecord.information.address, on: kernel.loop)
        channels = KernelChannels(of: adapterRecord, on: kernel, controller, ending, trace: trace)
        let advertising = KernelAdvertising(
            of: adapterRecord, on: kernel, by: management, state: state, log: log)
        self.advertising = advertising
        let room = KernelCapacity(
            of: adapterRecord, on: kernel, by: management,
            ownInstances: { [weak advertising] in advertising?.ownInstances ?? [] })
        self.room = room
        links.onLinkEnded = { [weak ending, weak room] handle in
            ending?.linkEnded(handle)
            room?.linkEnded()
        }
        pairing = KernelPairing(
            on: adapterRecord, of: kernel, management: LoopBound(management, on: kernel.loop), ending, log: log)
        defaults = KernelDefaults(by: management, controller.phyPolicy, log: log)
    }

    package var obstacles: HostObstacles {
        let environment = kernel.environment()
        let operation = BluetoothError.Operation("use the adapter", adapter: adapterRecord.information.name)
        let error = BluetoothError.notPermitted(operation, executable: environment.executablePath)
        return HostObstacles(
            central: environment.hasNetRaw ? nil : error, peripheral: environment.hasNetAdmin ? nil : error)
    }

    package var scanning: any HostScanning { controller.scanning }
    package var health: any HostHealth { controller.health }
    package var capacity: any HostCapacity { room }

    package func follow(
        onUnreachable: @escaping () -> Void, onEnd: @escaping (_ reason: BluetoothError, _ isForGood: Bool) -> Void
    ) {
        controller.setUnreachableHandler(onUnreachable)
        controller.onEnd = onEnd
    }

    package func receiveWaiting() { controller.receiveWaiting() }

    package func suspend(_ reason: BluetoothError) { controller.suspend(reason) }

    package func resume(with adapter: AdapterInformation) -> Bool {
        guard controller.resume(with: adapter) else { return false }
        defaults.resume(on: adapter.index)
        return true
    }

    package nonisolated(nonsending) func defaults(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdapterDefaults {
        try await defaults.read(on: adapterRecord.information.index, operation)
    }

    package nonisolated(nonsending) func setDefaults(
        _ defaults: AdapterDefaults, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        try await self.defaults.set(defaults, on: adapterRecord.information.index, operation)
    }

    package func close(_ reason: BluetoothError) { controller.close(reason) }
}
