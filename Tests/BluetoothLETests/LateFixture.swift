import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// A device that responds late, on a radio in virtual time.
struct LateFixture: Sendable {
    /// The PDUs without a response at which a link can end.
    static let requests: [ATTOpcode] = [
        .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
        .readBlobRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
        .executeWriteRequest, .readMultipleVariableRequest, .handleValueIndication,
    ]

    let base: Fixture
    let adapter: Adapter
    let kernel: FaultingKernel
    let peer: LatePeer
    let peripheral: SimulatedPeripheral
    let services: PublishedServices
    let served: AttributeHandle

    /// The PSM of the device's service.
    static let channel: UInt16 = 0x80

    var address: BluetoothAddress { peripheral.address }

    static func run(_ body: @escaping @Sendable (LateFixture) async throws -> Void) async throws {
        try await Fixture.run { fixture in
            let peer = try LatePeer()
            let peripheral = peer.peripheral(on: fixture.radio)
            peripheral.setService(channel, receiveMTU: 64)
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            let services = try await adapter.publish([PeripheralFixture.service])
            let served = try #require(services.handle(of: 0xFFF1))
            try await body(
                LateFixture(
                    base: fixture, adapter: adapter, kernel: kernel, peer: peer, peripheral: peripheral,
                    services: services, served: served))
        }
    }

    func connect() async throws -> Connection {
        // Long values take several requests. With 23 nothing would be exchanged.
        try await adapter.connect(to: address, options: ConnectionOptions(maximumTransmissionUnit: 24))
    }

    /// Performs an operation that sends `opcode`.
    func perform(_ opcode: ATTOpcode, on connection: Connection) async throws {
        switch opcode {
        case .exchangeMTURequest: try await connection.exchangeMTU(offering: 23)
        case .findInformationRequest:
            let range = AttributeHandleRange(start: LatePeer.configuration, end: LatePeer.configuration)
            _ = try await connection.core { (link) async throws in
                try await link.perform(DescriptorDiscovery(in: range), "discover", timeout: nil)
            }
        case .findByTypeValueRequest: _ = try await connection.discoverServices(0xFFF0)
        case .readByTypeRequest: _ = try await connection.readValues(of: 0xFFF1)
        case .readRequest: _ = try await connection.read(LatePeer.short)
        case .readBlobRequest: _ = try await connection.read(LatePeer.long)
        case .readByGroupTypeRequest: _ = try await connection.discoverServices()
        case .writeRequest: try await connection.write([2], to: LatePeer.short)
        case .prepareWriteRequest, .executeWriteRequest:
            try await connection.write([UInt8](0..<40), to: LatePeer.long)
        case .readMultipleVariableRequest: _ = try await connection.read([LatePeer.short, LatePeer.short])
        default:
            // The client subscribes to indications.
            peer.send([0x12, UInt8(served.rawValue + 1), 0, 2, 0])
            try await base.settle { await connection.peerConfiguration(of: served) == .indication }
            try await connection.indicate([1], of: served)
        }
    }

    /// Begins an operation that sends `opcode`, and returns when the peer has it; ``LatePeer/delay(_:by:)`` delays its
    /// response.
    func begin(_ opcode: ATTOpcode, on connection: Connection) async throws -> Task<Void, any Error> {
        let count = peer.count(of: opcode)
        let call = base.begin { try await perform(opcode, on: connection) }
        try await base.settle { peer.count(of: opcode) > count }
        return call
    }

    /// Ends a connection during an operation that sends `opcode`, to which the device responds `delay` late.
    func end(
        _ connection: Connection, awaiting opcode: ATTOpcode, late delay: Duration,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        peer.delay(opcode, by: delay)
        let call = try await begin(opcode, on: connection)
        await connection.disconnect(timeout: .zero)
        let end = await failure { try await call.value }
        #expect(end?.code == .disconnected, sourceLocation: sourceLocation)
        peer.delay(nil)
    }

    /// Ends a connection while the device waits for this program's answer to a read, which takes 10 s.
    func endUnanswered(_ connection: Connection) async throws {
        let asked = AsyncStream.makeStream(of: Void.self)
        let services = try await adapter.publish(
            [GATTService(0xFFF3, characteristics: [GATTCharacteristic(0xFFF4, properties: [.read])])],
            handlers: AttributeHandlers(read: { _ in
                asked.continuation.yield()
                try await base.radio.sleep(for: .seconds(10))
                return []
            }))
        let handle = try #require(services.handle(of: 0xFFF4))
        peer.send([0x0A, UInt8(handle.rawValue), 0])
        for await _ in asked.stream { break }
        await connection.disconnect(timeout: .zero)
    }

    /// A channel of another program to the device.
    func openForeignChannel() async throws -> any L2CAPSocket {
        let own = adapter.information.address
        let channel = try await base.kernel.onLoop {
            try base.kernel.connectL2CAP(
                to: address, channel: .dynamic(psm: Self.channel), from: own, options: L2CAPOptions()
            ) { _ in }
        }
        try await base.radio.sleep(for: .seconds(1))
        return channel
    }

    /// Checks that a link receives the responses to its own requests, which are `delay` late, and no others.
    func expectOwnAnswers(
        _ opcode: ATTOpcode, after delay: Duration, on connection: Connection,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let time = try await base.duration { try await perform(opcode, on: connection) }
        #expect(time >= delay, sourceLocation: sourceLocation)
        try await base.radio.sleep(for: .seconds(5))
        let isConnected = await connection.isConnected
        #expect(isConnected, sourceLocation: sourceLocation)
        #expect(try await connection.strayResponseCount() == 0, sourceLocation: sourceLocation)
    }
}

extension Connection {
    /// The number of responses to requests that were not sent on this link.
    func strayResponseCount() async throws -> Int {
        try await core { (link) throws in try link.bearer(for: .init("look")).core.strayResponseCount }
    }
}
