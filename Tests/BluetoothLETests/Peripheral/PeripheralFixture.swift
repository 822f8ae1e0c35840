import BluetoothManagement
import BluetoothSimulation
import Testing

import BluetoothLE

/// A machine that advertises and serves, and others in reach of it.
///
/// ```
/// 0010 service FFF0   0011 0012 FFF1 stored, read, write, notify, indicate, 0013 CCCD
///                     0014 0015 FFF2 dynamic, read, write
/// ```
struct PeripheralFixture: Sendable {
    let base: Fixture
    /// The machine that advertises; it is the fixture's own.
    let peripheral: Adapter
    let others: [SimulatedKernel]
    let centrals: [Adapter]

    var kernel: SimulatedKernel { base.kernel }
    var central: Adapter { centrals[0] }
    var address: BluetoothAddress { peripheral.information.address }

    static let content = AdvertisementContent(localName: "served", services: [0xFFF0])
    static let service = GATTService(
        0xFFF0,
        characteristics: [
            GATTCharacteristic(0xFFF1, properties: [.read, .write, .notify, .indicate], value: .stored([7])),
            GATTCharacteristic(0xFFF2, properties: [.read, .write]),
        ])
    static let value: AttributeHandle = 0x12

    static func run(
        _ controller: SimulatedController = SimulatedController(), centrals count: Int = 1,
        _ body: @escaping @Sendable (PeripheralFixture) async throws -> Void
    ) async throws {
        try await Fixture.run([controller]) { fixture in
            let peripheral = try await Adapter.open(on: fixture.kernel)
            var others: [SimulatedKernel] = []
            var centrals: [Adapter] = []
            for _ in 0..<count {
                let kernel = fixture.radio.makeKernel()
                others.append(kernel)
                centrals.append(try await Adapter.open(on: kernel))
            }
            try await body(
                PeripheralFixture(base: fixture, peripheral: peripheral, others: others, centrals: centrals))
            await peripheral.close()
            for central in centrals { await central.close() }
        }
    }

    /// The kernel's advertising instances; nil when it does not tell.
    func instances(of adapter: Adapter? = nil) async -> [UInt8]? {
        let adapter = adapter ?? peripheral
        return try? await adapter.sendToManagement(
            ManagementReadAdvertisingFeatures(), to: adapter.information.index
        ).instances
    }

    /// Whether a central hears the machine within two seconds.
    func isHeard(
        _ options: ScanOptions = ScanOptions(), where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async -> Advertisement? {
        let address = address
        return try? await central.firstAdvertisement(timeout: .seconds(2), options: options) {
            $0.address == address && condition($0)
        }
    }

    /// Connects to the machine.
    func connect(_ number: Int = 0, timeout: Duration = .seconds(10)) async throws -> Connection {
        try await connect(number, ConnectionOptions(timeout: timeout))
    }

    func connect(_ number: Int = 0, _ options: ConnectionOptions) async throws -> Connection {
        try await centrals[number].connect(to: address, options: options)
    }
}

extension Connection {
    /// A characteristic of the peer's that has to be there.
    func found(_ uuid: BluetoothUUID, in service: BluetoothUUID) async throws -> RemoteCharacteristic {
        try #require(try await discover().characteristic(uuid, in: service))
    }
}
