import BluetoothDeviceFile
import BluetoothPrimitives

/// A simulated radio that a file describes: a machine with its adapters, and the devices of the file.
///
/// Docs/Guide/Files.md describes the format.
package struct SimulationFile: Sendable {
    /// The error of a file that describes no radio, with its position.
    package typealias Problem = DeviceFile.Problem

    private let file: DeviceFile

    /// Reads a file. Blocks while it is read.
    package init(contentsOf path: String) throws(Problem) {
        file = try DeviceFile(contentsOf: path)
    }

    /// Reads the text of a file.
    package init(reading bytes: [UInt8]) throws(Problem) {
        file = try DeviceFile(reading: bytes)
    }

    /// The devices that the file describes.
    package var devices: [DeviceDescription] { file.devices }

    /// A radio with the devices on the air, and the kernel of the machine, with one adapter that is off unless the file
    /// describes others.
    package func makeKernel(time: SimulatedTime = .real) -> SimulatedKernel {
        let radio = SimulatedRadio(time: time, seed: file.seed)
        put(on: radio)
        guard let adapters = file.adapters else { return radio.makeKernel(adapters: [.fresh]) }
        let kernel = radio.makeKernel(adapters: adapters.map(\.controller))
        for (index, adapter) in adapters.enumerated() {
            kernel.schedule(adapter.events, adapter: UInt16(index))
        }
        return kernel
    }

    /// Puts the devices on a radio.
    package func put(on radio: SimulatedRadio) {
        for device in file.devices { device.put(on: radio) }
    }
}

extension DescribedAdapter {
    fileprivate var controller: SimulatedController {
        SimulatedController(
            family: isLegacy ? .legacy : .extended, isPowered: isPowered, isLEEnabled: isPowered,
            advertisingSetCount: isLegacy ? 1 : 3)
    }
}

extension DescribedAdapter.Cure {
    fileprivate var cure: ControllerFault.Cure {
        switch self {
        case .restartScan: .scanRestart
        case .powerCycle: .powerOff
        case .reset: .reset
        case .restart: .takingDown
        case .rebind: .unbinding
        }
    }
}

extension SimulatedKernel {
    /// Schedules what happens to an adapter, which is followed through other indexes by its address.
    fileprivate func schedule(_ events: [DescribedAdapter.Event], adapter index: UInt16) {
        withHost { host in
            guard let controller = host.adapter(index)?.controller else { return }
            let address = controller.publicAddress
            var plugged = controller.configuration
            (plugged.isPowered, plugged.isLEEnabled) = (false, !plugged.isDualMode)
            let fresh = plugged
            for event in events {
                host.world.schedule(after: event.time) { [weak host] in host?.perform(event, on: address, fresh) }
            }
        }
    }
}

extension HostKernel {
    /// - Parameter fresh: the controller to plug in.
    fileprivate func perform(
        _ event: DescribedAdapter.Event, on address: BluetoothAddress, _ fresh: SimulatedController
    ) {
        let adapter = newestFirst.first { $0.controller.publicAddress == address }
        if event.incident == .plugged, adapter == nil { plug(fresh, address: address, isSettled: false) }
        guard let adapter else { return }
        switch event.incident {
        case .hangs: adapter.controller.fault = ControllerFault(.hangs, until: event.cure?.cure ?? .unbinding)
        case .hearsNothing:
            adapter.controller.fault = ControllerFault(.hearsNothing, until: event.cure?.cure ?? .unbinding)
        case .hardwareError: adapter.reportHardwareError(0x42)
        case .unplugged: unplug(adapter)
        case .plugged: break
        case .poweredOff: adapter.setPowered(false)
        case .poweredOn: if !adapter.isBlocked { adapter.setPowered(true) }
        }
    }
}
