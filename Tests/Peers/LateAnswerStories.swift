import BluetoothATT
import TestSupport
import Testing

@testable import BluetoothLE

extension Peers {
    /// Links that end while a response is outstanding: the kernel gives the next connect the same link, and the
    /// response must not be taken for that to another request.
    @Suite struct LateAnswers {
        /// The responses that the device delays.
        private static let answers: [ATTOpcode] = [
            .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse, .readByTypeResponse,
            .readResponse, .readBlobResponse, .readByGroupTypeResponse, .writeResponse,
            .prepareWriteResponse, .executeWriteResponse, .handleValueConfirmation,
        ]
        private static let served: BluetoothUUID = 0xFFF1
        private static let dynamic: BluetoothUUID = 0xFFF2

        /// A device that delays responses, and its attributes.
        private struct Late: Sendable {
            let fixture: Fixture
            let short: AttributeHandle
            let long: AttributeHandle
            let value: AttributeHandle

            static func run(_ story: @Sendable (Late) async throws -> Void) async throws {
                try await Fixture.run { fixture in
                    let published = try await fixture.adapter.publish {
                        LocalService(0xFFF0) {
                            LocalCharacteristic(served, properties: [.read, .indicate], value: [7])
                            LocalCharacteristic(dynamic, properties: .read).onRead { _ in
                                try await Task.sleep(for: .seconds(20))
                                return []
                            }
                        }
                    }
                    let values = try await fixture.database(of: "late").filter { $0.type == 0xFF10 }
                    let short = try #require(values.first(where: { $0.value?.count == 19 }))
                    let long = try #require(values.first(where: { $0.value?.count == 244 }))
                    let value = try #require(published.handle(of: served))
                    try await fixture.ask("late late")
                    try await story(
                        Late(fixture: fixture, short: short.handle, long: long.handle, value: value))
                    try await fixture.ask("late late")
                }
            }

            func connect() async throws -> Connection { try await fixture.connect(to: "late") }

            /// Makes the device answer with `opcode`.
            func perform(_ opcode: ATTOpcode, on connection: Connection) async throws {
                switch opcode {
                case .exchangeMTUResponse: try await connection.exchangeMTU(offering: 517)
                case .findInformationResponse: _ = try await connection.discover(cached: false)
                case .findByTypeValueResponse: _ = try await connection.discoverServices(0x180F)
                case .readByTypeResponse: _ = try await connection.readValues(of: 0x2A19)
                case .readResponse: _ = try await connection.read(short)
                case .readBlobResponse: _ = try await connection.read(long)
                case .readByGroupTypeResponse: _ = try await connection.discoverServices()
                case .writeResponse: try await connection.write([UInt8](repeating: 1, count: 19), to: short)
                case .prepareWriteResponse, .executeWriteResponse:
                    try await connection.write([UInt8](repeating: 2, count: 244), to: long)
                default:
                    try await fixture.ask("ask late confirm FFF1")
                    try await connection.indicate([8], of: value)
                }
            }

            /// Ends a link while the response with `opcode` is outstanding, which is delayed by `delay`.
            func endLink(_ connection: Connection, awaiting opcode: ATTOpcode, late delay: Duration) async throws {
                try await hold(opcode, delay)
                let call = Task { try await perform(opcode, on: connection) }
                try await waitUntilHeld("\(opcode)")
                await connection.disconnect(timeout: .zero)
                let end = await failure { try await call.value }
                #expect(end?.code == .disconnected)
            }

            func hold(_ opcode: ATTOpcode, _ delay: Duration) async throws {
                let seconds = Double(delay.components.attoseconds) / 1e18 + Double(delay.components.seconds)
                try await fixture.ask("late late \(String(opcode.rawValue, radix: 16)) \(seconds)")
            }

            func waitUntilHeld(_ what: String) async throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while try await fixture.ask("held late") == "0" {
                    guard ContinuousClock.now < deadline else { throw FixtureError(description: "not asked: \(what)") }
                }
            }

            /// Reconnects; the device's counters distinguish a new ACL link from the old one.
            func reconnect(after opcode: ATTOpcode, _ delay: Duration) async throws -> Connection {
                let taken = try await fixture.ask("taken late")
                let start = ContinuousClock.now
                let connection = try await connect()
                let time = start.duration(to: .now)
                let isSame = try await fixture.ask("taken late") == taken
                print("# \(opcode), \(delay) late: connected after \(time), \(isSame ? "the same link" : "a new link")")
                return connection
            }

            /// Checks that a link receives the responses to its own requests, and no others.
            func expectOwnAnswers(_ opcode: ATTOpcode, on connection: Connection) async throws {
                try await perform(opcode, on: connection)
                #expect(try await connection.read(short).count == 19, "\(short)")
                try await Task.sleep(for: .milliseconds(1500))
                #expect(await connection.isConnected, "\(opcode)")
                #expect(try await connection.strayResponseCount() == 0, "\(opcode)")
            }
        }

        @Test("an answer that is late reaches no other link", arguments: [200, 1000])
        func anAnswerThatIsLate(milliseconds: Int) async throws {
            try await Late.run { late in
                let delay = Duration.milliseconds(milliseconds)
                var connection = try await late.connect()
                for opcode in Self.answers {
                    try await late.endLink(connection, awaiting: opcode, late: delay)
                    try await late.fixture.ask("late late")
                    connection = try await late.reconnect(after: opcode, delay)
                    try await late.expectOwnAnswers(opcode, on: connection)
                }
                await connection.disconnect(timeout: .zero)
            }
        }

        @Test func cancellingAConnectAtAnyMomentAffectsNoOther() async throws {
            try await Late.run { late in
                // The moments of one kind of band are between those of the other.
                for milliseconds in stride(from: Fixture.isLegacy ? 25 : 0, through: 1000, by: 50) {
                    try await late.hold(.exchangeMTUResponse, .milliseconds(100))
                    let attempt = Task { try await late.connect() }
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    attempt.cancel()
                    let end = await failure { await (try await attempt.value).disconnect(timeout: .zero) }
                    #expect(end == nil || end?.code == .cancelled)
                    let connection = try await late.connect()
                    let error = await failure {
                        _ = try await connection.read(late.short)
                        _ = try await connection.discoverServices()
                    }
                    #expect(error == nil, "cancelled after \(milliseconds) ms")
                    #expect(try await connection.strayResponseCount() == 0, "cancelled after \(milliseconds) ms")
                    await connection.disconnect(timeout: .zero)
                }
            }
        }

        /// A link to the device "channel" that a channel keeps, with `milliseconds` until the device responds.
        private static func keepLink(
            milliseconds: Int,
            _ story: @Sendable (Fixture, AttributeHandle, ConnectionOrientedChannel) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "channel")
                let value = try await connection.find(0xFFF1).valueHandle
                let channel = try await connection.openChannel(psm: 0x80)
                try await fixture.ask("late channel 0b \(Double(milliseconds) / 1000)")
                let call = Task { _ = try await connection.read(value) }
                try await fixture.wait(for: "the read") { try await fixture.ask("held channel") != "0" }
                await connection.disconnect(timeout: .zero)
                let end = await failure { try await call.value }
                #expect(end?.code == .disconnected)
                try await fixture.ask("late channel")
                try await story(fixture, value, channel)
                await channel.close()
            }
        }

        private static func expectOwnAnswers(_ value: AttributeHandle, on connection: Connection) async throws {
            for _ in 0..<3 {
                #expect(try await connection.read(value).count == 100)
                #expect(try await connection.discoverServices().isEmpty == false)
                try await Task.sleep(for: .seconds(1))
            }
            #expect(try await connection.strayResponseCount() == 0)
            #expect(await connection.isConnected)
        }

        @Test(arguments: [1000, 6000])
        func aLinkThatAChannelKeepsIsOfUseOnceTheAnswerIsIn(milliseconds: Int) async throws {
            try await Self.keepLink(milliseconds: milliseconds) { fixture, value, channel in
                let taken = try await fixture.ask("taken channel")
                let start = ContinuousClock.now
                var waits: [Duration] = []
                var next: Connection?
                while next == nil, waits.count < 10 {
                    let end = await failure { next = try await fixture.connect(to: "channel") }
                    #expect(end == nil || end?.code == .busy)
                    waits.append(start.duration(to: .now))
                }
                print("# answered after \(milliseconds) ms: connected or busy after \(waits)")
                #expect(milliseconds < 2500 ? waits.count == 1 : waits.count > 1)
                let connection = try #require(next)
                #expect(try await fixture.ask("taken channel") == taken)
                try await Self.expectOwnAnswers(value, on: connection)
                try await channel.send([1, 2, 3])
                #expect(try await channel.read(timeout: .seconds(30)) == [1, 2, 3])
                await connection.disconnect(timeout: .zero)
            }
        }

        @Test func aLinkThatAChannelKeepsIsMadeAnewOnceItIsClosed() async throws {
            try await Self.keepLink(milliseconds: 10_000) { fixture, value, channel in
                let taken = try await fixture.ask("taken channel")
                let end = await failure { _ = try await fixture.connect(to: "channel") }
                #expect(end?.code == .busy)
                let start = ContinuousClock.now
                await channel.close()
                let connection = try await fixture.connect(to: "channel")
                print("# the channel closed: connected after \(start.duration(to: .now))")
                #expect(try await fixture.ask("taken channel") != taken)
                try await Self.expectOwnAnswers(value, on: connection)
                try await Task.sleep(for: .seconds(6))
                #expect(try await connection.strayResponseCount() == 0)
                await connection.disconnect(timeout: .zero)
            }
        }

        @Test func aDeviceAwaitingAConfirmationGetsANewLink() async throws {
            try await Late.run { late in
                let connection = try await late.connect()
                let taken = try await late.fixture.ask("taken late")
                try await late.fixture.ask("ask late read FFF2")
                try await late.fixture.wait(for: "the read") {
                    await connection.isAskedForAnAnswer()
                }
                await connection.disconnect(timeout: .zero)
                let next = try await late.reconnect(after: .readRequest, .zero)
                #expect(try await late.fixture.ask("taken late") != taken)
                try await late.expectOwnAnswers(.readResponse, on: next)
                await next.disconnect(timeout: .zero)
            }
        }
    }
}

extension Connection {
    /// The number of responses without a request on this link.
    fileprivate func strayResponseCount() async throws -> Int {
        try await core { (link) throws in try link.bearer(for: .init("look")).core.strayResponseCount }
    }

    /// Whether the device waits for a response of ours.
    fileprivate func isAskedForAnAnswer() async -> Bool {
        await core { (try? $0.bearer(for: .init("look")))?.core.server.isWaitingForProgram == true }
    }
}
