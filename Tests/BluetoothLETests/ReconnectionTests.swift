import BluetoothLoop
import BluetoothSimulation
import BluetoothSockets
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct ReconnectionTests {
    private static let service: BluetoothUUID = 0xFFF0

    /// Runs `body` with a notifying device and an adapter.
    private func run(
        _ body: @escaping @Sendable (Fixture, Adapter, SimulatedPeripheral, SimulatedGATTServer) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    Self.service,
                    characteristics: [GATTCharacteristic(0xFFF3, properties: [.notify], value: .stored([0]))])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            try await body(fixture, try await Adapter.open(on: fixture.kernel), peripheral, server)
        }
    }

    private func isConnected(_ event: KeptConnection.Event?) -> Bool {
        event?.connected != nil
    }

    @Test func aLinkThatEndsIsMadeAgain() async throws {
        try await run { fixture, adapter, peripheral, _ in
            let kept = adapter.keepConnected(to: peripheral.address)
            var events = await kept.events().makeAsyncIterator()
            for round in 1...3 {
                var event = try await events.next()
                guard event?.connecting == 1 else {
                    Issue.record("round \(round) begins with \(String(describing: event))")
                    return
                }
                event = try await events.next()
                #expect(isConnected(event))
                try await fixture.radio.sleep(for: .seconds(10))
                peripheral.disconnect()
                event = try await events.next()
                guard let reason = event?.disconnected else {
                    Issue.record("no end but \(String(describing: event))")
                    return
                }
                #expect(reason.disconnectReason == .remote)
            }
            await kept.disconnect(timeout: .zero)
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
            let error = await failure { while try await events.next() != nil {} }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func aDeviceIsKeptConnectedByItsAdvertisement() async throws {
        try await run { fixture, adapter, peripheral, _ in
            var found = try await adapter.firstAdvertisement { $0.address == peripheral.address }
            let kept = try adapter.keepConnected(to: found)
            #expect(kept.peer == peripheral.address)
            _ = try await kept.connected()
            await kept.disconnect()
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
            found.isConnectable = false
            #expect(await failureCode { _ = try adapter.keepConnected(to: found) } == .invalidArgument)
            found.address = nil
            #expect(await failureCode { _ = try adapter.keepConnected(to: found) } == .invalidArgument)
        }
    }

    @Test func aDeviceThatIsAwayIsWaitedForWithoutTryingAgain() async throws {
        try await run { fixture, adapter, peripheral, _ in
            peripheral.setHidden(true)
            let kept = adapter.keepConnected(to: peripheral.address)
            let events = await kept.events()
            try await fixture.radio.sleep(for: .seconds(500))
            peripheral.setHidden(false)
            let connection = try await kept.connected()
            #expect(await connection.isConnected)
            var seen = 0
            for try await event in events {
                seen += 1
                if event.connected != nil { break }
            }
            #expect(seen == 2)
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func subscriptionsOutliveTheLinkAndTellTheGap() async throws {
        try await run { fixture, adapter, peripheral, server in
            let handle = try #require(server.handle(of: 0xFFF3, in: Self.service))
            let kept = adapter.keepConnected(to: peripheral.address)
            let notices = try await kept.subscribe(to: 0xFFF3, in: Self.service)
            var iterator = notices.makeAsyncIterator()
            for round in 1...3 as ClosedRange<UInt8> {
                await server.notify([round], of: handle)
                let value = try await iterator.next()
                #expect(value == .value([round]))
                peripheral.breakLinks(reason: .connectionTimeout)
                #expect(try await iterator.next()?.interruption?.disconnectReason == .supervisionTimeout)
                let resumed = try await iterator.next()
                #expect(resumed == .resumed)
            }
            await kept.disconnect(timeout: .zero)
            let error = await failure { while try await iterator.next() != nil {} }
            #expect(error?.code == .cancelled)
        }
    }

    /// Its attempt has failed: what is connected has its subscriptions.
    @Test func aLinkThatEndsBeforeItsSubscriptionsAreRestoredWasNotUp() async throws {
        try await run { fixture, adapter, peripheral, server in
            let kept = adapter.keepConnected(to: peripheral.address)
            let values = try await kept.subscribe(to: 0xFFF3, in: Self.service)
            let events = await kept.events()
            try await fixture.radio.sleep(for: .seconds(10))
            server.onSubscription { _, _, link in link.disconnect() }
            peripheral.disconnect()
            var seen: [String] = []
            for try await event in events {
                if let attempt = event.connecting { seen.append("connecting \(attempt)") }
                if event.disconnected != nil { seen.append("disconnected") }
                if event.failed != nil {
                    seen.append("failed")
                    server.onSubscription { _, _, _ in }
                }
                if event.connected != nil { seen.append("connected") }
                if seen.count > 1, event.connected != nil { break }
            }
            #expect(seen == ["connected", "disconnected", "connecting 1", "failed", "connecting 2", "connected"])
            await kept.disconnect(timeout: .zero)
            withExtendedLifetime(values) {}
        }
    }

    @Test func aCharacteristicThatIsNotThereIsNotFound() async throws {
        try await run { _, adapter, peripheral, _ in
            let kept = adapter.keepConnected(to: peripheral.address)
            let error = await failure { _ = try await kept.subscribe(to: 0x1234, in: Self.service) }
            #expect(error?.code == .notFound)
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func failuresAreFurtherAndFurtherApartAndAreGivenUp() async throws {
        try await run { fixture, adapter, peripheral, _ in
            peripheral.setRefusal(.connectionFailedToBeEstablished)
            let kept = adapter.keepConnected(
                to: peripheral.address, options: ConnectionOptions(attempts: 1),
                policy: ReconnectionPolicy(jitter: 0, maximumFailures: 5))
            var delays: [Duration] = []
            let error = await failure {
                for try await event in await kept.events() {
                    if let (_, delay) = event.failed { delays.append(delay) }
                }
            }
            #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)])
            #expect(error?.code == .connectionFailed)
            let late = await failure { _ = try await kept.connected() }
            #expect(late?.code == .connectionFailed)
        }
    }

    @Test(arguments: Ending.allCases) func anAdapterThatComesBackGoesOn(_ ending: Ending) async throws {
        try await run { fixture, _, peripheral, _ in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            let kept = adapter.keepConnected(to: peripheral.address)
            _ = try await kept.connected()
            let address = adapter.information.publicAddress
            ending.happen(to: fixture.kernel)
            try await fixture.radio.sleep(for: .seconds(20))
            switch ending {
            case .powerOff: break
            case .unplug: fixture.kernel.plug(SimulatedController(address: address))
            case .block: fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: false)
            }
            let again = try await kept.connected(timeout: .seconds(120))
            #expect(await again.isConnected)
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func anAdapterThatIsNotWaitedForEndsIt() async throws {
        try await run { fixture, adapter, peripheral, _ in
            let kept = adapter.keepConnected(
                to: peripheral.address, policy: ReconnectionPolicy(waitsForAdapter: false))
            _ = try await kept.connected()
            let events = await kept.events()
            fixture.kernel.setPowered(false, adapter: 0)
            let error = await failure { for try await _ in events {} }
            #expect(error != nil)
        }
    }

    /// Another attempt would not help: the program has to mend it.
    @Test(arguments: [ErrorNumber.notPermitted, .addressFamilyNotSupported])
    func whatNoAttemptChangesEndsIt(_ number: ErrorNumber) async throws {
        try await run { fixture, adapter, peripheral, _ in
            let kept = adapter.keepConnected(to: peripheral.address)
            _ = try await kept.connected()
            let events = await kept.events()
            fixture.kernel.socketError = KernelError("socket", number)
            peripheral.disconnect()
            let error = await failure { for try await _ in events {} }
            #expect(error?.code == (number == .notPermitted ? .notPermitted : .noBluetooth))
            fixture.kernel.socketError = nil
            let late = await failureCode { _ = try await kept.connected() }
            #expect(late == error?.code)
            let next = adapter.keepConnected(to: peripheral.address)
            _ = try await next.connected()
            await next.disconnect(timeout: .zero)
        }
    }

    @Test func whatIsDroppedEnds() async throws {
        try await run { fixture, adapter, peripheral, _ in
            do {
                let kept = adapter.keepConnected(to: peripheral.address)
                _ = try await kept.connected()
            }
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
            peripheral.setHidden(true)
            // On the loop it ends before it begins.
            await Closer(on: fixture.radio.loop).keepAndDisconnect(peripheral.address, by: adapter)
            do {
                _ = adapter.keepConnected(to: peripheral.address)
                try await fixture.radio.sleep(for: .seconds(1))
            }
            try await fixture.settle { await adapter.session.connectCount == 0 }
        }
    }

    @Test func aStreamThatIsKeptKeepsNoAdapter() async throws {
        try await run { fixture, _, peripheral, _ in
            let life: SessionLife
            let notices: BoundedStream<KeptConnection.Update>
            do {
                let adapter = try await Adapter.open(on: fixture.kernel)
                life = SessionLife(session: adapter.session)
                let kept = adapter.keepConnected(to: peripheral.address)
                notices = try await kept.subscribe(to: 0xFFF3, in: Self.service)
                await kept.disconnect(timeout: .zero)
            }
            try await fixture.settle { life.isOver }
            withExtendedLifetime(notices) {}
        }
    }

    /// Tasks on the loop see it at once.
    @Test func theLinkHasEndedWhenTheAdapterIsClosed() async throws {
        try await run { fixture, adapter, peripheral, _ in
            let kept = adapter.keepConnected(to: peripheral.address)
            let user = Closer(on: fixture.radio.loop)
            let connection = try await kept.connected()
            #expect(await !user.isConnected(connection, afterClosing: adapter))
        }
    }

    private actor Closer: LoopActor {
        nonisolated let loop: EventLoop

        init(on loop: EventLoop) { self.loop = loop }

        func isConnected(_ connection: Connection, afterClosing adapter: Adapter) async -> Bool {
            await adapter.close()
            return await connection.isConnected
        }

        func keepAndDisconnect(_ peer: BluetoothAddress, by adapter: Adapter) async {
            await adapter.keepConnected(to: peer).disconnect()
        }
    }

    @Test(arguments: ["connected", "connecting", "waiting"])
    func closingTheAdapterEndsEverything(_ standing: String) async throws {
        try await run { fixture, adapter, peripheral, _ in
            if standing == "connecting" { peripheral.setHidden(true) }
            if standing == "waiting" { peripheral.setRefusal(.connectionFailedToBeEstablished) }
            let kept = adapter.keepConnected(
                to: peripheral.address, policy: ReconnectionPolicy(initialDelay: .seconds(60)))
            let waiting = fixture.begin { try await kept.connected(timeout: nil) }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await (kept.connection != nil) == (standing == "connected"))
            var events = await kept.events().makeAsyncIterator()
            _ = try await events.next()
            await adapter.close()
            #expect(await failure { _ = try await events.next() }?.code == .cancelled)
            #expect(await failure { _ = try await kept.connected() }?.code == .cancelled)
            if standing != "connected" {
                #expect(await failure { _ = try await waiting.value }?.code == .cancelled)
            }
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
            #expect(await adapter.session.connectCount == 0)
        }
    }

    @Test func delaysGrowWithinTheirBoundsWhateverThePolicySays() {
        let policies = [
            ReconnectionPolicy(), ReconnectionPolicy(initialDelay: .seconds(-5), multiplier: -1, jitter: 9),
            ReconnectionPolicy(
                initialDelay: .seconds(Int64.max), multiplier: .infinity, maximumDelay: .seconds(Int64.max)),
            ReconnectionPolicy(initialDelay: .zero, multiplier: .nan, jitter: .nan),
        ]
        for policy in policies {
            for failures in [Int.min, -1, 0, 1, 2, 63, 64, 1000, Int.max] {
                for chance in [0, 1, UInt64.max / 2, .max] {
                    let delay = policy.delay(afterFailures: failures, chance: chance)
                    #expect(delay >= .zero)
                    if failures <= 0 { #expect(delay == .zero) }
                }
            }
        }
        let policy = ReconnectionPolicy()
        #expect(policy.delay(afterFailures: 100, chance: 0) == .seconds(48))
        #expect(policy.delay(afterFailures: 100, chance: .max) <= .seconds(72))
        #expect(policy.delay(afterFailures: 1, chance: 1 << 63) == .milliseconds(500))
    }
}

extension KeptConnection.Update {
    /// Why values are missing.
    var interruption: BluetoothError? { if case .interrupted(let reason) = self { reason } else { nil } }
}
