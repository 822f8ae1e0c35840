import BluetoothLE
import Synchronization
import Testing

extension Peers {
    /// This machine as the peripheral: Bumble's centrals discover, read, write and subscribe to its attributes.
    @Suite struct Serving {
        private static let stored: BluetoothUUID = 0xFFF1
        private static let dynamic = LocalCharacteristic(0xFFF2, properties: [.read, .write])
        private static let content = AdvertisementContent(localName: "machine", services: [0xFFF0])

        /// A machine that publishes services and advertises.
        private struct Machine {
            let fixture: Fixture
            let published: PublishedServices
            let incoming: IncomingConnections
            let set: AdvertisingSet

            /// Sends a command to a central.
            func call(_ words: String, by central: String = "central") async throws -> String {
                try await fixture.ask("call \(central) \(words)")
            }

            func connect(_ central: String = "central") async throws {
                let address = fixture.adapter.information.address
                _ = try await call(
                    "connect \(address.digits) \(address.kind == .public ? "public" : "random")", by: central)
            }

            /// The values that a central received since the last call, once there are `count`.
            func values(_ count: Int, by central: String = "central") async throws -> String {
                let got = Mutex("")
                try await fixture.wait(for: "\(count) values") {
                    let more = try await call("got", by: central)
                    return got.withLock { got in
                        if !more.isEmpty { got += (got.isEmpty ? "" : ",") + more }
                        return got.split(separator: ",").count >= count
                    }
                }
                return got.withLock { $0 }
            }
        }

        private static func run(
            _ dynamic: LocalCharacteristic = dynamic,
            options: AdvertisingOptions = AdvertisingOptions(whenAdapterUnavailable: .resume),
            _ story: @Sendable (Machine) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                let published = try await fixture.adapter.publish {
                    LocalService(0xFFF0) {
                        LocalCharacteristic(stored, properties: [.read, .write, .notify, .indicate], value: [7, 8])
                        dynamic
                    }
                }
                let incoming = try await fixture.adapter.incomingConnections()
                let set = try await fixture.adapter.advertise(content, options: options)
                try await story(Machine(fixture: fixture, published: published, incoming: incoming, set: set))
                await set.close()
                let chip = try await fixture.chip()
                #expect(chip?["adv"] == 0)
            }
        }

        @Test func aCentralDiscoversReadsAndWrites() async throws {
            let written = Mutex<[[UInt8]]>([])
            let dynamic = Self.dynamic.onRead { _ in [1, 2, 3] }
                .onWrite { request in written.withLock { $0.append(request.value) } }
            try await Self.run(dynamic) { machine in
                try await machine.connect()
                let found = try await machine.call("find")
                #expect(found.contains("FFF1") && found.contains("FFF2"), "\(found)")
                let accepted = try #require(machine.incoming.connections.first)
                let central = try machine.fixture["central"]
                #expect(accepted.peer == central)
                #expect(accepted.role == .peripheral)
                #expect(await accepted.maximumTransmissionUnit == 517)
                #expect(try await machine.call("read FFF1") == "0708")
                _ = try await machine.call("write FFF1 0a0b0c")
                #expect(
                    machine.published.value(of: try #require(machine.published.handle(of: 0xFFF1))) == [10, 11, 12])
                #expect(try await machine.call("read FFF2") == "010203")
                _ = try await machine.call("write FFF2 09")
                #expect(written.withLock { $0 } == [[9]])
                #expect(try await accepted.rssi() == -50)
                #expect(await accepted.parameters != nil)
                _ = try await machine.call("close")
                #expect(await accepted.disconnected().disconnectReason == .remote)
            }
        }

        @Test func aLongValueIsWrittenInParts() async throws {
            try await Self.run { machine in
                try await machine.connect()
                _ = try await machine.call("find")
                let value = (0..<512).map { UInt8(truncatingIfNeeded: $0) }
                _ = try await machine.call("long FFF1 \(value.hexadecimal)")
                let handle = try #require(machine.published.handle(of: 0xFFF1))
                #expect(machine.published.value(of: handle) == value)
                #expect(try await machine.call("read FFF1") == value.hexadecimal.lowercased())
                _ = try await machine.call("close")
            }
        }

        @Test func aSubscriberIsSentNotificationsAndIndications() async throws {
            try await Self.run { machine in
                let handle = try #require(machine.published.handle(of: 0xFFF1))
                try await machine.connect()
                _ = try await machine.call("find")
                _ = try await machine.call("subscribe FFF1")
                for number in 0..<50 as Range<UInt8> {
                    let deliveries = try await machine.published.notify([number], of: handle)
                    #expect(deliveries.count == 1)
                    for delivery in deliveries { try delivery.result.get() }
                }
                let values = try await machine.values(50)
                #expect(values == (0..<50).map { [UInt8($0)].hexadecimal.lowercased() }.joined(separator: ","))
                _ = try await machine.call("confirm FFF1")
                let indicated = try await machine.published.indicate([0xEE], of: handle)
                #expect(indicated.count == 1)
                for delivery in indicated { try delivery.result.get() }
                #expect(try await machine.values(1) == "ee")
                _ = try await machine.call("close")
            }
        }

        @Test func severalCentralsComeAndComeAgain() async throws {
            try await Self.run { machine in
                for _ in 0..<2 {
                    try await machine.connect("central")
                    try await machine.connect("second")
                    try await machine.fixture.wait(for: "both links") { machine.incoming.connections.count == 2 }
                    let peers = machine.incoming.connections.map(\.peer)
                    let expected = [try machine.fixture["central"], try machine.fixture["second"]]
                    #expect(peers == expected)
                    for central in ["central", "second"] {
                        _ = try await machine.call("find", by: central)
                        #expect(try await machine.call("read FFF1", by: central) == "0708")
                    }
                    for central in ["second", "central"] { _ = try await machine.call("close", by: central) }
                    try await machine.fixture.wait(for: "no link") { machine.incoming.connections.isEmpty }
                }
            }
        }

        @Test func theKernelAdvertisesAgainAfterALink() async throws {
            try await Self.run(options: AdvertisingOptions(continuesWhileConnected: false)) { machine in
                for _ in 0..<2 {
                    try await machine.connect()
                    try await machine.fixture.wait(for: "a link") { machine.incoming.connections.count == 1 }
                    let during = try await machine.fixture.chip()
                    #expect(during?["adv"] == 0)
                    _ = try await machine.call("close")
                    try await machine.fixture.wait(for: "advertising") {
                        let chip = try await machine.fixture.chip()
                        return chip?["adv"] == 1 && machine.incoming.connections.isEmpty
                    }
                }
            }
        }

        @Test func disconnectingHereEndsTheLinkThere() async throws {
            try await Self.run { machine in
                try await machine.connect()
                try await machine.fixture.wait(for: "a link") { machine.incoming.connections.count == 1 }
                await machine.incoming.connections.first?.disconnect()
                try await machine.fixture.wait(for: "no link") { try await machine.fixture.links(of: "central") == 0 }
                try await machine.connect()
                _ = try await machine.call("close")
            }
        }

        @Test func itComesBackWithTheAdapter() async throws {
            try await Self.run { machine in
                let adapter = machine.fixture.adapter
                try await adapter.setPowered(false)
                try await machine.fixture.wait(for: "waiting") {
                    machine.set.state.waiting != nil
                }
                try await adapter.setPowered(true)
                try await machine.fixture.wait(for: "advertising") { machine.set.state == .advertising }
                try await machine.connect()
                _ = try await machine.call("find")
                #expect(try await machine.call("read FFF1") == "0708")
                _ = try await machine.call("close")
            }
        }
    }
}
