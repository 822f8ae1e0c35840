import BluetoothHost
import BluetoothSockets
import BluetoothSystem

extension Optional where Wrapped == any AdapterSource {
    /// The source of adapters that the environment selects. With `BLUETOOTH_SIMULATION=FILE`, a machine on a simulated radio in
    /// real time, with the devices that the file describes; nil, this machine's kernel, if the variable is not set.
    ///
    /// ```swift
    /// let adapter = try await Adapter.open(power: .powerOn, on: .environment)
    /// ```
    ///
    /// The file is read once, and the radio is the same for the whole process. Docs/Guide/Simulation.md describes the
    /// format. A program that runs with privileges that its user does not have, such as file capabilities, ignores the
    /// variable (`AT_SECURE`).
    /// - Throws: `.invalidArgument` for a file that cannot be read or describes no radio, with the position of the
    ///   error.
    public static var environment: (any AdapterSource)? {
        get throws(BluetoothError) { try EnvironmentRadio.kernel.get() }
    }
}

/// The radio that the environment selects for this process.
package enum EnvironmentRadio {
    /// The name of the variable.
    package static let variable = "BLUETOOTH_SIMULATION"

    /// The kernel on the radio; nil if the environment selects none.
    package static let kernel: Result<SimulatedKernel?, BluetoothError> = Result {
        () throws(BluetoothError) in try makeKernel(SystemFiles.trustedEnvironment(variable))
    }

    /// The kernel on the radio that a file describes; nil without a file.
    package static func makeKernel(_ path: String?) throws(BluetoothError) -> SimulatedKernel? {
        guard let path else { return nil }
        do throws(SimulationFile.Problem) {
            let kernel = try SimulationFile(contentsOf: path).makeKernel()
            EnvironmentKernel.select(kernel)
            return kernel
        } catch {
            throw BluetoothError(
                .invalidArgument, .init("open the simulated radio"), "\(variable)=\(path) cannot be used: \(error).",
                remedy: "Docs/Guide/Files.md of swift-bluetooth-le has the format.")
        }
    }
}
