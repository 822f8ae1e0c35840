import BluetoothPrimitives
import BluetoothHCI

@testable import BluetoothSimulation

// The state inside the simulated controller.
extension SimulatedKernel {
    /// Whether the adapter's controller is scanning.
    func isScanning(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scanner.isEnabled ?? false }
    }

    /// Whether the controller is scanning actively.
    func isScanningActively(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scanner.timing?.type == .active }
    }

    /// Makes an adapter's controller send an unsolicited HCI event packet.
    func emit(_ packet: [UInt8], adapter index: UInt16 = 0) {
        withHost { $0.adapter(index)?.controller.emit(packet) }
    }
}

extension SimulatedKernel {
    /// The scan parameters on LE Coded; nil when it is not scanned on.
    func codedScan(adapter index: UInt16 = 0) -> LEScanTiming? {
        withHost { $0.adapter(index)?.controller.scanner.coded }
    }

    /// Whether the scanner reports all devices, without filtering duplicates.
    func scansForEverybody(adapter index: UInt16 = 0) -> Bool {
        withHost {
            guard let scanner = $0.adapter(index)?.controller.scanner else { return false }
            return scanner.isEnabled && scanner.filterPolicy == .all && scanner.duplicates == .disabled
        }
    }
}

extension SimulatedKernel {
    /// The number of open management sockets.
    var managementSocketCount: Int { withHost { $0.management.sockets.count } }
}

extension SimulatedKernel {
    /// The PHYs of LE with which the kernel scans and connects.
    func selectedPHYs(adapter index: UInt16 = 0) -> LEPHYSet? {
        withHost { $0.adapter(index)?.settings.phys.selected.lePHYs }
    }
}
