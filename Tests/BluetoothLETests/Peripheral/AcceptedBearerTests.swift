import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Enhanced bearers that devices open to this machine (Core Vol 3 Part G §5.3, Part F §3.2.11).
@Suite struct AcceptedBearerTests {
    private static func run(
        bearers: Int = 3, centrals: Int = 1, handlers: AttributeHandlers = AttributeHandlers(),
        _ body: @escaping @Sendable (PeripheralStory, PublishedServices, IncomingConnections) async throws -> Void
    ) async throws {
        try await PeripheralStory.run(centrals: centrals) { story in
            story.kernel.hasNetBindService = true
            var users = [try await PairingUser(story.kernel)]
            for other in story.others { users.append(try await PairingUser(other)) }
            try await story.peripheral.setPairingAgent(JustWorksPairingAgent())
            let published = try await story.peripheral.publish([PeripheralStory.service], handlers: handlers)
            let incoming = try await story.peripheral.incomingConnections(
                IncomingConnectionOptions(enhancedBearers: bearers))
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            try await body(story, published, incoming)
            await set.stop()
            withExtendedLifetime(users) {}
        }
    }

    @Test func aCentralOpensThemAndItsRequestsDoNotWaitForEachOther() async throws {
        let handlers = AttributeHandlers(read: { _ in [1, 2, 3] })
        try await Self.run(handlers: handlers) { story, published, incoming in
            let connection = try await story.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            func readTwenty() async throws -> Duration {
                try await story.story.duration {
                    let reads = (0..<20).map { _ in story.story.begin { try await connection.read(value) } }
                    for read in reads {
                        let bytes = try await read.value
                        #expect(bytes == [7])
                    }
                }
            }
            let alone = try await readTwenty()
            #expect(try await connection.openEnhancedBearers(count: 3) == 3)
            let accepted = try #require(incoming.connections.first)
            #expect(await accepted.bearerCount == 4)
            #expect(try await accepted.security().level >= .medium)
            let spread = try await readTwenty()
            #expect(spread * 2 < alone, "\(spread) against \(alone)")
            let dynamic = try await connection.found(0xFFF2, in: 0xFFF0)
            let reads = (0..<8).map { _ in story.story.begin { try await connection.read(dynamic) } }
            for read in reads {
                let bytes = try await read.value
                #expect(bytes == [1, 2, 3])
            }
        }
    }

    @Test(arguments: [0, 1]) func serverSupportedFeaturesTellsOfThem(_ bearers: Int) async throws {
        try await Self.run(bearers: bearers) { story, _, incoming in
            let connection = try await story.connect()
            let features = try await connection.found(.serverSupportedFeatures, in: .genericAttribute)
            #expect(try await connection.read(features) == [UInt8(bearers)])
            if bearers == 0 {
                #expect(await failure { try await connection.openEnhancedBearers() }?.code == .unsupported)
            }
            incoming.close()
            try await story.story.settle { (try? await connection.read(features)) == [0] }
        }
    }

    @Test func moreThanTheOptionAllowsAreClosedAgain() async throws {
        try await Self.run(bearers: 2) { story, _, incoming in
            let connection = try await story.connect()
            _ = try? await connection.openEnhancedBearers(count: 5)
            try await story.story.settle { await connection.bearerCount == 3 }
            let accepted = try #require(incoming.connections.first)
            #expect(await accepted.bearerCount == 3)
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            let reads = (0..<12).map { _ in story.story.begin { try await connection.read(value) } }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func whatIsKnownOfAClientIsTheSameOnAllItsBearers() async throws {
        try await Self.run { story, published, incoming in
            let connection = try await story.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            try await connection.openEnhancedBearers(count: 2)
            let values = try await connection.subscribe(to: value)
            var iterator = values.makeAsyncIterator()
            // Values go by the fixed channel, in their order, while requests go by any.
            let reads = (0..<6).map { _ in story.story.begin { try await connection.read(value) } }
            for number in 0..<20 as Range<UInt8> {
                let deliveries = try await published.notify([number], of: PeripheralStory.value)
                #expect(deliveries.count == 1)
            }
            for number in 0..<20 as Range<UInt8> {
                let told = try await iterator.next()
                #expect(told == [number])
            }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func eachCentralHasItsOwn() async throws {
        try await Self.run(bearers: 2, centrals: 2) { story, _, incoming in
            let first = try await story.connect(0)
            let second = try await story.connect(1)
            try await first.openEnhancedBearers(count: 2)
            try await second.openEnhancedBearers(count: 2)
            var counts: [Int] = []
            for connection in incoming.connections { counts.append(await connection.bearerCount) }
            #expect(counts == [3, 3])
            await first.disconnect()
            try await story.story.settle { incoming.connections.count == 1 }
            let value = try await second.found(0xFFF1, in: 0xFFF0)
            let reads = (0..<6).map { _ in story.story.begin { try await second.read(value) } }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func whatTheSystemDoesNotAllowIsSaidAndNothingIsListenedOn() async throws {
        try await PeripheralStory.run { story in
            let options = IncomingConnectionOptions(enhancedBearers: 1)
            #expect(
                await failure { _ = try await story.peripheral.incomingConnections(options) }?.code == .notPermitted)
            story.kernel.hasNetBindService = true
            story.kernel.hasEnhancedFlowControl = false
            #expect(
                await failure { _ = try await story.peripheral.incomingConnections(options) }?.code == .unsupported)
            let incoming = try await story.peripheral.incomingConnections()
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            let connection = try await story.connect()
            let features = try await connection.found(.serverSupportedFeatures, in: .genericAttribute)
            #expect(try await connection.read(features) == [0])
            incoming.close()
            await set.stop()
        }
    }

    /// A handler that never answers holds up its own device's requests, and all of them get their answer.
    @Test func requestsOfAllBearersAreAnsweredInTime() async throws {
        let handlers = AttributeHandlers(read: { _ in
            await OneShot<Void>().value(ifCancelled: ())
            return [1]
        })
        try await Self.run(handlers: handlers) { story, _, _ in
            let connection = try await story.connect()
            let dynamic = try await connection.found(0xFFF2, in: 0xFFF0)
            try await connection.openEnhancedBearers(count: 3)
            let reads = (0..<4).map { _ in
                story.story.begin { await failure { _ = try await connection.read(dynamic) } }
            }
            for read in reads {
                let error = try await read.value
                #expect(error?.cause == .attribute(.unlikelyError))
            }
            #expect(await connection.isConnected)
        }
    }
}
