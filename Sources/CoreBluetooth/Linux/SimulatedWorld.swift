import BluetoothLE
import Foundation
import SimulatedKernel

/// A simulated radio that a file describes.
struct SimulatedWorld: Decodable {
    init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(SimulatedWorld.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func makeKernel() throws -> any BluetoothKernel {
        SimulatedRadio(time: .real).makeKernel()
    }
}
