import BluetoothLE
import BluetoothLoop
import Foundation
import TestSupport
import Testing

@testable import CoreBluetooth

/// A characteristic of the program whose deinitialiser runs the program's code.
private final class OwnCharacteristic: CBMutableCharacteristic, @unchecked Sendable {
    private let onEnd: @Sendable () -> Void

    init(_ onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
        super.init(
            type: CBUUID(string: "CA110009-1234-5678-9ABC-DEF012345678"), properties: .read, value: nil,
            permissions: .readable)
    }

    deinit { onEnd() }
}

/// The program's objects are released while no lock is held: their deinitialisers may need the same lock, and would
/// wait for ever.
@Suite struct LockTests {
    @Test func characteristicsThatAreReplacedMayAskTheirService() {
        let ends = Journal<Bool>()
        let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
        let held = WeakReference(to: service)
        service.characteristics = [
            OwnCharacteristic { ends.add(held.object?.characteristics?.isEmpty == true) }
        ]
        service.characteristics = []
        #expect(ends.entries == [true])
    }

    @Test func aRequestThatIsDroppedMayMakeAnother() {
        final class Request: Sendable {
            let onEnd: @Sendable () -> Void
            init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let ends = Journal<Bool>()
        let queue = BoundedQueue<Request>(capacity: 4)
        for _ in 0..<3 {
            _ = queue.append(
                Request { [weak queue] in ends.add(queue?.append(Request {}) ?? true) })
        }
        queue.finish()
        #expect(ends.entries == [false, false, false])
    }

    @Test func whatWasOfferedMayAskItsManagerWhenItIsRemoved() async throws {
        let ends = Journal<String>()
        try await Fixture.run { fixture in
            let server = Server(fixture, isEager: false)
            await fixture.wait(for: "state 5", in: server.journal)
            await fixture.onQueue {
                let manager = WeakReference(to: server.manager)
                server.offer.characteristics = [
                    OwnCharacteristic { ends.add("advertises \(manager.object?.isAdvertising == true)") }
                ]
                server.manager?.add(server.offer)
            }
            await fixture.wait(for: "added true 0", in: server.journal)
            await fixture.onQueue {
                // From here on only the manager retains it.
                server.offer.characteristics = []
                server.manager?.remove(server.offer)
            }
            await fixture.wait(for: "advertises false", in: ends)
        }
    }
}
