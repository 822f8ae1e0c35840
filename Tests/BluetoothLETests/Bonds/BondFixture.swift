import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Two machines with a store each that pair with each other; each can be restarted.
final class BondFixture: Sendable {
    /// A machine: its kernel, agent and stores.
    struct Machine: Sendable {
        let kernel: SimulatedKernel
        let user: PairingUser
        let store: any BondStore
        let address: BluetoothAddress

        func open(_ bonds: BondStorage? = nil, log: LogRecorder = LogRecorder()) async throws -> Adapter {
            let adapter = try await Adapter.open(
                .address(address), power: .powerOn, configuration: .init(bonds: bonds ?? .store(store), log: log.log),
                on: kernel)
            for command: any ManagementCommand in [
                ManagementSetBondable(true), ManagementSetSecureSimplePairing(true),
                ManagementSetSecureConnections(.on),
            ] as [any ManagementCommand] {
                try await adapter.sendToManagement(command, to: adapter.information.index)
            }
            // Succeeds if pairing is this program's responsibility.
            try? await adapter.setPairingAgent(JustWorksPairingAgent())
            return adapter
        }

        /// Removes the machine's adapter and adds it again, with a kernel that has none of its keys.
        func restart() throws {
            let index = try #require(try kernel.adapters().first { $0.address == address }).index
            kernel.unplug(index)
            kernel.plug(SimulatedController(address: address))
        }
    }

    let base: Fixture
    let central: Machine
    let peripheral: Machine

    private init(_ fixture: Fixture, _ central: Machine, _ peripheral: Machine) {
        (self.base, self.central, self.peripheral) = (fixture, central, peripheral)
    }

    static let centralAddress = BluetoothAddress(0x00AA_0100_00C1, kind: .public)
    static let peripheralAddress = BluetoothAddress(0x00AA_0100_00B2, kind: .public)

    static func run(
        centralStore: any BondStore = MemoryBondStore(), peripheralStore: any BondStore = MemoryBondStore(),
        limit: Duration = .seconds(600),
        _ body: @escaping @Sendable (BondFixture) async throws -> Void
    ) async throws {
        try await Fixture.run([SimulatedController(address: centralAddress)], limit: limit) { fixture in
            let other = fixture.radio.makeKernel(adapters: [SimulatedController(address: peripheralAddress)])
            let central = Machine(
                kernel: fixture.kernel, user: try await PairingUser(fixture.kernel), store: centralStore,
                address: centralAddress)
            let peripheral = Machine(
                kernel: other, user: try await PairingUser(other), store: peripheralStore, address: peripheralAddress)
            try await body(BondFixture(fixture, central, peripheral))
        }
    }

    /// Connects with an encrypted link, by pairing or with existing keys.
    func connect(
        _ adapter: Adapter, to peer: BluetoothAddress = peripheralAddress, level: SecurityLevel = .medium
    ) async throws -> Connection {
        var options = ConnectionOptions()
        options.security.level = level
        let connection = try await adapter.connect(to: peer, options: options)
        try await base.settle {
            let security = try? await connection.security()
            return security.map { $0.level >= level } ?? false
        }
        return connection
    }

    /// The number of questions to either user.
    var questions: Int { central.user.count + peripheral.user.count }
}

extension ConnectionOptions {
    /// Options of a link that the key of the peer's bond does not encrypt.
    static let unencrypted = ConnectionOptions(security: SecurityOptions(leavesBondedLinksUnencrypted: true))
}

extension Adapter {
    /// Advertises and accepts links until the returned task is cancelled.
    func serve(_ fixture: Fixture) async throws -> (advertising: AdvertisingSet, links: IncomingConnections) {
        let links = try await incomingConnections()
        return (try await advertise(AdvertisementContent(localName: "served")), links)
    }
}
