import BluetoothPrimitives

@testable import SimulatedKernel

// What only the controller itself knows. In a file of its own, since the simulation has an `Adapter` too.
extension SimulatedKernel {
    /// Whether the scanner of the adapter's controller is on.
    func isScanning(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scan.isEnabled ?? false }
    }

    /// Whether the scanner asks devices for their scan responses, if it is on.
    func isScanningActively(adapter index: UInt16 = 0) -> Bool {
        withHost { $0.adapter(index)?.controller.scan.timing.type == .active }
    }

    /// Has the controller of an adapter send an HCI event packet that nothing caused.
    func emit(_ packet: [UInt8], adapter index: UInt16 = 0) {
        withHost { $0.adapter(index)?.controller.emit(packet) }
    }
}
