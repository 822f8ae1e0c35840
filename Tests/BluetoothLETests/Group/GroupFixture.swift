import BluetoothSimulation
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// A machine with two adapters in a group, of which the second receives everything 20 dB weaker.
struct GroupFixture: Sendable {
    let base: Fixture
    let adapters: [Adapter]
    let group: AdapterGroup

    var radio: SimulatedRadio { base.radio }
    var kernel: SimulatedKernel { base.kernel }

    static func run(
        links: [Int?] = [nil, nil], recovery: RecoveryOptions = RecoveryOptions(),
        _ body: @escaping @Sendable (GroupFixture) async throws -> Void
    ) async throws {
        let controllers = links.enumerated().map { number, limit in
            var controller = SimulatedController()
            controller.maximumLinks = limit
            controller.receiverGain = number == 0 ? 0 : -20
            return controller
        }
        try await Fixture.run(controllers, limit: .seconds(3600)) { fixture in
            var adapters: [Adapter] = []
            for index in controllers.indices {
                adapters.append(try await Adapter.open(.index(UInt16(index)), power: .powerOn, on: fixture.kernel))
            }
            let group = try await AdapterGroup(adapters)
            try await body(GroupFixture(base: fixture, adapters: adapters, group: group))
        }
    }

    /// Runs `body` with a device that accepts connections and has no services.
    static func withPeripheral(
        links: [Int?] = [nil, nil], recovery: RecoveryOptions = RecoveryOptions(),
        _ body: @escaping @Sendable (GroupFixture, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await run(links: links, recovery: recovery) { try await body($0, try $0.makePeripheral()) }
    }

    func makePeripheral() throws -> SimulatedPeripheral {
        SimulatedPeripheral(on: radio, gatt: try SimulatedGATTServer([]))
    }

    /// The indices of the adapters that have a link to a device.
    func adapters(linkedTo peer: BluetoothAddress) -> [UInt16] {
        (0..<UInt16(adapters.count)).filter { kernel.links(adapter: $0).contains(peer) }
    }

    /// The address of an adapter.
    func address(_ number: Int) -> BluetoothAddress { adapters[number].information.address }

    /// Scans until both adapters have received a device, so that the group knows its signals.
    func learn(_ peripheral: SimulatedPeripheral, at count: Int = 2) async throws {
        for try await found in try await group.scan(ScanOptions(duplicates: .all))
        where found.address == peripheral.address && found.signals.count == count { return }
    }
}
