import BluetoothLE
import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

/// Serving in one call: between two machines.
@Suite struct ServingStories {
    @Test func servingEndsWithItsTask() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let serving = Task(executorPreference: fixture.base.radio.loop) {
                try await adapter.serve(PeripheralFixture.content) {
                    LocalService(0xFFF0) { LocalCharacteristic(0xFFF1, properties: .read, value: [1]) }
                }
            }
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(try await connection.read(value) == [1])
            serving.cancel()
            #expect(await failure { try await serving.value }?.code == .cancelled)
            // Service Changed has told the client that the value is gone.
            #expect(await failureCode { _ = try await connection.read(value) } == .attributesChanged)
            #expect(await fixture.instances() == [])
            await connection.disconnect()
        }
    }

    @Test func servingLastsAsLongAsItsWork() async throws {
        let rate = LocalCharacteristic(0x2A37, properties: .notify)
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let serving = Task(executorPreference: fixture.base.radio.loop) {
                try await adapter.serve(PeripheralFixture.content) {
                    LocalService(0x180D) { rate }
                } while: { published, connections in
                    for try await connection in connections {
                        for try await _ in await connection.peerSubscriptions() { break }
                        return try await published[rate].notify([6, 60]).count
                    }
                    return 0
                }
            }
            let connection = try await fixture.connect()
            let value = try await connection.found(0x2A37, in: 0x180D)
            var values = try await connection.subscribe(to: value).makeAsyncIterator()
            #expect(try await values.next() == [6, 60])
            #expect(try await serving.value == 1)
            #expect(await fixture.instances() == [])
            await connection.disconnect()
        }
    }

    /// Serves with a body that throws errors which are not of this library.
    private static func serve(
        on adapter: Adapter, while body: @escaping @Sendable () async throws -> Void
    ) async throws(BluetoothError) {
        try await adapter.serve(PeripheralFixture.content) {
            LocalService(0xFFF0)
        } while: { _, _ in
            try await body()
        }
    }

    @Test func whatItsWorkThrowsIsAnErrorOfTheLibrary() async throws {
        struct Stop: Error {}
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let stopped = await failure { try await Self.serve(on: adapter) { throw Stop() } }
            #expect(stopped?.code == .failed)
            #expect(stopped?.underlyingError is Stop)
            let sleeping = Task(executorPreference: fixture.base.radio.loop) {
                try await Self.serve(on: adapter) { try await Task.sleep(for: .seconds(3600)) }
            }
            _ = try #require(await fixture.isHeard())
            sleeping.cancel()
            #expect(await failure { try await sleeping.value }?.code == .cancelled)
            #expect(await fixture.instances() == [])
        }
    }

    @Test func servingEndsWhenAdvertisingIsTakenAway() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let isCancelled = Mutex(false)
            let serving = Task(executorPreference: fixture.base.radio.loop) {
                try await adapter.serve(PeripheralFixture.content) {
                    LocalService(0xFFF0) { LocalCharacteristic(0xFFF1, properties: .read, value: [1]) }
                } while: { _, connections in
                    do {
                        for try await _ in connections {}
                    } catch {
                        isCancelled.withLock { $0 = true }
                        throw error
                    }
                }
            }
            _ = try #require(await fixture.isHeard())
            let other = try await Adapter.open(on: fixture.kernel)
            try await other.sendToManagement(ManagementRemoveAdvertising(1), to: 0)
            #expect(await failure { try await serving.value }?.code == .busy)
            #expect(isCancelled.withLock { $0 })
            await other.close()
            // Nothing is left behind: the same services can be served again.
            let again = try await adapter.publish { LocalService(0xFFF0) }
            #expect(again.handles.start == 0x13)
        }
    }

    @Test func aBodyThatEndsQuietlyWhenCancelledDoesNotHideTheReason() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let serving = Task(executorPreference: fixture.base.radio.loop) {
                try await adapter.serve(PeripheralFixture.content) {
                    LocalService(0xFFF0)
                } while: { _, connections in
                    do { for try await _ in connections {} } catch {}
                }
            }
            _ = try #require(await fixture.isHeard())
            let other = try await Adapter.open(on: fixture.kernel)
            try await other.sendToManagement(ManagementRemoveAdvertising(1), to: 0)
            #expect(await failure { try await serving.value }?.code == .busy)
            await other.close()
        }
    }

    @Test func servingThatCannotAdvertiseLeavesNothing() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            let long = AdvertisementContent(
                localName: "n", services: (0..<40).map { BluetoothUUID(0xFF00 + UInt16($0)) })
            let error = await failure {
                try await adapter.serve(long) { LocalService(0xFFF0) }
            }
            #expect(error?.code == .invalidArgument)
            let other = try await adapter.publish { LocalService(0xFFF0) }
            #expect(other.handles.start == 0x11)
        }
    }
}
