import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Kept connections whose device, link or adapter changes.
@Suite struct ReconnectionChangeTests {
    private static let level: BluetoothUUID = 0x2A19
    private static let battery: BluetoothUUID = 0x180F

    /// The next element of a stream; its end is an error.
    private func next(
        _ iterator: inout BoundedStream<KeptConnection.Update>.Iterator
    ) async throws -> KeptConnection.Update? {
        try await iterator.next()
    }

    @Test func aCharacteristicThatMovesIsSubscribedToWhereItIs() async throws {
        try await CachingTests.run { fixture in
            let kept = fixture.adapter.keepConnected(to: fixture.peripheral.address)
            let notices = try await kept.subscribe(to: Self.level, in: Self.battery)
            var iterator = notices.makeAsyncIterator()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let before = try #require(fixture.server.handle(of: Self.level, in: Self.battery))
            await fixture.server.notify([8], of: before)
            #expect(try await next(&iterator) == .value([8]))

            let connection = try await kept.connected()
            let range = try #require(try await connection.discover().service(Self.battery)?.handles)
            try fixture.server.change(removing: range, adding: [CachingTests.other, CachingTests.battery])
            #expect(try await next(&iterator)?.interruption?.code == .attributesChanged)
            #expect(try await next(&iterator) == .resumed)
            let after = try #require(fixture.server.handle(of: Self.level, in: Self.battery))
            #expect(after != before)
            await fixture.server.notify([7], of: after)
            #expect(try await next(&iterator) == .value([7]))
            // All on the same link.
            #expect(await connection.isConnected)
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func aCharacteristicThatStaysIsLeftAlone() async throws {
        try await CachingTests.run { fixture in
            let kept = fixture.adapter.keepConnected(to: fixture.peripheral.address)
            let notices = try await kept.subscribe(to: Self.level, in: Self.battery)
            var iterator = notices.makeAsyncIterator()
            try await fixture.base.radio.sleep(for: .seconds(1))
            try fixture.server.change(adding: [CachingTests.other])
            try await fixture.base.radio.sleep(for: .seconds(5))
            let handle = try #require(fixture.server.handle(of: Self.level, in: Self.battery))
            await fixture.server.notify([6], of: handle)
            #expect(try await next(&iterator) == .value([6]))
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func aCharacteristicThatGoesEndsItsStream() async throws {
        try await CachingTests.run { fixture in
            let kept = fixture.adapter.keepConnected(to: fixture.peripheral.address)
            let notices = try await kept.subscribe(to: Self.level, in: Self.battery)
            var iterator = notices.makeAsyncIterator()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let connection = try await kept.connected()
            let range = try #require(try await connection.discover().service(Self.battery)?.handles)
            try fixture.server.change(removing: range)
            try #require(try await next(&iterator)?.interruption != nil)
            let end = await failure { _ = try await iterator.next() }
            #expect(end?.code == .notFound)
            await kept.disconnect(timeout: .zero)
        }
    }

    @Test func theNextLinkAsksForTheHashAndSubscribes() async throws {
        try await CachingTests.run { fixture in
            let kept = fixture.adapter.keepConnected(to: fixture.peripheral.address)
            let notices = try await kept.subscribe(to: Self.level, in: Self.battery)
            var iterator = notices.makeAsyncIterator()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let count = try await fixture.count {
                fixture.peripheral.disconnect()
                try #require(try await next(&iterator)?.interruption != nil)
                #expect(try await next(&iterator) == .resumed)
            }
            // MTU, hash, configuration, client features, Service Changed: a request and a response each.
            #expect(count == 10)
            await kept.disconnect(timeout: .zero)
        }
    }

    /// At every packet of connecting, discovering, subscribing and the first value.
    @Test(arguments: [Fault.cutLink, .disconnectByPeer, .unplug, .powerOff, .block])
    func whateverHappensTheSubscriptionComesBack(_ fault: Fault) async throws {
        let packets = try await run(nil, at: nil)
        #expect(packets >= 8)
        for index in 0..<packets { _ = try await run(fault, at: index) }
    }

    /// Runs until a value has arrived after the fault; returns the number of packets.
    private func run(_ fault: Fault?, at index: Int?) async throws -> Int {
        let count = Mutex(0)
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer(CachingTests.genericAttribute(.everything) + [CachingTests.battery])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let kernel = FaultingKernel(fixture.kernel)
            let remains = Remains()
            do {
                let adapter = try await Adapter.open(power: .keepOn, on: kernel)
                remains.keep(adapter)
                let address = adapter.information.publicAddress
                kernel.arm(at: index) {
                    fault?.happen(to: nil, of: peripheral, during: nil, fixture)
                    guard fault == .unplug || fault == .block else { return }
                    _ = fixture.begin {
                        try await fixture.radio.sleep(for: .seconds(3))
                        if fault == .block {
                            fixture.kernel.setRadioSwitch(adapter: 0)
                        } else {
                            fixture.kernel.plug(SimulatedController(address: address))
                        }
                    }
                }
                let kept = adapter.keepConnected(to: peripheral.address)
                remains.keep(kept)
                let value = try await Self.firstValue(of: kept, server, fixture)
                #expect(value == [5], "\(String(describing: fault)) at \(String(describing: index))")
                count.withLock { $0 = kernel.count }
                kernel.arm(at: nil) {}
                await kept.disconnect(timeout: .zero)
                await adapter.close()
            }
            try await fixture.settle { remains.isEmpty && fixture.kernel.links(adapter: 0).isEmpty }
            #expect(remains.isEmpty, "\(String(describing: fault)) at \(String(describing: index)) leaks")
        }
        return count.withLock { $0 }
    }

    /// Subscribes, once more if the first attempt fails, and lets the device notify until a value arrives.
    private static func firstValue(
        of kept: KeptConnection, _ server: SimulatedGATTServer, _ fixture: Fixture
    ) async throws -> [UInt8]? {
        let handle = try #require(server.handle(of: level, in: battery))
        var attempts = 0
        while true {
            do throws(BluetoothError) {
                let notices = try await kept.subscribe(to: level, in: battery, timeout: .seconds(120))
                let sender = fixture.begin {
                    while true {
                        await server.notify([5], of: handle)
                        try await fixture.radio.sleep(for: .seconds(1))
                    }
                }
                defer { sender.cancel() }
                for try await case .value(let value) in notices { return value }
                return nil
            } catch {
                attempts += 1
                guard attempts < 3 else { throw error }
            }
        }
    }
}
