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
    private let kernelChannels: KernelChannels
    private let kernelAdvertising: KernelAdvertising
    private let defaults: KernelDefaults

    init(
        _ adapterRecord: AdapterRecord, of kernel: any BluetoothKernel, in directory: any HostDirectory,
        management: ManagementClient, _ pairing: KernelPairing, log: Logger, trace: PacketSynthesis?
    ) {
        mark = kernel.loop.components.mark("AdapterHost")
        (self.adapterRecord, self.kernel) = (adapterRecord, kernel)
        self.management = management
        trace?.opened(adapterRecord.information)
        controller = KernelController(
            adapterRecord.information, in: directory, management: management, on: kernel, log: log, trace: trace)
        let ends = LinkEndAttribution(of: adapterRecord, directory, controller, on: kernel.loop)
        let ending = LingeringLinks(controller, ends, of: adapterRecord.information.address, on: kernel.loop)
        kernelChannels = KernelChannels(of: adapterRecord, on: kernel, ending, trace: trace)
        kernelAdvertising = KernelAdvertising(of: adapterRecord, on: kernel, by: management, log: log)
        pairing.begin(adapterRecord, ending)
        defaults = KernelDefaults(by: management, controller.phyPolicy, log: log)
    }

    package var obstacles: HostObstacles {
        let environment = kernel.environment()
        let operation = BluetoothError.Operation("use the adapter", adapter: adapterRecord.information.name)
        let error = BluetoothError.notPermitted(operation, executable: environment.executablePath)
        return HostObstacles(
            central: environment.hasNetRaw ? nil : error, peripheral: environment.hasNetAdmin ? nil : error)
    }

    package var channels: any HostChannels { kernelChannels }
    package var scanning: any HostScanning { controller.scanning }
    package var advertising: any HostAdvertising { kernelAdvertising }
    package var health: any HostHealth { controller.health }

    package func start(_ receiver: any HostReceiver) {
        controller.start(receiver)
        kernelAdvertising.receiver = receiver
    }

    package func adapterChanged(_ step: AdapterStep) {
        switch step {
        case .leaving: controller.receiveWaiting()
        case .left(let reason):
            controller.suspend(reason)
            kernelChannels.adapterBecameUnavailable(reason)
        case .unavailable(let reason, let comesBack):
            kernelAdvertising.adapterBecameUnavailable(reason, comesBack: comesBack)
        case .available:
            let adapter = adapterRecord.information
            if controller.resume(with: adapter) { defaults.resume(on: adapter.index) }
            kernelAdvertising.adapterBecameAvailable()
        case .forgetful: kernelAdvertising.sendAgain()
        case .closing(let reason):
            kernelChannels.close()
            kernelAdvertising.end(reason)
        }
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
