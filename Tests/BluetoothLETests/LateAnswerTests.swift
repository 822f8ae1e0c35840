import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Management
import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

/// Links that end while an answer is outstanding, and what the next connection to the device sees of it.
@Suite struct LateAnswerTests {
    /// Everything that a link can end in the middle of, by the PDU that is not answered.
    private static let requests: [ATTOpcode] = [
        .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
        .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
        .executeWriteRequest, .readMultipleVariableRequest, .handleValueIndication,
    ]

    private struct LateStory: Sendable {
        let story: Story
        let adapter: Adapter
        let peer: LatePeer
        let address: BluetoothAddress
        let served: AttributeHandle

        static func run(_ body: @escaping @Sendable (LateStory) async throws -> Void) async throws {
            try await Story.run { story in
                let peer = try LatePeer()
                let address = peer.peripheral(on: story.radio).address
                let adapter = try await Adapter.open(on: story.kernel)
                let services = try await adapter.publish([PeripheralStory.service])
                let served = try #require(services.handle(of: 0xFFF1))
                try await body(
                    LateStory(story: story, adapter: adapter, peer: peer, address: address, served: served))
            }
        }

        func connect() async throws -> Connection {
            // Long values take several requests.
            try await adapter.connect(to: address, options: ConnectionOptions(maximumTransmissionUnit: 23))
        }

        /// Has `opcode` sent.
        func perform(_ opcode: ATTOpcode, on connection: Connection) async throws {
            switch opcode {
            case .exchangeMTURequest: try await connection.exchangeMTU(offering: 23)
            case .findInformationRequest:
                let range = AttributeHandleRange(start: LatePeer.configuration, end: LatePeer.configuration)
                _ = try await connection.perform(DescriptorDiscovery(in: range), "discover", timeout: nil)
            case .findByTypeValueRequest: _ = try await connection.discoverServices(0xFFF0)
            case .readByTypeRequest: _ = try await connection.readValues(of: 0xFFF1)
            case .readRequest: _ = try await connection.read(LatePeer.short)
            case .readBlobRequest: _ = try await connection.read(LatePeer.long)
            case .readMultipleRequest:
                _ = try await connection.read([LatePeer.short, LatePeer.short], lengths: [1, 1])
            case .readByGroupTypeRequest: _ = try await connection.discoverServices()
            case .writeRequest: try await connection.write([2], to: LatePeer.short)
            case .prepareWriteRequest, .executeWriteRequest:
                try await connection.write([UInt8](0..<40), to: LatePeer.long)
            case .readMultipleVariableRequest: _ = try await connection.read([LatePeer.short, LatePeer.short])
            default:
                // Subscribes to what is indicated to it.
                peer.send([0x12, UInt8(served.rawValue + 1), 0, 2, 0])
                try await story.settle { await connection.peerConfiguration(of: served) == .indication }
                try await connection.indicate([1], of: served)
            }
        }

        /// Begins what `opcode` is sent for, and returns when the peer has that; ``LatePeer/delay(_:by:)`` keeps it waiting.
        func begin(_ opcode: ATTOpcode, on connection: Connection) async throws -> Task<Void, any Error> {
            let count = peer.count(of: opcode)
            let call = story.begin { try await perform(opcode, on: connection) }
            try await story.settle { peer.count(of: opcode) > count }
            return call
        }

        /// Makes sure that a link gets the answers to what is asked there, which are `delay` late, and no other.
        func expectOwnAnswers(
            _ opcode: ATTOpcode, after delay: Duration, on connection: Connection,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let time = try await story.duration { try await perform(opcode, on: connection) }
            #expect(time >= delay, sourceLocation: sourceLocation)
            try await story.radio.sleep(for: .seconds(5))
            let isConnected = await connection.isConnected
            #expect(isConnected, sourceLocation: sourceLocation)
            let strays = try await connection.strayResponseCount()
            #expect(strays == 0, sourceLocation: sourceLocation)
        }
    }

    @Test func aConnectThatIsGivenUpAtAnyMomentSpoilsNoOther() async throws {
        try await LateStory.run { late in
            for milliseconds in stride(from: 0, through: 400, by: 10) {
                let attempt = late.story.begin { try await late.adapter.connect(to: late.address) }
                try await late.story.radio.sleep(for: .milliseconds(milliseconds))
                attempt.cancel()
                let end = await failure { await (try await attempt.value).disconnect() }
                #expect(end == nil || end?.code == .cancelled)
                let connection = try await late.adapter.connect(to: late.address)
                let error = await failure {
                    _ = try await connection.read(LatePeer.short)
                    _ = try await connection.discoverServices()
                }
                #expect(error == nil, "cancelled after \(milliseconds) ms")
                let strays = try await connection.strayResponseCount()
                #expect(strays == 0, "cancelled after \(milliseconds) ms")
                await connection.disconnect()
                try await late.story.settle { late.story.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    @Test(arguments: requests) func theNextLinkWaitsForTheAnswer(_ opcode: ATTOpcode) async throws {
        try await LateStory.run { late in
            let delay = Duration.milliseconds(150)
            let connection = try await late.connect()
            late.peer.delay(opcode, by: delay)
            let call = try await late.begin(opcode, on: connection)
            await connection.disconnect()
            let end1 = await failure { try await call.value }
            #expect(end1?.code == .disconnected)
            let time = try await late.story.duration {
                let next = try await late.connect()
                try await late.expectOwnAnswers(opcode, after: delay, on: next)
                await next.disconnect()
            }
            // The link is the same: waiting for the kernel to drop it takes longer.
            #expect(late.peer.linkCount == 1)
            #expect(time < .seconds(7))
        }
    }

    @Test(arguments: requests) func anAnswerThatIsTooLateFindsNoLink(_ opcode: ATTOpcode) async throws {
        try await LateStory.run { late in
            let connection = try await late.connect()
            late.peer.delay(opcode, by: .seconds(1))
            let call = try await late.begin(opcode, on: connection)
            await connection.disconnect()
            let end2 = await failure { try await call.value }
            #expect(end2?.code == .disconnected)
            late.peer.delay(nil)
            var next: Connection?
            let time = try await late.story.duration { next = try await late.connect() }
            #expect(time < .milliseconds(2800))
            #expect(late.peer.linkCount == 2)
            try await late.expectOwnAnswers(opcode, after: .zero, on: try #require(next))
        }
    }

    @Test(arguments: requests) func whoLetsGoOfALinkSpoilsNoOther(_ opcode: ATTOpcode) async throws {
        try await LateStory.run { late in
            let delay = Duration.milliseconds(150)
            do {
                let connection = try await late.connect()
                late.peer.delay(opcode, by: delay)
                let call = try await late.begin(opcode, on: connection)
                call.cancel()
                let end3 = await failure { try await call.value }
                #expect(end3?.code == .cancelled)
            }
            let next = try await late.connect()
            try await late.expectOwnAnswers(opcode, after: delay, on: next)
        }
    }

    @Test func whatWasPreparedIsForgottenBeforeTheNextLink() async throws {
        try await LateStory.run { late in
            let connection = try await late.connect()
            late.peer.delay(.prepareWriteRequest, by: .milliseconds(100))
            let call = try await late.begin(.prepareWriteRequest, on: connection)
            await connection.disconnect()
            let end4 = await failure { try await call.value }
            #expect(end4?.code == .disconnected)
            late.peer.delay(nil)
            let next = try await late.connect()
            #expect(late.peer.count(of: .executeWriteRequest) == 1)
            #expect(late.peer.linkCount == 1)
            try await late.expectOwnAnswers(.prepareWriteRequest, after: .zero, on: next)
        }
    }

    @Test func anAnswerThatNeverComesEndsOneLinkOnly() async throws {
        try await LateStory.run { late in
            let connection = try await late.connect()
            late.peer.delay(.readRequest, by: .milliseconds(30_500))
            let end5 = await failure { _ = try await connection.read(LatePeer.short) }
            #expect(end5?.code == .timedOut)
            late.peer.delay(nil)
            let next = try await late.connect()
            #expect(late.peer.linkCount == 2)
            try await late.expectOwnAnswers(.readRequest, after: .zero, on: next)
        }
    }

    @Test func aDeviceThatWaitsForAnAnswerGetsANewLink() async throws {
        try await LateStory.run { late in
            let asked = AsyncStream.makeStream(of: Void.self)
            let services = try await late.adapter.publish(
                [GATTService(0xFFF3, characteristics: [GATTCharacteristic(0xFFF4, properties: [.read])])],
                handlers: AttributeHandlers(read: { _ in
                    asked.continuation.yield()
                    try await late.story.radio.sleep(for: .seconds(10))
                    return []
                }))
            let handle = try #require(services.handle(of: 0xFFF4))
            let connection = try await late.connect()
            late.peer.send([0x0A, UInt8(handle.rawValue), 0])
            for await _ in asked.stream { break }
            await connection.disconnect()
            let time = try await late.story.duration { _ = try await late.connect() }
            #expect(time < .milliseconds(2800))
            #expect(late.peer.linkCount == 2)
        }
    }

    @Test func theEndOfTheLinkEndsTheWait() async throws {
        try await Story.run { story in
            let peer = try LatePeer()
            let peripheral = peer.peripheral(on: story.radio)
            let adapter = try await Adapter.open(on: story.kernel)
            for milliseconds in [100, 1000] {
                let connection = try await adapter.connect(to: peripheral.address)
                peer.delay(.readRequest, by: .seconds(20))
                let call = story.begin { _ = try await connection.read(LatePeer.short) }
                let count = peer.count(of: .readRequest)
                try await story.settle { peer.count(of: .readRequest) > count }
                await connection.disconnect()
                let end6 = await failure { try await call.value }
                #expect(end6?.code == .disconnected)
                let next = story.begin { try await adapter.connect(to: peripheral.address) }
                try await story.radio.sleep(for: .milliseconds(milliseconds))
                let time = try await story.duration {
                    peripheral.disconnect()
                    await (try await next.value).disconnect()
                }
                #expect(time < .milliseconds(500), "after \(milliseconds) ms")
                try await story.settle { story.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    /// Another program has kept the link beyond the time that it is waited for, and lets it go when it is used again.
    @Test func aLinkThatEndsWhenItIsUsedAgainIsMadeAnew() async throws {
        try await Story.run { story in
            let peer = try LatePeer()
            let peripheral = peer.peripheral(on: story.radio)
            peripheral.setService(0x80, receiveMTU: 64)
            let kernel = FaultingKernel(story.kernel)
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let own = adapter.information.address
            let channel = try await story.kernel.onLoop {
                try story.kernel.connectL2CAP(
                    to: peripheral.address, channel: .dynamic(psm: 0x80), from: own, options: L2CAPOptions()
                ) { _ in }
            }
            try await story.radio.sleep(for: .seconds(1))
            peer.delay(.readRequest, by: .seconds(20))
            let call = story.begin { _ = try await connection.read(LatePeer.short) }
            try await story.settle { peer.count(of: .readRequest) == 1 }
            await connection.disconnect()
            let end = await failure { try await call.value }
            #expect(end?.code == .disconnected)
            peer.delay(nil)
            let address = ManagementAddress(peripheral.address)
            let management = await adapter.session.management
            kernel.arm(at: 0) {
                story.radio.loop.execute { management.value.post(.disconnect(address), to: 0) { _ in } }
            }
            var next: Connection?
            let time = try await story.duration { next = try await adapter.connect(to: peripheral.address) }
            #expect(time > .milliseconds(2500) && time < .milliseconds(3500))
            #expect(peer.linkCount == 2)
            let again = try #require(next)
            #expect(try await again.read(LatePeer.short) == [1])
            await again.disconnect()
            withExtendedLifetime(channel) {}
        }
    }

    /// The same where the link is protected before anything is asked.
    @Test func aLinkThatEndsWhileItIsProtectedIsMadeAnew() async throws {
        try await Story.run { story in
            let peer = try LatePeer()
            let peripheral = peer.peripheral(on: story.radio)
            peripheral.setService(0x80, receiveMTU: 64)
            peripheral.setSecurity(SimulatedSecurity())
            let adapter = try await Adapter.open(on: story.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let channel = try await connection.openChannel(psm: 0x80)
            peer.delay(.readRequest, by: .seconds(20))
            let call = story.begin { _ = try await connection.read(LatePeer.short) }
            try await story.settle { peer.count(of: .readRequest) == 1 }
            let start = story.radio.now
            await connection.disconnect()
            let end = await failure { try await call.value }
            #expect(end?.code == .disconnected)
            peer.delay(nil)
            let address = ManagementAddress(peripheral.address)
            let management = await adapter.session.management
            let timer = story.radio.loop.makeTimer {
                management.value.post(.disconnect(address), to: 0) { _ in }
            }
            timer.set(at: start.advanced(by: .milliseconds(2520)))
            var options = ConnectionOptions()
            options.security = .medium
            let next = try await adapter.connect(to: peripheral.address, options: options)
            #expect(peer.linkCount == 2)
            #expect(try await next.read(LatePeer.short) == [1])
            #expect(try await next.security().level == .medium)
            await next.disconnect()
            withExtendedLifetime((channel, timer)) {}
        }
    }

    @Test func anAdapterThatIsSwitchedOffWhileAnswersAreAwaited() async throws {
        try await LateStory.run { late in
            for milliseconds in stride(from: 0, through: 3000, by: 60) {
                let connection = try await late.connect()
                late.peer.delay(.readRequest, by: .milliseconds(milliseconds / 2))
                let call = try await late.begin(.readRequest, on: connection)
                await connection.disconnect()
                _ = await failure { try await call.value }
                late.peer.delay(nil)
                let next = late.story.begin { try await late.connect() }
                try await late.story.radio.sleep(for: .milliseconds(milliseconds))
                try await late.adapter.setPowered(false)
                let time = await late.story.duration {
                    _ = await failure { await (try await next.value).disconnect() }
                }
                #expect(time < .milliseconds(100), "after \(milliseconds) ms")
                try await late.adapter.setPowered(true)
                let again = try await late.connect()
                let strays = try await again.strayResponseCount()
                #expect(strays == 0, "after \(milliseconds) ms")
                #expect(try await again.read(LatePeer.short) == [1], "after \(milliseconds) ms")
                await again.disconnect()
                try await late.story.settle { late.story.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    @Test func whoWaitsForTheAnswerCanGiveUp() async throws {
        try await LateStory.run { late in
            let connection = try await late.connect()
            late.peer.delay(.readRequest, by: .seconds(1))
            let call = try await late.begin(.readRequest, on: connection)
            let time = try await late.story.duration {
                await connection.disconnect()
                let end7 = await failure { try await call.value }
                #expect(end7?.code == .disconnected)
                let next = late.story.begin { try await late.connect() }
                try await late.story.radio.sleep(for: .milliseconds(50))
                next.cancel()
                let end8 = await failure { _ = try await next.value }
                #expect(end8?.code == .cancelled)
            }
            #expect(time < .milliseconds(60))
        }
    }
}

extension Connection {
    /// How many responses came that answer nothing that was asked on this link.
    fileprivate func strayResponseCount() throws -> Int {
        try bearer(for: .init("look")).core.strayResponseCount
    }
}
