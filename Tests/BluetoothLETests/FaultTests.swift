import BluetoothSimulation
import TestSupport
import Synchronization
import Testing

@testable import BluetoothLE

/// The faults injected at any packet.
enum Fault: String, CaseIterable, Sendable {
    case cutLink, disconnectByPeer, cancel, unplug, powerOff, block, disconnect

    /// The error codes with which operations may end.
    var codes: Set<BluetoothError.Code> {
        switch self {
        case .cancel: [.cancelled]
        case .unplug: [.noAdapter]
        case .powerOff: [.adapterOff]
        case .block: [.adapterBlocked]
        case .cutLink, .disconnectByPeer, .disconnect: [.disconnected, .connectionFailed]
        }
    }
}

extension Fault {
    /// Injects the fault on a connection between the fixture's adapter and a peripheral, while a task uses it.
    func happen(
        to connection: Connection?, of peripheral: SimulatedPeripheral, during task: Task<Void, any Error>?,
        _ fixture: Fixture
    ) {
        switch self {
        case .cutLink: peripheral.breakLinks()
        case .disconnectByPeer: peripheral.disconnect()
        case .cancel: task?.cancel()
        case .unplug: fixture.kernel.unplug(0)
        case .powerOff: fixture.kernel.setPowered(false, adapter: 0)
        case .block: fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
        case .disconnect:
            connection?.core.later { $0.disconnect() }
        }
    }
}

/// The operations under way at the fault.
enum Work: String, CaseIterable, Sendable {
    case connect, discover, read, write, commands, notifications, indications, channel, link
    case remembered, outOfSync
    case steps, readByUUID, readSeveral, reliableWrite, bothKinds

    /// Whether packets to and from the controller count as well.
    var isAboutTheController: Bool { self == .link }
}

/// Every fault at every packet of every kind of work: each operation ends with a typed error, nothing is left, and the
/// next connection works.
@Suite struct FaultTests {
    static let service: BluetoothUUID = 0xFFF0
    static let long: [UInt8] = (0..<200).map { UInt8($0) }

    private static func makeServer() throws -> SimulatedGATTServer {
        try SimulatedGATTServer(
            [
                GATTService(
                    service, includedServices: [.uuid(secondService)],
                    characteristics: [
                        GATTCharacteristic(0xFFF1, properties: [.read, .write], value: .stored(long)),
                        GATTCharacteristic(0xFFF2, properties: [.writeWithoutResponse], value: .dynamic),
                        GATTCharacteristic(0xFFF3, properties: [.notify, .indicate], value: .stored([0])),
                        GATTCharacteristic(0xFFF4, properties: [.read, .write], value: .stored([4])),
                        GATTCharacteristic(0xFFF4, properties: [.read, .write], value: .stored([UInt8](long[..<50]))),
                    ]),
                GATTService(
                    secondService, isPrimary: false,
                    characteristics: [GATTCharacteristic(0x2A00, properties: .read, value: .stored([1]))]),
                GATTService(
                    0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([9]))]),
            ] + CachingTests.genericAttribute(.everything))
    }

    /// The outcome of one run.
    private struct Outcome: Sendable {
        var packets: Int
        var error: BluetoothError?
    }

    @Test(arguments: Work.allCases) func undisturbedItSucceeds(_ work: Work) async throws {
        let outcome = try await Self.run(work, nil, at: nil)
        #expect(outcome.error == nil)
        #expect(outcome.packets >= 2)
    }

    @Test(arguments: Work.allCases, Fault.allCases)
    func everyFaultAtEveryPacketEndsTyped(_ work: Work, _ fault: Fault) async throws {
        let packets = try await Self.run(work, nil, at: nil).packets
        for index in 0..<packets {
            let outcome = try await Self.run(work, fault, at: index)
            guard let error = outcome.error else { continue }
            #expect(fault.codes.contains(error.code), "\(work) \(fault) at packet \(index): \(error)")
        }
    }

    private static func run(_ work: Work, _ fault: Fault?, at index: Int?) async throws -> Outcome {
        let outcome = Mutex(Outcome(packets: 0))
        try await Fixture.run { fixture in
            let server = try makeServer()
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server) { _ in EchoHandler() }
            peripheral.setService(0x0085, receiveMTU: 200)
            let kernel = FaultingKernel(fixture.kernel)
            let remains = Remains()
            let result = try await disturbed(work, fault, at: index, fixture, kernel, peripheral, server, remains)
            outcome.withLock { $0 = result }
            // Everything is released within the two seconds that the kernel keeps a link and those in which a task
            // ends.
            try await fixture.settle { remains.isEmpty && fixture.kernel.links(adapter: 0).isEmpty }
            #expect(remains.isEmpty, "\(work) \(String(describing: fault)) at \(String(describing: index)) leaks")
            try await again(fixture, peripheral)
        }
        return outcome.withLock { $0 }
    }

    /// Performs the work with its fault.
    private static func disturbed(
        _ work: Work, _ fault: Fault?, at index: Int?, _ fixture: Fixture, _ kernel: FaultingKernel,
        _ peripheral: SimulatedPeripheral, _ server: SimulatedGATTServer, _ remains: Remains
    ) async throws -> Outcome {
        let adapter = try await Adapter.open(on: kernel)
        remains.keep(adapter)
        let existing = Mutex<Connection?>(nil)
        if work != .connect {
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            remains.keep(connection)
            existing.withLock { $0 = connection }
        }
        let task = Mutex<Task<Void, any Error>?>(nil)
        kernel.arm(at: index, withController: work.isAboutTheController) {
            fault?.happen(to: existing.withLock { $0 }, of: peripheral, during: task.withLock { $0 }, fixture)
        }
        let connection = existing.withLock { $0 }
        let running = fixture.begin {
            guard let connection else {
                let made = try await adapter.connect(to: peripheral.address)
                remains.keep(made)
                await made.disconnect()
                return
            }
            try await perform(work, on: connection, server, fixture)
        }
        task.withLock { $0 = running }
        let error = await failure { try await running.value }
        let packets = kernel.count
        kernel.arm(at: nil) {}
        await connection?.disconnect()
        if let connection {
            let reason = await connection.disconnected()
            #expect(reason.code == .disconnected || fault?.codes.contains(reason.code) == true)
            #expect(await !connection.isConnected)
            #expect(await failure { _ = try await connection.read(AttributeHandle(3)) }?.code == reason.code)
        }
        return Outcome(packets: packets, error: error)
    }

    private static func perform(
        _ work: Work, on connection: Connection, _ server: SimulatedGATTServer, _ fixture: Fixture
    )
        async throws
    {
        func handle(_ uuid: BluetoothUUID) throws -> AttributeHandle {
            try #require(server.handle(of: uuid, in: service))
        }
        switch work {
        case .connect: break
        case .discover:
            #expect(try await connection.discover().count == 4)
        case .remembered, .outOfSync: try await performCaching(work, on: connection, server)
        case .read:
            let value = try await connection.read(try handle(0xFFF1))
            #expect(value == long)
        case .write:
            try await connection.write([UInt8](long.reversed()), to: try handle(0xFFF1))
        case .commands:
            for number in 0..<60 as Range<UInt8> {
                try await connection.writeCommand([number], to: try handle(0xFFF2))
            }
            // So that the link has carried the packets.
            _ = try await connection.read(try handle(0xFFF1))
        case .channel:
            let channel = try await connection.openChannel(psm: 0x0085)
            let writer = fixture.begin { try await channel.write(pattern(2000)) }
            defer { writer.cancel() }
            var received: [UInt8] = []
            while received.count < 2000 {
                guard let sdu = try await channel.read() else {
                    // The kernel does not distinguish a closed channel from an ended link.
                    throw await channel.closed()
                }
                received += sdu
            }
            #expect(received == pattern(2000))
            await channel.close()
        case .link:
            _ = try await connection.rssi()
            _ = try await connection.requestParameters(.lowPower)
            _ = try await connection.setPHYs(transmit: .le2M, receive: .le2M)
            try await connection.requestDataLength(251)
            // So that the link has carried a packet.
            _ = try await connection.read(try handle(0xFFF1))
        case .notifications, .indications:
            try await subscribe(work == .notifications ? .notification : .indication, on: connection, server, fixture)
        case .steps, .readByUUID, .readSeveral, .reliableWrite, .bothKinds:
            try await performAttributes(work, on: connection, server)
        }
    }

    private static func subscribe(
        _ kind: SubscriptionKind, on connection: Connection, _ server: SimulatedGATTServer, _ fixture: Fixture
    ) async throws {
        let value = try #require(server.handle(of: 0xFFF3, in: service))
        let characteristic = RemoteCharacteristic(
            uuid: 0xFFF3, properties: [.notify, .indicate], declarationHandle: AttributeHandle(value.rawValue - 1),
            valueHandle: value, endHandle: AttributeHandle(value.rawValue + 1),
            descriptors: [
                RemoteDescriptor(
                    uuid: .clientCharacteristicConfiguration, handle: AttributeHandle(value.rawValue + 1))
            ])
        let values = try await connection.subscribe(to: characteristic, kind: kind)
        let sender = fixture.begin {
            for number in 1...5 as ClosedRange<UInt8> {
                if kind == .notification {
                    await server.notify([number], of: value)
                } else {
                    await server.indicate([number], of: value)
                }
            }
        }
        defer { sender.cancel() }
        var expected: UInt8 = 1
        for try await value in values {
            #expect(value == [expected])
            expected += 1
            if expected == 6 { return }
        }
        Issue.record("a stream whose loop was not left ended without an error")
    }

    /// Connects and reads on an adapter that was restored.
    private static func again(_ fixture: Fixture, _ peripheral: SimulatedPeripheral) async throws {
        if try await Adapter.all(on: fixture.kernel).isEmpty { fixture.kernel.plug() }
        fixture.kernel.setRadioSwitch(adapter: 0)
        let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
        let value = try await adapter.withConnection(
            to: peripheral.address, options: ConnectionOptions(timeout: .seconds(60))
        ) { connection in
            let services = try await connection.discover()
            let characteristic = try #require(services.first(where: { $0.uuid == 0x180F })?.characteristics.first)
            return try await connection.read(characteristic)
        }
        #expect(value == [9])
    }
}

/// The objects that must be released.
final class Remains: Sendable {

    private let objects = Mutex<[@Sendable () -> Bool]>([])

    func keep<Object: AnyObject & Sendable>(_ object: Object) {
        let isAlive: @Sendable () -> Bool = { [weak object] in object != nil }
        objects.withLock { $0.append(isAlive) }
    }

    var isEmpty: Bool { objects.withLock { $0 }.allSatisfy { !$0() } }
}
