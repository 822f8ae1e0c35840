import BluetoothDeviceFile
import BluetoothLE
import BluetoothSimulation

/// The devices of a file, which --world, `ble serve` and `BLUETOOTH_SIMULATION` read.
public struct DescribedDevices: Sendable {
    private let path: String
    package let file: DeviceFile

    /// Reads a file.
    /// - Parameter words: what else the user may have meant.
    public init(contentsOf path: String, orOneOf words: [String] = []) throws {
        self.path = path
        do throws(DeviceFile.Problem) {
            file = try DeviceFile(contentsOf: path)
        } catch {
            var failure = ProgramError(path, error)
            if error.isMissing { failure.message += Suggestion.question(for: path, among: words) }
            throw failure
        }
    }

    /// The only device, or the one with this name or address.
    package func choose(_ wanted: String?) throws -> DeviceDescription {
        let devices = file.devices
        let names = devices.map { printable($0.name ?? $0.address?.digits ?? "(unnamed)") }
        let list = "The devices of \(path): \(names.joined(separator: ", "))."
        guard let wanted else {
            if let only = devices.first, devices.count == 1 { return only }
            throw ProgramError(
                .badData, devices.isEmpty ? "\(path) describes no device." : "\(path) describes several devices.",
                remedy: devices.isEmpty ? nil : "Choose one with --device NAME. \(list)")
        }
        guard let device = devices.first(where: { $0.name == wanted || $0.address?.digits == wanted }) else {
            throw ProgramError(
                .badData,
                "\(path) describes no device named '\(printable(wanted))'."
                    + Suggestion.question(for: wanted, among: devices.compactMap(\.name)),
                remedy: devices.isEmpty ? nil : list)
        }
        return device
    }
}

extension ProgramError {
    init(_ path: String, _ problem: DeviceFile.Problem) {
        self.init(
            problem.isMissing ? .noInput : .badData, "\(path): \(problem).",
            remedy: problem.isMissing ? nil : "Docs/Guide/Files.md says what a file may contain.")
    }
}

extension CommonOptions {
    /// The radio with the devices of the --world file; nil without the option.
    func makeWorld() throws -> (any AdapterSource)? {
        guard let world else { return nil }
        do throws(DeviceFile.Problem) {
            return try SimulationFile(contentsOf: world).makeKernel()
        } catch {
            throw ProgramError(world, error)
        }
    }

    /// The name of the device to use if neither -n nor -a is given: that of --simulate, or the only one of --world.
    func defaultDevice() throws -> String? {
        if simulate { return Self.simulatedDevice }
        guard let world else { return nil }
        let devices = try DescribedDevices(contentsOf: world).file.devices
        return devices.count == 1 ? devices.first?.name : nil
    }
}
