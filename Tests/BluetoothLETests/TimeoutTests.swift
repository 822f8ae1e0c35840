import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// The time limits of calls: the default, another, and none.
@Suite struct TimeoutTests {
    private typealias Call = @Sendable (Connection) async throws -> Void

    /// Runs `body` with a connection to a device that takes 20 s for each response, at an ATT_MTU of 23.
    private static func withSlowDevice(
        _ body: @escaping @Sendable (Fixture, Connection) async throws -> Void
    ) async throws {
        try await Fixture.run(limit: .seconds(7200)) { fixture in
            let loop = fixture.radio.loop
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in SlowServer(pause: .seconds(20), on: loop) }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            try await body(fixture, connection)
            #expect(await connection.isConnected)
            await connection.disconnect()
        }
    }

    @Test("a read of 23 requests outlasts the default without a time limit, and ends at one")
    func severalRequests() async throws {
        try await Self.withSlowDevice { fixture, connection in
            let whole = try await fixture.duration {
                let value = try await connection.read(AttributeHandle(3), timeout: nil)
                #expect(value.count == 485)
            }
            #expect(whole >= .seconds(460) && whole < .seconds(470), "\(whole)")
            let calls: [Call] = [
                { _ = try await $0.read(AttributeHandle(3)) },
                { _ = try await $0.read(AttributeHandle(3), timeout: .seconds(310)) },
                { _ = try await $0.read(AttributeHandle(3), timeout: .seconds(10)) },
                { _ = try await $0.discoverServices(timeout: .seconds(310)) },
            ]
            for (call, limit) in zip(calls, [300, 310, 10, 310]) {
                let time = await fixture.duration {
                    let error = await failure { try await call(connection) }
                    #expect(error?.code == .timedOut)
                }
                #expect(time == .seconds(limit))
                // The last request is still outstanding.
                try await fixture.radio.sleep(for: .seconds(30))
            }
        }
    }

    @Test("discoveries without a time limit go on after the default one")
    func discoveries() async throws {
        try await Self.withSlowDevice { fixture, connection in
            let calls: [Call] = [
                { _ = try await $0.discover(timeout: nil) }, { _ = try await $0.discoverServices(timeout: nil) },
            ]
            for call in calls {
                let hasEnded = Mutex(false)
                let calling = fixture.begin {
                    defer { hasEnded.withLock { $0 = true } }
                    try await call(connection)
                }
                try await fixture.radio.sleep(for: .seconds(400))
                let isOver = hasEnded.withLock { $0 }
                #expect(!isOver)
                calling.cancel()
                #expect(await failure { try await calling.value }?.code == .cancelled)
                try await fixture.radio.sleep(for: .seconds(30))
            }
        }
    }

    @Test("a time limit includes the wait behind other calls")
    func waitingCalls() async throws {
        try await Self.withSlowDevice { fixture, connection in
            let endless = fixture.begin { _ = try await connection.discoverServices(timeout: nil) }
            let calls: [Call] = [
                { _ = try await $0.read(AttributeHandle(3), timeout: .seconds(40)) },
                { try await $0.write([1], to: AttributeHandle(3)) },
            ]
            for (call, limit) in zip(calls, [40, 300]) {
                let time = await fixture.duration {
                    let error = await failure { try await call(connection) }
                    #expect(error?.code == .timedOut)
                }
                #expect(time == .seconds(limit))
            }
            endless.cancel()
            _ = await endless.result
            try await fixture.radio.sleep(for: .seconds(30))
        }
    }

    /// Two requests find the characteristic, and another reads its first bytes.
    @Test("a time limit is for all steps of a call together")
    func steps() async throws {
        try await Self.withSlowDevice { fixture, connection in
            let time = await fixture.duration {
                let error = await failure { _ = try await connection.read(0x2A19, in: 0x180F, timeout: .seconds(50)) }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(50))
            try await fixture.radio.sleep(for: .seconds(30))
        }
    }

    /// What is known from an earlier link is confirmed by one request before it is searched for.
    @Test("a time limit includes the search for what has moved")
    func movedCharacteristics() async throws {
        try await Fixture.run(limit: .seconds(7200)) { fixture in
            let loop = fixture.radio.loop
            let former = SimulatedPeripheral(
                on: fixture.radio,
                gatt: try SimulatedGATTServer([
                    GATTService(
                        0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([97]))])
                ]))
            let adapter = try await Adapter.open(on: fixture.kernel)
            let first = try await adapter.connect(to: former.address)
            _ = try await first.discover()
            await first.disconnect()
            former.remove()
            let present = SimulatedPeripheral(on: fixture.radio, address: former.address) { _ in
                SlowServer(pause: .seconds(20), on: loop)
            }
            let connection = try await adapter.connect(to: present.address)
            let time = await fixture.duration {
                let error = await failure { _ = try await connection.read(0x2A19, in: 0x180F, timeout: .seconds(50)) }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(50))
            try await fixture.radio.sleep(for: .seconds(30))
            await connection.disconnect()
        }
    }

    @Test("the time limit of a kept connection's subscription is for the link and for the device together")
    func keptSubscriptions() async throws {
        try await Fixture.run(limit: .seconds(7200)) { fixture in
            let loop = fixture.radio.loop
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in SlowServer(pause: .seconds(20), on: loop) }
            peripheral.setHidden(true)
            let kept = try await Adapter.open(on: fixture.kernel).keepConnected(to: peripheral.address)
            let appearing = fixture.begin {
                try await fixture.radio.sleep(for: .seconds(20))
                peripheral.setHidden(false)
            }
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await kept.subscribe(to: 0x2A19, in: 0x180F, timeout: .seconds(50))
                }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(50))
            try await appearing.value
            await kept.disconnect(timeout: .zero)
        }
    }

    /// The device takes 80 s to say that it has no enhanced bearers.
    @Test("a kept connection waits for enhanced bearers as long as for a link, and does without")
    func enhancedBearers() async throws {
        try await Fixture.run(limit: .seconds(7200)) { fixture in
            let loop = fixture.radio.loop
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in SlowServer(pause: .seconds(20), on: loop) }
            peripheral.setSecurity(SimulatedSecurity())
            var options = ConnectionOptions(timeout: .seconds(30))
            options.security.level = .medium
            options.enhancedBearers = 1
            let adapter = try await Adapter.open(on: fixture.kernel)
            let kept = adapter.keepConnected(to: peripheral.address, options: options)
            let time = try await fixture.duration {
                let security = try await kept.connected(timeout: .seconds(200)).security()
                #expect(security.level == .medium)
            }
            #expect(time >= .seconds(30) && time < .seconds(40), "\(time)")
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test("an adapter that is off is waited for for 30 s, or without a limit")
    func ready() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.settle { !adapter.state.isReady }
            let time = await fixture.duration {
                #expect(await failure { try await adapter.ready() }?.code == .adapterOff)
            }
            #expect(time == .seconds(30))
            let waiting = fixture.begin { try await adapter.ready(timeout: nil) }
            try await fixture.radio.sleep(for: .seconds(100))
            fixture.kernel.setPowered(true, adapter: 0)
            try await waiting.value
        }
    }

    @Test("a connect without a limit waits for a link's end as long as it takes")
    func slots() async throws {
        var controller = SimulatedController()
        controller.maximumLinks = 1
        try await Fixture.run([controller], limit: .seconds(7200)) { fixture in
            let (one, two) = (try fixture.makePeripheral(), try fixture.makePeripheral())
            let adapter = try await Adapter.open(on: fixture.kernel)
            let held = try await adapter.connect(to: one.address)
            let waiting = fixture.begin {
                try await adapter.connect(to: two.address, options: ConnectionOptions(slotTimeout: nil))
            }
            try await fixture.radio.sleep(for: .seconds(2000))
            await held.disconnect(timeout: nil)
            #expect(!fixture.kernel.links(adapter: 0).contains(one.address))
            await (try await waiting.value).disconnect()
        }
    }

    @Test("a value for all subscribers waits for the slowest link, for 5 s or without a limit")
    func notifications() async throws {
        try await PeripheralFixture.run(centrals: 1) { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let link = try await fixture.connect()
            let values = try await link.subscribe(to: try await link.found(0xFFF1, in: 0xFFF0))
            let receiving = fixture.base.begin { for try await _ in values {} }
            let (radio, kernel) = (fixture.base.radio, fixture.kernel)
            let address = fixture.centrals[0].information.address
            kernel.setSending(false, adapter: 0, to: address)
            let waiting = fixture.base.begin {
                var longest = Duration.zero
                // Until the kernel's buffer has been full; it holds 200 kB.
                for _ in 0..<10_000 where longest < .seconds(6) {
                    let start = radio.now
                    let deliveries = try await published.notify(
                        [UInt8](repeating: 0, count: 100), of: PeripheralFixture.value, timeout: nil)
                    for delivery in deliveries { _ = try delivery.result.get() }
                    longest = max(longest, start.duration(to: radio.now))
                }
                return longest
            }
            // Longer than the default, and not as long as a healthy controller keeps silent.
            try await radio.sleep(for: .seconds(8))
            kernel.setSending(true, adapter: 0, to: address)
            let longest = try await waiting.value
            #expect(longest > .seconds(6))
            receiving.cancel()
            await link.disconnect(timeout: .zero)
            await set.close()
            withExtendedLifetime(incoming) {}
        }
    }
}
