import BluetoothAdvertising
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Handles used by tasks that do not prefer the loop: reaching a component off its loop traps.
//
// In real time, as the virtual clock does not cover the thread pool.
@Suite struct ThreadPoolTests {
    private static func onThreadPool<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await body() }
    }

    @Test func channelsAreOpenedAndUsed() async throws {
        try await TwoMachines.run(time: .real) { machines in
            try await Self.onThreadPool {
                let listener = try await machines.peripheral.listen(psm: 0x0085)
                let options = ChannelOptions(timeout: nil)
                let here = try await machines.central.openChannel(to: machines.peer, psm: 0x0085, options: options)
                var accepted = listener.makeAsyncIterator()
                let there = try #require(try await accepted.next())
                try await here.write(pattern(3000))
                try await here.flush()
                #expect(try await there.read()?.isEmpty == false)
                try await there.send([1])
                #expect(try await here.read() == [1])
                await there.close()
                #expect(try await here.read() == nil)
                _ = await here.closed()
            }
        }
    }

    @Test func aConnectionOpensAChannel() async throws {
        try await TwoMachines.run(time: .real) { machines in
            let listener = try await machines.peripheral.listen(psm: 0x0085)
            try await Self.onThreadPool {
                var options = ConnectionOptions()
                options.timeout = nil
                let connection = try await machines.central.connect(to: machines.peer, options: options)
                let channel = try await connection.openChannel(psm: 0x0085, options: ChannelOptions(timeout: nil))
                #expect(await channel.isOpen)
                await connection.disconnect()
                await channel.close()
            }
            withExtendedLifetime(listener) {}
        }
    }

    @Test func advertisingBeginsChangesAndEnds() async throws {
        try await TwoMachines.run(time: .real) { machines in
            try await Self.onThreadPool {
                let set = try await machines.central.advertise(AdvertisementContent(localName: "one"))
                try await set.update(AdvertisementContent(localName: "two"))
                await set.close()
                #expect(try await machines.central.removeForeignAdvertising() == 0)
            }
        }
    }

    @Test func aConnectionIsMaintained() async throws {
        try await TwoMachines.run(time: .real) { machines in
            try await Self.onThreadPool {
                let kept = machines.central.keepConnected(to: machines.peer)
                let connection = try await kept.connected(timeout: nil)
                #expect(await kept.connection === connection)
                var events = await kept.events().makeAsyncIterator()
                #expect(try await events.next() != nil)
                // It waits for the link's end from here as well.
                await kept.disconnect()
                #expect(await !connection.isConnected)
                #expect(machines.kernel.links(adapter: 0).isEmpty)
            }
        }
    }

    @Test func anAdapterIsOpenedAndItsPowerSwitched() async throws {
        try await Fixture.run(time: .real) { fixture in
            try await Self.onThreadPool {
                let kernel = fixture.kernel
                #expect(try await Adapter.all(on: kernel).count == 1)
                var changes = try await Adapter.changes(on: kernel).makeAsyncIterator()
                #expect(try await changes.next() != nil)
                #expect(await Diagnosis.run(on: kernel).adapters.count == 1)
                let adapter = try await Adapter.open(power: .powerOn, on: kernel)
                try await adapter.setPowered(false)
                try await adapter.setPowered(true)
                try await adapter.ready(timeout: nil)
                _ = try await adapter.publish([GATTService("180F") {}])
            }
        }
    }
}
