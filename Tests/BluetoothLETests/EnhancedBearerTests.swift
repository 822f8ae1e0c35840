import BluetoothSimulation
import TestSupport
import Synchronization
import Testing

@testable import BluetoothLE

@Suite struct EnhancedBearerTests {
    /// Runs `body` with a connection to a machine that supports enhanced bearers and agents that accept pairing on both
    /// sides.
    private static func run(
        mtu: UInt16 = 517, takesBearers: Bool = true,
        _ body: @escaping @Sendable (TwoMachines, Connection, RemoteCharacteristic) async throws -> Void
    ) async throws {
        try await TwoMachines.run { machines in
            let users = [try await PairingUser(machines.kernel), try await PairingUser(machines.other)]
            if takesBearers {
                try await machines.attributes.listenForEnhancedBearers(machines.other, machines.peer, mtu: mtu)
            }
            let connection = try await machines.central.connect(to: machines.peer)
            let services = try await connection.discover()
            let value = try #require(services.first { $0.uuid == 0xFFF0 }?.characteristics.first)
            try await body(machines, connection, value)
            await connection.disconnect()
            withExtendedLifetime(users) {}
        }
    }

    @Test func bearersAreOpenedOnAnEncryptedLink() async throws {
        try await Self.run { machines, connection, value in
            #expect(await connection.bearerCount == 1)
            #expect(try await connection.openEnhancedBearers(count: 3) == 3)
            #expect(await connection.bearerCount == 4)
            #expect(try await connection.security().level >= .medium)
            let features = try await connection.discover()
                .first { $0.uuid == .genericAttribute }?.characteristics.first { $0.uuid == .clientSupportedFeatures }
            let read = try await connection.read(try #require(features))
            #expect(read.first.map { $0 & 2 == 2 } == true)
            await connection.disconnect()
            #expect(await connection.bearerCount == 0)
        }
    }

    /// Each response takes a connection interval or two; on one bearer twenty of them would be sequential.
    @Test func concurrentRequestsAreDistributed() async throws {
        try await Self.run { machines, connection, value in
            func readTwenty() async throws -> Duration {
                try await machines.fixture.duration {
                    let reads = (0..<20).map { _ in machines.fixture.begin { try await connection.read(value) } }
                    for read in reads {
                        let bytes = try await read.value
                        #expect(bytes == pattern(100))
                    }
                }
            }
            let alone = try await readTwenty()
            try await connection.openEnhancedBearers(count: 4)
            let spread = try await readTwenty()
            #expect(spread * 3 < alone, "\(spread) against \(alone)")
        }
    }

    @Test func aSmallBearerCarriesOnlyRequestsThatFit() async throws {
        try await Self.run(mtu: 64) { machines, connection, value in
            try await connection.openEnhancedBearers(count: 2)
            let writes = (0..<10).map { number in
                machines.fixture.begin { try await connection.write(pattern(100, from: number), to: value) }
            }
            let reads = (0..<10).map { _ in machines.fixture.begin { try await connection.read(value) } }
            for write in writes { try await write.value }
            for read in reads {
                #expect(try await read.value.count == 100)
            }
        }
    }

    @Test func theLossOfOneBearerLeavesTheConnection() async throws {
        try await Self.run { machines, connection, value in
            try await connection.openEnhancedBearers(count: 2)
            let server = try #require(machines.attributes.connections.last)
            // The peer's program closes one bearer.
            await server.closeFirstEnhancedBearer()
            try await machines.fixture.settle { await connection.bearerCount == 2 }
            #expect(await connection.isConnected)
            let reads = (0..<6).map { _ in machines.fixture.begin { try await connection.read(value) } }
            for read in reads { _ = try await read.value }
            // The end of the fixed channel ends all bearers.
            machines.fixture.radio.breakLink(machines.central.information.address, machines.peer)
            _ = await connection.disconnected()
            #expect(await connection.bearerCount == 0)
            #expect(await failure { _ = try await connection.read(value) }?.code == .disconnected)
        }
    }

    @Test func requestsOnALostBearerFail() async throws {
        try await Self.run { machines, connection, value in
            try await connection.openEnhancedBearers(count: 1)
            let reads = (0..<2).map { _ in machines.fixture.begin { try await connection.read(value) } }
            await (try #require(machines.attributes.connections.last)).closeFirstEnhancedBearer()
            var errors: [BluetoothError] = []
            for read in reads { if let error = await failure({ _ = try await read.value }) { errors.append(error) } }
            #expect(errors.map(\.code) == [.disconnected])
            #expect(errors.first?.isRetryable == true)
            #expect(errors.first?.disconnectReason == nil)
            #expect(errors.first?.message.contains("bearer") == true)
            #expect(await connection.isConnected)
        }
    }

    @Test func aPeerWithoutEnhancedBearersIsUnsupported() async throws {
        try await Fixture.withLink { _, _, _, connection in
            #expect(await failure { try await connection.openEnhancedBearers() }?.code == .unsupported)
            #expect(await failure { try await connection.openEnhancedBearers(count: 0) }?.code == .invalidArgument)
            #expect(await connection.isConnected)
        }
    }

    @Test func refusedBearersLeaveTheConnection() async throws {
        try await Self.run(takesBearers: false) { machines, connection, value in
            #expect(await failure { try await connection.openEnhancedBearers(count: 2) }?.code == .connectionFailed)
            #expect(await connection.bearerCount == 1)
            let bytes = try await connection.read(value)
            #expect(bytes == pattern(100))
        }
    }

    /// A fault at every packet, on any bearer, while bearers are opened and used.
    @Test(arguments: [Fault.cutLink, .cancel, .unplug, .powerOff, .disconnect])
    func everyFaultAtEveryPacketEndsTyped(_ fault: Fault) async throws {
        let packets = try await Self.disturbed(by: nil, at: nil)
        #expect(packets >= 30)
        for index in 0..<packets { _ = try await Self.disturbed(by: fault, at: index) }
    }

    /// Opens bearers and reads over them; returns the number of packets.
    private static func disturbed(by fault: Fault?, at index: Int?) async throws -> Int {
        let count = Mutex(0)
        try await run { machines, connection, value in
            let task = Mutex<Task<Void, any Error>?>(nil)
            machines.faulting.arm(at: index) {
                switch fault {
                case .cutLink:
                    machines.fixture.radio.breakLink(machines.central.information.address, machines.peer)
                case .cancel: task.withLock { $0 }?.cancel()
                case .unplug: machines.kernel.unplug(0)
                case .powerOff: machines.kernel.setPowered(false, adapter: 0)
                case .disconnect:
                    connection.core.later { $0.disconnect() }
                default: break
                }
            }
            let work = machines.fixture.begin {
                try await connection.openEnhancedBearers(count: 3)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<12 { group.addTask { _ = try await connection.read(value) } }
                    try await group.waitForAll()
                }
            }
            task.withLock { $0 = work }
            let error = await failure { try await work.value }
            count.withLock { $0 = machines.faulting.count }
            machines.faulting.arm(at: nil) {}
            if let error {
                let isExpected = fault?.codes.contains(error.code) ?? false
                #expect(isExpected, "\(String(describing: fault)) at packet \(index ?? -1): \(error)")
            }
            if fault == .cancel {
                let bytes = try await connection.read(value)
                #expect(bytes == pattern(100))
            } else if fault != nil {
                _ = await connection.disconnected()
                #expect(await connection.bearerCount == 0)
            }
        }
        return count.withLock { $0 }
    }
}

extension Connection {
    fileprivate func closeFirstEnhancedBearer() async {
        await core { link in
            link.enhancedBearers.open.first { _ in true }?.close(
                BluetoothError(.disconnected, .init("close", peer: link.peer), "closed by the test"))
        }
    }
}
