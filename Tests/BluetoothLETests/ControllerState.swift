import BluetoothPrimitives
import BluetoothHCI

@testable import BluetoothSimulation

// What only the controller itself knows. In a file of its own, since the simulation has an `Adapter` too.
extension SimulatedKernel {
    /// Whether the scanner of the adapter's controller is on.
    func isScanning(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scanner.isEnabled ?? false }
    }

    /// Whether the scanner asks devices for their scan responses, if it is on.
    func isScanningActively(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scanner.timing?.type == .active }
    }

    /// Has the controller of an adapter send an HCI event packet that nothing caused.
    func emit(_ packet: [UInt8], adapter index: UInt16 = 0) {
        withHost { $0.adapter(index)?.controller.emit(packet) }
    }
}

extension SimulatedKernel {
    /// How the scanner listens on LE Coded; nil when it does not.
    func codedScan(adapter index: UInt16 = 0) -> LEScanTiming? {
        withHost { $0.adapter(index)?.controller.scanner.coded }
    }

    /// Whether the scanner lets everybody through, and whenever they are heard.
    func scansForEverybody(adapter index: UInt16 = 0) -> Bool {
        withHost {
            guard let scanner = $0.adapter(index)?.controller.scanner else { return false }
            return scanner.isEnabled && scanner.filterPolicy == .all && scanner.duplicates == .disabled
        }
    }
}

extension SimulatedKernel {
    /// How many management sockets are open.
    var managementSocketCount: Int { withHost { $0.management.sockets.count } }
}
