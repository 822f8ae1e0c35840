import BluetoothLoop
import BluetoothSimulation
import Synchronization
import Testing

import BluetoothLE

/// An agent whose user behaves as the test says, and that records its questions.
final class TestAgent: PairingAgent {
    /// The user's behaviour.
    enum User: Sendable {
        case agrees
        case refuses
        case throwsError
        /// Never answers, and ignores cancellation.
        case sleeps
        case types(UInt32)
    }

    struct Failure: Error {}

    let ioCapability: IOCapability
    private let user: User
    private let state = Mutex<(asked: [String], shown: Passkey?, cancelled: Int)>(([], nil, 0))
    private let bonds = Mutex<[BluetoothAddress?]>([])
    private let loop: EventLoop

    init(_ ioCapability: IOCapability = .noInputNoOutput, _ user: User = .agrees, on loop: EventLoop) {
        self.ioCapability = ioCapability
        self.user = user
        self.loop = loop
    }

    /// The questions so far.
    var asked: [String] { state.withLock { $0.asked } }
    /// The last number to show.
    var shown: Passkey? { state.withLock { $0.shown } }
    /// For each question to confirm, the device whose bond the pairing would replace.
    var replaced: [BluetoothAddress?] { bonds.withLock { $0 } }
    /// The number of cancelled questions.
    var cancelled: Int { state.withLock { $0.cancelled } }

    private func answer(_ question: String, _ shown: Passkey? = nil) async throws -> Bool {
        state.withLock { state in
            state.asked.append(question)
            state.shown = shown ?? state.shown
        }
        switch user {
        case .agrees, .types: return true
        case .refuses: return false
        case .throwsError: throw Failure()
        case .sleeps:
            // Until cancellation, in a way that virtual time does not wait for.
            let wait = Promise<Void, BluetoothError>()
            try? await wait.value(.init("wait"), timeout: nil, on: loop)
            state.withLock { $0.cancelled += 1 }
            return true
        }
    }

    func confirmPairing(_ request: PairingRequest) async throws -> Bool {
        bonds.withLock { $0.append(request.bond?.identity) }
        return try await answer(request.isInitiatedHere ? "confirm own" : "confirm")
    }

    func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        try await answer("compare", number)
    }

    func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        guard try await answer("enter") else { return nil }
        if case .types(let number) = user { return Passkey(number) }
        return Passkey(123_456)
    }

    func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        state.withLock { state in
            state.asked.append("show")
            state.shown = passkey
        }
        // Shown until the pairing ends.
        let wait = Promise<Void, BluetoothError>()
        try? await wait.value(.init("wait"), timeout: nil, on: loop)
        state.withLock { $0.cancelled += 1 }
    }
}

/// A machine as central, and a simulated peripheral that requires security.
struct SecurityFixture: Sendable {
    let base: Fixture
    let adapter: Adapter
    let server: SimulatedGATTServer
    let peripheral: SimulatedPeripheral

    static let service: BluetoothUUID = 0xFFF0
    static let encrypted: BluetoothUUID = 0xFFF1
    static let authenticated: BluetoothUUID = 0xFFF2

    static func run(
        _ security: SimulatedSecurity = SimulatedSecurity(),
        on controller: SimulatedController = SimulatedController(),
        _ body: @escaping @Sendable (SecurityFixture) async throws -> Void
    ) async throws {
        try await Fixture.run([controller]) { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    service,
                    characteristics: [
                        GATTCharacteristic(
                            encrypted, properties: [.read, .write, .notify],
                            permissions: [.read, .readEncrypted, .write, .writeEncrypted],
                            value: .stored([UInt8](repeating: 7, count: 60)),
                            descriptors: [
                                GATTDescriptor(
                                    .clientCharacteristicConfiguration, permissions: [.read, .write, .writeEncrypted])
                            ]),
                        GATTCharacteristic(
                            authenticated, properties: [.read], permissions: [.read, .readAuthenticated],
                            value: .stored([8])),
                        GATTCharacteristic(
                            0xFFF3, properties: [.read], permissions: [.read, .readAuthorized], value: .stored([9])),
                        GATTCharacteristic(0xFFF4, properties: [.read, .write], value: .stored([10])),
                        GATTCharacteristic(
                            0xFFF5, properties: [.read], permissions: [.read, .readBonded], value: .stored([11])),
                    ])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            peripheral.setSecurity(security)
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await body(
                SecurityFixture(base: fixture, adapter: adapter, server: server, peripheral: peripheral))
            await adapter.close()
        }
    }

    func connect(_ policy: SecurityPolicy = .automatic) async throws -> Connection {
        var options = ConnectionOptions(timeout: .seconds(10), maximumTransmissionUnit: 23)
        options.security.policy = policy
        return try await adapter.connect(to: peripheral.address, options: options)
    }

    /// Ends a link, and waits until the kernel has ended it: an earlier connection would use the same link.
    func end(_ connection: Connection) async throws {
        await connection.disconnect()
        try await base.settle { base.kernel.links(adapter: 0).isEmpty }
    }

    func agent(_ ioCapability: IOCapability = .noInputNoOutput, _ user: TestAgent.User = .agrees) -> TestAgent {
        TestAgent(ioCapability, user, on: base.radio.loop)
    }

    /// The handle of a characteristic's value.
    func handle(_ uuid: BluetoothUUID) throws -> AttributeHandle {
        try #require(server.handle(of: uuid, in: Self.service))
    }

    /// Waits until a pairing that the device has begun is over, and expects a link as it was before.
    func remainsUsable(_ connection: Connection) async throws {
        try await base.radio.sleep(for: .seconds(40))
        #expect(try await connection.security().level == .low)
        let value = try await connection.read(try handle(0xFFF4))
        #expect(value == [10])
    }

    /// Connects, pairs and uses a further link: no state of the failure is left.
    func pairingWorksNow() async throws {
        peripheral.setSecurity(SimulatedSecurity())
        try await adapter.setPairingAgent(nil)
        let connection = try await connect()
        let outcome = try await connection.pair()
        #expect(outcome.security.level == .medium)
        #expect(outcome.isBonded)
        let value = try await connection.read(try handle(Self.encrypted))
        #expect(value.count == 60)
        try await end(connection)
    }
}
