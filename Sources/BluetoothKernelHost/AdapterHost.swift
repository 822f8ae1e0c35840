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
    private let advertiser: KernelAdvertising
    package let pairing: any HostPairing
    private let defaults: KernelDefaults

    init(
        _ adapterRecord: AdapterRecord, of kernel: any BluetoothKernel, in directory: any HostDirectory,
        management: ManagementClient, log: Logger, trace: PacketSynthesis?
    ) {
        mark = kernel.loop.components.mark("AdapterHost")
        (self.adapterRecord, self.kernel) = (adapterRecord, kernel)
        self.management = management
        trace?.opened(adapterRecord.information)
        controller = KernelController(
            adapterRecord.information, in: directory, management: management, on: kernel, log: log, trace: trace)
        let links = controller.links
        let ends = LinkEndAttribution(of: adapterRecord, directory, controller, on: kernel.loop)
        let ending = LingeringLinks(
            controller, ends, of: adapterRecord.information.address, on: kernel.loop)
        channels = KernelChannels(of: adapterRecord, on: kernel, controller, ending, trace: trace)
        advertiser = KernelAdvertising(of: adapterRecord, on: kernel, by: management, log: log)
        links.onLinkEnded = { [weak ending, weak controller] handle in
            ending?.linkEnded(handle)
            controller?.linkEnded()
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
    package var advertising: any HostAdvertising { advertiser }
    package var health: any HostHealth { controller.health }

    package func start(_ receiver: any HostReceiver) {
        controller.start(receiver)
        advertiser.receiver = receiver
    }

    package func receiveWaiting() { controller.receiveWaiting() }

    package func suspend(_ reason: BluetoothError) { controller.suspend(reason) }

    package func resume(with adapter: AdapterInformation) {
        if controller.resume(with: adapter) { defaults.resume(on: adapter.index) }
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
