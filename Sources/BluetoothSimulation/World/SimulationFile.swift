import BluetoothDeviceFile

/// A simulated radio that a file describes: a machine with an adapter, and the devices of the file.
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

    /// A radio in real time with the devices on the air, and the kernel of the machine, whose adapter is off.
    package func makeKernel() -> SimulatedKernel {
        let radio = SimulatedRadio(time: .real, seed: file.seed)
        put(on: radio)
        return radio.makeKernel(adapters: [.fresh])
    }

    /// Puts the devices on a radio.
    package func put(on radio: SimulatedRadio) {
        for device in file.devices { device.put(on: radio) }
    }
}
