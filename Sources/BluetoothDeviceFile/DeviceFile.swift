import BluetoothJSON
import BluetoothPrimitives
import BluetoothSystem

/// A file that describes devices: a world with a list of them, or a single one.
package struct DeviceFile: Hashable, Sendable {
    /// The error of a file that describes no devices, with its position.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// The place in the file, such as `devices[0].services[1].uuid` or `line 3`; empty for the whole.
        package var place: String
        /// The description of the error.
        package var reason: String
        /// Whether there is no such file, or it is a folder.
        package var isMissing: Bool

        package init(place: String, reason: String, isMissing: Bool = false) {
            self.place = place
            self.reason = reason
            self.isMissing = isMissing
        }

        /// The place and the reason.
        package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
    }

    /// The seed of all random numbers of a simulated radio.
    package var seed: UInt64
    /// The machine's adapters; nil for one that is off.
    package var adapters: [DescribedAdapter]?
    /// The devices.
    package var devices: [DeviceDescription]

    /// The maximum size of a file in bytes.
    private static let mostBytes = 16 << 20

    /// Reads a file of at most 16 MiB. Blocks while it is read.
    package init(contentsOf path: String) throws(Problem) {
        let bytes: [UInt8]?
        do throws(KernelError) {
            bytes = try SystemFiles.read(path, limit: Self.mostBytes)
        } catch {
            let isFolder = "\(error.number)" == "EISDIR"
            throw Problem(place: "", reason: Self.reason(of: error), isMissing: isFolder)
        }
        guard let bytes else { throw Problem(place: "", reason: "there is no such file", isMissing: true) }
        try self.init(reading: bytes)
    }

    private static func reason(of error: KernelError) -> String {
        switch "\(error.number)" {
        case "EFBIG": "it is larger than \(mostBytes >> 20) MiB"
        case "EISDIR": "it is a folder"
        case "EAGAIN": "it is a pipe without data yet; give a regular file"
        default: "it cannot be read (\(error))"
        }
    }

    /// Reads the text of a file.
    package init(reading bytes: [UInt8]) throws(Problem) {
        let json: JSONValue
        do throws(JSONProblem) {
            json = try JSONValue(reading: bytes)
        } catch {
            throw Problem(place: "line \(error.line)", reason: error.reason)
        }
        guard case .object(let fields) = json else { throw Problem(place: "", reason: "it is not an object") }
        let isWorld =
            fields.allSatisfy { ["seed", "adapters"].contains($0.0) } || fields.contains { $0.0 == "devices" }
        guard isWorld else {
            seed = 1
            devices = [try DeviceDescription(reading: json, at: "")]
            return
        }
        let world = try DescribedObject(json, at: "", keys: ["seed", "adapters", "devices"])
        seed = UInt64(try world.integer("seed", in: 0...Int.max) ?? 1)
        adapters = try world.elements("adapters", limit: 16, DescribedAdapter.init(reading:at:))
        let described = try world.required(
            "devices", world.elements("devices", limit: 256, DeviceDescription.init(reading:at:)))
        for (index, device) in described.enumerated() {
            guard let address = device.address, described.prefix(index).contains(where: { $0.address == address })
            else {
                continue
            }
            throw Problem(place: "devices[\(index)].address", reason: "\(address.digits) is another device's already")
        }
        devices = described
    }
}
