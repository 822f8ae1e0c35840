import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Synchronization
import Testing

/// A device that takes firmware, and a central, in virtual time.
struct FirmwareFixture: Sendable {
    let radio: SimulatedRadio
    let central: Adapter
    let device: BluetoothAddress
    let store: HookedStore

    /// Runs `body` beside a device that serves updates.
    static func run(
        bufferSize: Int = 512, mtu: Int = 247, permissions: AttributePermissions? = nil,
        _ body: @escaping @Sendable (FirmwareFixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let kernels = (radio.makeKernel(), radio.makeKernel())
        try await radio.run(limit: .seconds(3600)) {
            let peripheral = try await Adapter.open(
                configuration: AdapterConfiguration(bonds: .store(MemoryBondStore())), on: kernels.0)
            let central = try await Adapter.open(
                configuration: AdapterConfiguration(bonds: .store(MemoryBondStore())), on: kernels.1)
            for adapter in [peripheral, central] { try await adapter.setPairingAgent(JustWorksPairingAgent()) }
            let store = HookedStore()
            let update = FirmwareUpdateService(storingIn: store, bufferSize: bufferSize, permissions: permissions)
            let content = AdvertisementContent(localName: "Updatable", services: [.firmwareUpdate])
            let server = Task(executorPreference: radio.loop) {
                try await peripheral.serve(
                    content, accepting: IncomingConnectionOptions(maximumTransmissionUnit: mtu)
                ) {
                    update.service
                } while: { published, incoming in
                    store.onReset {
                        for connection in incoming.connections { await connection.disconnect(timeout: .zero) }
                    }
                    try await update.run(published, incoming)
                }
            }
            let found = try await central.firstAdvertisement { $0.localName == "Updatable" }
            let fixture = FirmwareFixture(
                radio: radio, central: central, device: try #require(found.address), store: store)
            try await body(fixture)
            server.cancel()
            _ = await server.result
            await central.close()
            await peripheral.close()
        }
    }

    /// A client on a new link.
    func makeUpdater(timeout: Duration? = .seconds(40)) async throws -> (FirmwareUpdater, Connection) {
        let connection = try await central.connect(to: device)
        return (try await FirmwareUpdater(connection, timeout: timeout), connection)
    }

    /// Breaks the link at once, as when the device goes out of range.
    func breakLink() { radio.breakLink(central.information.address, device) }
}

/// A store in memory whose methods a test may intercept.
final class HookedStore: FirmwareStore {
    private struct Hooks {
        var append: (@Sendable (Int) async throws -> Void)?
        var reset: (@Sendable () async -> Void)?
        var appendCount = 0
        var beginCount = 0
    }

    let memory = MemoryFirmwareStore()
    private let hooks = Mutex(Hooks())

    /// The number of uploads that have begun.
    var beginCount: Int { hooks.withLock { $0.beginCount } }

    /// The number of parts that were stored.
    var appendCount: Int { hooks.withLock { $0.appendCount } }

    /// Calls `body` before a part is stored, with its number from 1.
    func onAppend(_ body: (@Sendable (Int) async throws -> Void)?) { hooks.withLock { $0.append = body } }

    func onReset(_ body: @escaping @Sendable () async -> Void) { hooks.withLock { $0.reset = body } }

    func images() async throws -> [FirmwareSlot] { memory.images() }

    func begin(_ upload: FirmwareUpload) async throws {
        hooks.withLock { $0.beginCount += 1 }
        try memory.begin(upload)
    }

    func append(_ bytes: [UInt8]) async throws {
        let (count, hook) = hooks.withLock { hooks in
            hooks.appendCount += 1
            return (hooks.appendCount, hooks.append)
        }
        try await hook?(count)
        memory.append(bytes)
    }

    func finish() async throws { try memory.finish() }

    func select(_ hash: [UInt8]?, isConfirmed: Bool) async throws { try memory.select(hash, isConfirmed: isConfirmed) }

    func reset() async {
        await memory.reset()
        await hooks.withLock { $0.reset }?()
    }
}
