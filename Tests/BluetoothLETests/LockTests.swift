import BluetoothGATT
import BluetoothSimulation
import Synchronization
import Testing

@testable import BluetoothLE

/// An object of the program whose deinitialiser runs the program's code.
private final class Belonging: Sendable, Equatable {
    private let onEnd: @Sendable () -> Void

    init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }

    static func == (left: Belonging, right: Belonging) -> Bool { left === right }
}

/// Unchecked: its content is set before any other access.
private final class Holder: @unchecked Sendable {
    weak var value: LatestValue<Belonging>?
}

private final class Counter: Sendable {
    private let total = Mutex(0)

    var count: Int { total.withLock { $0 } }

    func add(_ count: Int) { total.withLock { $0 += count } }
}

/// Values that are released, dropped or replaced are released outside locks: their deinitialiser may need the same
/// lock, which would deadlock.
@Suite struct LockTests {
    private let radio = SimulatedRadio()
    private let ends = Counter()

    @Test func aDroppedElementMayAccessItsStream() {
        let channel = StreamChannel<Belonging>(
            capacity: 1, policy: .dropOldest, operation: .init("test"), from: radio.loop)
        for _ in 0..<3 {
            channel.send(Belonging { [weak channel, self] in ends.add(channel?.missedCount ?? 0) })
        }
        #expect(channel.missedCount == 2)
        // The first ran when one had been missed, the second when two had been.
        #expect(ends.count == 3)
    }

    @Test func aReplacedValueMayAccessTheNewOne() {
        let latest = Holder()
        let make: @Sendable () -> Belonging = {
            Belonging { [self] in
                guard let latest = latest.value else { return }
                ends.add(latest.followerCount)
            }
        }
        let value = LatestValue(make(), .init("test"), on: radio.loop)
        let stream = value.stream(keeping: radio)
        latest.value = value
        for _ in 0..<3 { value.set(make()) }
        withExtendedLifetime(stream) {}
        // Each is in the stream's buffer as well, from which the next value drops it.
        #expect(ends.count == 3)
    }

    @Test func handlersOfWithdrawnServicesMayAccessTheServer() throws {
        let server = LocalServer(try AttributeDatabase([]))
        func publish() throws -> Publication {
            let belonging = Belonging { [weak server, self] in
                ends.add(server?.isPublishing == false ? 1 : 0)
            }
            let level = LocalCharacteristic(0x2A19, properties: .read)
                .onRead { _ in withExtendedLifetime(belonging) { [] } }
            let service = LocalService(0x180F) { level }
            let description = GATTService(0x180F) { GATTCharacteristic(0x2A19, properties: .read) }
            let publication = try server.append([description]) { layout in
                Publication([service], at: layout, authorizing: nil, events: nil, on: radio.loop)
            }
            return try #require(publication)
        }
        var publication: Publication? = try publish()
        #expect(publication.map { server.remove($0) } == true)
        publication = nil
        #expect(ends.count == 1)
    }
}
