import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Values that a peripheral sends periodically while somebody has subscribed.
@Suite struct PeriodicValueStories {
    /// A value that counts how often it was asked for.
    private final class Count: Sendable {
        private let count = Mutex<UInt8>(0)

        var value: UInt8 { count.withLock { $0 } }

        func next() -> UInt8 {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Runs a story with an adapter that publishes a characteristic, advertises, and logs.
    private static func run(
        centrals: Int = 1, _ characteristic: @escaping @Sendable (SimulatedRadio) -> LocalCharacteristic,
        _ story: @escaping @Sendable (PeripheralFixture, PublishedServices, LogRecorder) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run(centrals: centrals) { fixture in
            let (recorder, radio) = (LogRecorder(), fixture.base.radio)
            let logging = try await Adapter.open(
                configuration: AdapterConfiguration(log: recorder.log), on: fixture.kernel)
            let published = try await logging.publish { LocalService(0xFFF0) { characteristic(radio) } }
            let set = try await logging.advertise(PeripheralFixture.content)
            try await story(fixture, published, recorder)
            await set.close()
            await logging.close()
        }
    }

    /// The next values of a subscription that then ends.
    private static func values(_ count: Int, of connection: Connection) async throws -> [[UInt8]] {
        var values: [[UInt8]] = []
        for try await value in try await connection.subscribe(to: 0xFFF1, in: 0xFFF0) {
            values.append(value)
            if values.count == count { break }
        }
        return values
    }

    @Test func itIsAskedForWhileADeviceHasSubscribed() async throws {
        let count = Count()
        let periodic = LocalCharacteristic(0xFFF1, properties: [.read, .notify], value: [0])
            .notifying(every: .seconds(10)) { [count.next()] }
        try await Self.run({ _ in periodic }) { fixture, _, _ in
            let connection = try await fixture.connect()
            try await fixture.base.radio.sleep(for: .seconds(60))
            #expect(count.value == 0)
            let time = try await fixture.base.duration {
                let values = try await Self.values(3, of: connection)
                #expect(values == [[1], [2], [3]])
            }
            #expect(time > .seconds(20) && time < .seconds(22))
            let stored = try await connection.read(0xFFF1, in: 0xFFF0)
            #expect(stored == [3])
            try await fixture.base.radio.sleep(for: .seconds(60))
            #expect(count.value == 3)
            // The next subscriber does not wait for the rest of an interval.
            let again = try await fixture.base.duration {
                let values = try await Self.values(1, of: connection)
                #expect(values == [[4]])
            }
            #expect(again < .seconds(2))
            var left = try await connection.subscribe(to: 0xFFF1, in: 0xFFF0).makeAsyncIterator()
            let last = try await left.next()
            #expect(last == [5])
            await connection.disconnect()
            try await fixture.base.radio.sleep(for: .seconds(60))
            #expect(count.value == 5)
        }
    }

    @Test func aSubscriberThatLeavesDoesNotDisturbAnother() async throws {
        let count = Count()
        let periodic = LocalCharacteristic(0xFFF1, properties: [.notify, .indicate])
            .notifying(every: .seconds(10)) { [count.next()] }
        try await Self.run(centrals: 2, { _ in periodic }) { fixture, _, _ in
            let staying = try await fixture.connect(0)
            var values = try await staying.subscribe(to: 0xFFF1, in: 0xFFF0, kind: .indication).makeAsyncIterator()
            let first = try await values.next()
            #expect(first == [1])
            let leaving = try await fixture.connect(1)
            let shared = try await Self.values(1, of: leaving)
            #expect(shared == [[2]])
            let start = fixture.base.radio.now
            for expected: UInt8 in 2...4 {
                let value = try await values.next()
                #expect(value == [expected])
            }
            let time = start.duration(to: fixture.base.radio.now)
            #expect(time > .seconds(18) && time < .seconds(21))
        }
    }

    @Test func aSubscriberThatConfirmsLateDoesNotSlowDownAnother() async throws {
        let count = Count()
        let periodic = LocalCharacteristic(0xFFF1, properties: [.notify, .indicate])
            .notifying(every: .seconds(1)) { [count.next()] }
        try await Self.run(centrals: 2, { _ in periodic }) { fixture, _, _ in
            let (radio, kernel) = (fixture.base.radio, fixture.kernel)
            let good = try await fixture.connect(0)
            let (late, address) = (try await fixture.connect(1), fixture.centrals[1].information.address)
            let values = try await good.subscribe(to: 0xFFF1, in: 0xFFF0, kind: .notification)
            let indications = try await late.subscribe(to: 0xFFF1, in: 0xFFF0, kind: .indication)
            let received = Count()
            let receiving = fixture.base.begin { for try await _ in values { _ = received.next() } }
            // Its link sends nothing for most of the time, and so gets no confirmation.
            for _ in 0..<10 {
                kernel.setSending(false, adapter: 0, to: address)
                try await radio.sleep(for: .milliseconds(4800))
                kernel.setSending(true, adapter: 0, to: address)
                try await radio.sleep(for: .milliseconds(200))
            }
            #expect(received.value > 40, "\(received.value)")
            receiving.cancel()
            _ = await receiving.result
            withExtendedLifetime(indications) {}
            await good.disconnect()
            await late.disconnect()
        }
    }

    @Test func aPeerThatTogglesItsSubscriptionCausesNoSecondCallMeanwhile() async throws {
        let count = Count()
        try await Self.run({ radio in
            LocalCharacteristic(0xFFF1, properties: .notify).notifying(every: .seconds(60)) {
                let number = count.next()
                // Not cancelled with its task.
                let reading = Task(executorPreference: radio.loop) { try await radio.sleep(for: .seconds(10)) }
                _ = await reading.result
                return [number]
            }
        }) { fixture, _, _ in
            let connection = try await fixture.connect()
            let found = try await connection.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(found.descriptor(.clientCharacteristicConfiguration))
            for _ in 0..<5 {
                try await connection.write([1, 0], to: configuration)
                try await connection.write([0, 0], to: configuration)
            }
            #expect(count.value == 1)
            // The first call had no subscriber for a while.
            let values = try await Self.values(1, of: connection)
            #expect(values == [[2]])
            #expect(count.value == 2)
            await connection.disconnect()
        }
    }

    @Test func aCallIsCancelledWithTheLastSubscriptionAndBegunWithTheNext() async throws {
        let (begun, ended) = (Count(), Count())
        try await Self.run({ radio in
            LocalCharacteristic(0xFFF1, properties: .notify).notifying(every: .seconds(60)) {
                let number = begun.next()
                defer { _ = ended.next() }
                if number == 1 { try await radio.sleep(for: .seconds(3600)) }
                return [number]
            }
        }) { fixture, _, recorder in
            let connection = try await fixture.connect()
            let found = try await connection.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(found.descriptor(.clientCharacteristicConfiguration))
            try await connection.write([1, 0], to: configuration)
            try await fixture.base.settle { begun.value == 1 }
            try await connection.write([0, 0], to: configuration)
            try await fixture.base.settle { ended.value == 1 }
            let values = try await Self.values(1, of: connection)
            #expect(values == [[2]])
            #expect(!recorder.lines.contains { $0.contains("a periodic value failed") })
            await connection.disconnect()
        }
    }

    @Test func anErrorIsLoggedAndTheNextValueIsSent() async throws {
        struct Broken: Error {}
        let count = Count()
        let periodic = LocalCharacteristic(0xFFF1, properties: .notify)
            .notifying(every: .seconds(10)) {
                let number = count.next()
                guard number > 1 else { throw Broken() }
                return [number]
            }
        try await Self.run({ _ in periodic }) { fixture, _, recorder in
            let values = try await Self.values(1, of: fixture.connect())
            #expect(values == [[2]])
            let failures = recorder.lines.count { $0.contains("a periodic value failed: Broken()") }
            #expect(failures == 1)
        }
    }

    @Test func itEndsWithThePublication() async throws {
        let (begun, ended) = (Count(), Count())
        try await Self.run({ radio in
            LocalCharacteristic(0xFFF1, properties: .notify).notifying(every: .seconds(1)) {
                _ = begun.next()
                defer { _ = ended.next() }
                try await radio.sleep(for: .seconds(3600))
                return []
            }
        }) { fixture, published, recorder in
            let connection = try await fixture.connect()
            let stream = try await connection.subscribe(to: 0xFFF1, in: 0xFFF0)
            try await fixture.base.settle { begun.value == 1 }
            await published.close()
            try await fixture.base.settle { ended.value == 1 }
            try await fixture.base.radio.sleep(for: .seconds(10))
            #expect(begun.value == 1)
            #expect(!recorder.lines.contains { $0.contains("a periodic value failed") })
            withExtendedLifetime(stream) {}
        }
    }

    @Test func whatCannotBeSentIsNotPublished() async throws {
        try await PeripheralFixture.run { fixture in
            let mute = LocalCharacteristic(0xFFF1, properties: .read).notifying(every: .seconds(1)) { [] }
            let hasty = LocalCharacteristic(0xFFF1, properties: .notify).notifying(every: .zero) { [] }
            for characteristic in [mute, hasty] {
                let code = await failureCode {
                    try await fixture.peripheral.publish { LocalService(0xFFF0) { characteristic } }
                }
                #expect(code == .invalidArgument)
            }
        }
    }
}
