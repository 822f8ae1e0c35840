import BluetoothLoop
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Enhanced bearers that devices open to this machine (Core Vol 3 Part G §5.3, Part F §3.2.11).
@Suite struct AcceptedBearerTests {
    private static func run(
        bearers: Int = 3, centrals: Int = 1, mtu: Int = 517, handlers: AttributeHandlers = AttributeHandlers(),
        _ body: @escaping @Sendable (PeripheralFixture, PublishedServices, IncomingConnections) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run(centrals: centrals) { fixture in
            fixture.kernel.hasNetBindService = true
            var users = [try await PairingUser(fixture.kernel)]
            for other in fixture.others { users.append(try await PairingUser(other)) }
            try await fixture.peripheral.setPairingAgent(JustWorksPairingAgent())
            let published = try await fixture.peripheral.publish([PeripheralFixture.service], handlers: handlers)
            let incoming = try await fixture.peripheral.incomingConnections(
                IncomingConnectionOptions(maximumTransmissionUnit: mtu, enhancedBearers: bearers))
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            try await body(fixture, published, incoming)
            await set.close()
            withExtendedLifetime(users) {}
        }
    }

    @Test func aCentralOpensThemAndItsRequestsDoNotWaitForEachOther() async throws {
        let handlers = AttributeHandlers(read: { _ in [1, 2, 3] })
        try await Self.run(handlers: handlers) { fixture, published, incoming in
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            func readTwenty() async throws -> Duration {
                try await fixture.base.duration {
                    let reads = (0..<20).map { _ in fixture.base.begin { try await connection.read(value) } }
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
            let reads = (0..<8).map { _ in fixture.base.begin { try await connection.read(dynamic) } }
            for read in reads {
                #expect(try await read.value == [1, 2, 3])
            }
        }
    }

    @Test(arguments: [0, 1]) func serverSupportedFeaturesTellsOfThem(_ bearers: Int) async throws {
        try await Self.run(bearers: bearers) { fixture, _, incoming in
            let connection = try await fixture.connect()
            let features = try await connection.found(.serverSupportedFeatures, in: .genericAttribute)
            #expect(try await connection.read(features) == [UInt8(bearers)])
            if bearers == 0 {
                #expect(await failure { try await connection.openEnhancedBearers() }?.code == .unsupported)
            }
            incoming.close()
            try await fixture.base.settle { (try? await connection.read(features)) == [0] }
        }
    }

    @Test func moreThanTheOptionAllowsAreClosedAgain() async throws {
        try await Self.run(bearers: 2) { fixture, _, incoming in
            let connection = try await fixture.connect()
            _ = try? await connection.openEnhancedBearers(count: 5)
            try await fixture.base.settle { await connection.bearerCount == 3 }
            let accepted = try #require(incoming.connections.first)
            #expect(await accepted.bearerCount == 3)
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            let reads = (0..<12).map { _ in fixture.base.begin { try await connection.read(value) } }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func whatIsKnownOfAClientIsTheSameOnAllItsBearers() async throws {
        try await Self.run { fixture, published, incoming in
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            try await connection.openEnhancedBearers(count: 2)
            let values = try await connection.subscribe(to: value)
            var iterator = values.makeAsyncIterator()
            // Values go by the fixed channel, in their order, while requests go by any.
            let reads = (0..<6).map { _ in fixture.base.begin { try await connection.read(value) } }
            for number in 0..<20 as Range<UInt8> {
                #expect(try await published.notify([number], of: PeripheralFixture.value).count == 1)
            }
            for number in 0..<20 as Range<UInt8> {
                #expect(try await iterator.next() == [number])
            }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func eachCentralHasItsOwn() async throws {
        try await Self.run(bearers: 2, centrals: 2) { fixture, _, incoming in
            let first = try await fixture.connect(0)
            let second = try await fixture.connect(1)
            try await first.openEnhancedBearers(count: 2)
            try await second.openEnhancedBearers(count: 2)
            var counts: [Int] = []
            for connection in incoming.connections { counts.append(await connection.bearerCount) }
            #expect(counts == [3, 3])
            await first.disconnect()
            try await fixture.base.settle { incoming.connections.count == 1 }
            let value = try await second.found(0xFFF1, in: 0xFFF0)
            let reads = (0..<6).map { _ in fixture.base.begin { try await second.read(value) } }
            for read in reads { _ = try await read.value }
        }
    }

    @Test func whatTheSystemDoesNotAllowIsSaidAndNothingIsListenedOn() async throws {
        try await PeripheralFixture.run { fixture in
            let options = IncomingConnectionOptions(enhancedBearers: 1)
            let error = await failure { _ = try await fixture.peripheral.incomingConnections(options) }
            #expect(error?.code == .notPermitted)
            // Their PSM cannot be chosen, and a capability that is given alone takes the others away.
            #expect(error?.message.contains("0027") == true)
            #expect(error?.remedy?.contains("0x0080") == false)
            #expect(error?.remedy?.contains("'cap_net_raw,cap_net_admin,cap_net_bind_service+eip'") == true)
            #expect(error?.remedy?.contains("enhancedBearers = 0") == true)
            fixture.kernel.hasNetBindService = true
            fixture.kernel.hasEnhancedFlowControl = false
            #expect(
                await failure { _ = try await fixture.peripheral.incomingConnections(options) }?.code == .unsupported)
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let connection = try await fixture.connect()
            let features = try await connection.found(.serverSupportedFeatures, in: .genericAttribute)
            #expect(try await connection.read(features) == [0])
            incoming.close()
            await set.close()
        }
    }

    @Test func whoTakesThemAlreadyIsNamed() async throws {
        try await PeripheralFixture.run { fixture in
            fixture.kernel.hasNetBindService = true
            let other = try await Adapter.open(on: fixture.kernel)
            let taken = try await other.incomingConnections(IncomingConnectionOptions(enhancedBearers: 1))
            let options = IncomingConnectionOptions(enhancedBearers: 1)
            let error = await failure { _ = try await fixture.peripheral.incomingConnections(options) }
            #expect(error?.code == .busy)
            #expect(error?.message.contains("enhanced bearers") == true)
            #expect(error?.remedy?.contains("enhancedBearers = 0") == true)
            // Without them it goes, and nothing of the attempt is left.
            let incoming = try await fixture.peripheral.incomingConnections()
            incoming.close()
            taken.close()
            await other.close()
            let again = try await fixture.peripheral.incomingConnections(options)
            again.close()
        }
    }

    @Test func aBearerThatIsRefusedSaysNothingOfPSMs() async throws {
        try await Self.run(bearers: 1) { fixture, _, _ in
            let connection = try await fixture.connect()
            _ = try await connection.openEnhancedBearers(count: 1)
            let error = await failure { _ = try await connection.openEnhancedBearers(count: 1) }
            // Taken and closed again, or not taken at all.
            if let error {
                #expect(error.remedy?.contains("PSM") != true)
                #expect(!error.message.contains("PSM"))
            }
            try await fixture.base.settle { await connection.bearerCount == 2 }
        }
    }

    /// Each bearer has its own; see ``ServerAttackTests`` for the link's.
    @Test func whatIsPreparedOnABearerOutlivesAChangeOfOtherServices() async throws {
        let handlers = AttributeHandlers(read: { _ in
            await Promise<Void, Never>().value(ifCancelled: ())
            return [1]
        })
        try await Self.run(mtu: 64, handlers: handlers) { fixture, published, incoming in
            // It has discovered nothing, and so uses no robust caching, with which changes would keep it from going on.
            let connection = try await fixture.connect()
            let (value, dynamic) = (PeripheralFixture.value, AttributeHandle(0x15))
            try await connection.openEnhancedBearers(count: 1)
            let accepted = try #require(incoming.connections.first)
            // While one request is under way on the link's own bearer, what follows goes by the other.
            let long = pattern(400)
            for isWithdrawn in [false, true] {
                let link = fixture.base.begin { try await connection.read(dynamic) }
                let writing = fixture.base.begin { try await connection.write(long, to: value) }
                while true {
                    let count = await accepted.preparedCounts
                    #expect(count.main == 0)
                    if count.enhanced > 0 { break }
                    try await fixture.base.radio.sleep(for: .milliseconds(1))
                }
                if isWithdrawn {
                    await published.close()
                } else {
                    try await fixture.peripheral.publish([CachingTests.battery])
                }
                let error = await failure { try await writing.value }
                #expect(error?.cause == (isWithdrawn ? .attribute(.invalidHandle) : nil))
                #expect((error == nil) == !isWithdrawn, "\(String(describing: error))")
                _ = await link.result
                if !isWithdrawn { #expect(published.value(of: PeripheralFixture.value) == long) }
                #expect(await accepted.preparedCounts.enhanced == 0)
            }
        }
    }

    @Test(arguments: [false, true]) func valuesForBondedClientsAreProtectedOnThem(_ isAuthenticated: Bool) async throws
    {
        try await Self.run { fixture, _, _ in
            let loop = fixture.base.radio.loop
            let agent = TestAgent(isAuthenticated ? .displayYesNo : .noInputNoOutput, on: loop)
            try await fixture.peripheral.setPairingAgent(agent)
            try await fixture.central.setPairingAgent(agent)
            let value = LocalCharacteristic(
                "FFE1", properties: .read, value: [3], permissions: [.read, .readBonded])
            try await fixture.peripheral.publish { LocalService("FFE0") { value } }
            let connection = try await fixture.central.connect(
                to: fixture.address, options: ConnectionOptions(security: SecurityOptions(policy: .never)))
            #expect(try await connection.pair(to: isAuthenticated ? .high : .medium).isBonded)
            #expect(try await connection.openEnhancedBearers(count: 3) == 3)
            let found = try await connection.found("FFE1", in: "FFE0")
            let reads = (0..<8).map { _ in
                fixture.base.begin {
                    await failure {
                        let bytes = try await connection.read(found)
                        #expect(bytes == [3])
                    }
                }
            }
            for read in reads {
                let cause = try await read.value?.cause
                #expect(cause == (isAuthenticated ? nil : .attribute(.insufficientAuthentication)))
            }
        }
    }

    /// A handler that never answers holds up its own device's requests, and all of them get their answer.
    @Test func requestsOfAllBearersAreAnsweredInTime() async throws {
        let handlers = AttributeHandlers(read: { _ in
            await Promise<Void, Never>().value(ifCancelled: ())
            return [1]
        })
        try await Self.run(handlers: handlers) { fixture, _, _ in
            let connection = try await fixture.connect()
            let dynamic = try await connection.found(0xFFF2, in: 0xFFF0)
            try await connection.openEnhancedBearers(count: 3)
            let reads = (0..<4).map { _ in
                fixture.base.begin { await failure { _ = try await connection.read(dynamic) } }
            }
            for read in reads {
                #expect(try await read.value?.cause == .attribute(.unlikelyError))
            }
            #expect(await connection.isConnected)
        }
    }
}

extension Connection {
    /// How many parts of writes the peer has prepared: on the link's own bearer, and on the others.
    fileprivate var preparedCounts: (main: Int, enhanced: Int) {
        get async {
            await core { link in
                let main = (try? link.bearer(for: .init("look")))?.core.server.preparedWriteCount ?? 0
                return (main, link.enhancedBearers.open.reduce(0) { $0 + $1.core.server.preparedWriteCount })
            }
        }
    }
}
