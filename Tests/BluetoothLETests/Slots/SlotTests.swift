import BluetoothHCI
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// A controller with room for few links.
@Suite struct SlotTests {
    private static func controller(links: Int, _ refusal: HCIStatus = .connectionLimitExceeded) -> SimulatedController {
        var controller = SimulatedController()
        controller.maximumLinks = links
        controller.linkRefusal = refusal
        return controller
    }

    private static func run(
        links: Int, _ refusal: HCIStatus = .connectionLimitExceeded, peripherals: Int,
        _ body: @escaping @Sendable (Fixture, Adapter, [SimulatedPeripheral]) async throws -> Void
    ) async throws {
        try await Fixture.run([controller(links: links, refusal)]) { fixture in
            let peripherals = try (0..<peripherals).map { _ in try fixture.makePeripheral() }
            try await body(fixture, try await Adapter.open(on: fixture.kernel), peripherals)
        }
    }

    @Test(arguments: [HCIStatus.connectionLimitExceeded, .rejectedLimitedResources])
    func aRefusalForWantOfRoomSaysSoAndShowsTheLimit(_ status: HCIStatus) async throws {
        try await Self.run(links: 2, status, peripherals: 3) { fixture, adapter, peripherals in
            var capacity = await adapter.capacity
            #expect(
                capacity == AdapterCapacity(advertisingSets: 3, advertisingSetsInUse: 0, ownLinks: 0, otherLinks: 0))
            let first = try await adapter.connect(to: peripherals[0].address)
            let second = try await adapter.connect(to: peripherals[1].address)
            let error = await failure { _ = try await adapter.connect(to: peripherals[2].address) }
            #expect(error?.code == .linkLimitReached)
            #expect(error?.isRetryable == true)
            #expect(error?.cause == .controller(status))
            #expect(error?.remedy?.contains("slotTimeout") == true)
            capacity = await adapter.capacity
            #expect(capacity.linkLimit == 2)
            #expect(capacity.ownLinks == 2)
            #expect(capacity.freeLinks == 0)
            await first.disconnect()
            let third = try await adapter.connect(to: peripherals[2].address)
            for connection in [second, third] { await connection.disconnect() }
            capacity = await adapter.capacity
            #expect(capacity.freeLinks == 2)
        }
    }

    @Test func withoutPrivilegesLinksAreCountedAndAdvertisingSetsAreNot() async throws {
        try await Self.run(links: 1, peripherals: 2) { fixture, adapter, peripherals in
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripherals[0].address)
            let error = await failure { _ = try await adapter.connect(to: peripherals[1].address) }
            #expect(error?.code == .linkLimitReached)
            #expect(await adapter.capacity == AdapterCapacity(ownLinks: 1, otherLinks: 0, linkLimit: 1))
            await connection.disconnect()
        }
    }

    @Test func twentyWaitersGetTheRoomInTheirOrder() async throws {
        try await Self.run(links: 2, peripherals: 22) { fixture, adapter, peripherals in
            let held = [
                try await adapter.connect(to: peripherals[20].address),
                try await adapter.connect(to: peripherals[21].address),
            ]
            let order = Mutex<[Int]>([])
            let waiters = (0..<20).map { number in
                fixture.begin {
                    let connection = try await adapter.connect(
                        to: peripherals[number].address, options: ConnectionOptions(slotTimeout: .seconds(300)))
                    order.withLock { $0.append(number) }
                    await connection.disconnect()
                }
            }
            try await fixture.settle { await adapter.session.slotWaiterCount == 20 }
            let sent = fixture.radio.statistics.packetsDelivered
            // Nothing is tried meanwhile.
            try await fixture.radio.sleep(for: .seconds(100))
            #expect(fixture.radio.statistics.packetsDelivered == sent)
            #expect(await adapter.session.connectCount == 0)
            for connection in held { await connection.disconnect() }
            for waiter in waiters { try await waiter.value }
            // Two are admitted at a time, and one of them may be faster.
            let result = order.withLock { $0 }
            #expect(Set(result) == Set(0..<20))
            for (place, number) in result.enumerated() { #expect(abs(place - number) <= 3) }
            #expect(await adapter.session.slotWaiterCount == 0)
        }
    }

    @Test func theWaitHasALimitAndEndsOnCancellationAndWithTheAdapter() async throws {
        try await Self.run(links: 1, peripherals: 2) { fixture, adapter, peripherals in
            let held = try await adapter.connect(to: peripherals[0].address)
            let options = ConnectionOptions(slotTimeout: .seconds(20))
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(to: peripherals[1].address, options: options)
                }
                #expect(error?.code == .linkLimitReached)
            }
            #expect(time >= .seconds(20) && time < .seconds(25))
            for end in ["cancel", "unplug"] {
                let waiter = fixture.begin {
                    _ = try await adapter.connect(to: peripherals[1].address, options: options)
                }
                try await fixture.settle { await adapter.session.slotWaiterCount == 1 }
                if end == "cancel" { waiter.cancel() } else { fixture.kernel.unplug(0) }
                let error = await failure { try await waiter.value }
                #expect(error?.code == (end == "cancel" ? .cancelled : .noAdapter))
                #expect(await adapter.session.slotWaiterCount == 0)
            }
            _ = await held.disconnected()
        }
    }

    /// They have the same error, whatever their other time limit, and the link together.
    @Test func connectsToOneDeviceWaitAlike() async throws {
        try await Self.run(links: 1, peripherals: 2) { fixture, adapter, peripherals in
            let held = try await adapter.connect(to: peripherals[0].address)
            let begin = { @Sendable (limit: Int64) in
                let options = ConnectionOptions(timeout: .seconds(5), slotTimeout: .seconds(limit))
                return fixture.begin { try await adapter.connect(to: peripherals[1].address, options: options) }
            }
            let time = await fixture.duration {
                let connects = [begin(20), begin(20)]
                for connect in connects {
                    let error = await failure { _ = try await connect.value }
                    #expect(error?.code == .linkLimitReached)
                    #expect(error?.message.contains("No link has ended in time") == true)
                }
            }
            #expect(time >= .seconds(20) && time < .seconds(25))
            let connects = [begin(300), begin(300)]
            try await fixture.settle { await adapter.session.slotWaiterCount == 1 }
            let impatient = await fixture.duration {
                let error = await failure { _ = try await adapter.connect(to: peripherals[1].address) }
                #expect(error?.code == .linkLimitReached)
            }
            #expect(impatient < .seconds(1))
            try await fixture.radio.sleep(for: .seconds(100))
            await held.disconnect()
            let connection = try await connects[0].value
            #expect(try await connects[1].value === connection)
            await connection.disconnect()
        }
    }

    @Test func anAbsentDeviceDoesNotBlockTheNext() async throws {
        try await Self.run(links: 1, peripherals: 3) { fixture, adapter, peripherals in
            let held = try await adapter.connect(to: peripherals[0].address)
            let options = ConnectionOptions(timeout: nil, slotTimeout: .seconds(100))
            let first = fixture.begin { _ = try await adapter.connect(to: peripherals[1].address, options: options) }
            try await fixture.settle { await adapter.session.slotWaiterCount == 1 }
            let second = fixture.begin { _ = try await adapter.connect(to: peripherals[2].address, options: options) }
            try await fixture.settle { await adapter.session.slotWaiterCount == 2 }
            peripherals[1].setHidden(true)
            let start = fixture.radio.now
            await held.disconnect()
            try await second.value
            let time = start.duration(to: fixture.radio.now)
            #expect(time >= SlotQueue.slice && time < SlotQueue.slice + .seconds(5))
            first.cancel()
            #expect(await failure { try await first.value }?.code == .cancelled)
        }
    }

    @Test func aKeptConnectionWaitsForRoom() async throws {
        try await Self.run(links: 1, peripherals: 2) { fixture, adapter, peripherals in
            let held = try await adapter.connect(to: peripherals[0].address)
            let kept = adapter.keepConnected(to: peripherals[1].address)
            var events = await kept.events().makeAsyncIterator()
            var event = try await events.next()
            while event?.connecting != nil { event = try await events.next() }
            guard let reason = event?.waitingForAdapter else {
                Issue.record("\(String(describing: event))")
                return
            }
            #expect(reason.code == .linkLimitReached)
            try await fixture.radio.sleep(for: .seconds(300))
            await held.disconnect()
            #expect(try await kept.connected(timeout: .seconds(5)).peer == peripherals[1].address)
            await kept.disconnect()
        }
    }

    /// The numbers of the peripherals with a link.
    private static func linked(_ peripherals: [SimulatedPeripheral]) -> [Int] {
        peripherals.indices.filter { !peripherals[$0].links.isEmpty }
    }

    /// Of those that share too little room, the one whose link breaks goes to the end.
    @Test func keptConnectionsTakeTurns() async throws {
        try await Self.run(links: 2, peripherals: 4) { fixture, adapter, peripherals in
            let kept = peripherals.map { adapter.keepConnected(to: $0.address) }
            try await fixture.settle { await adapter.capacity.waitingConnects == 2 }
            var up = Self.linked(peripherals)
            var waiting = Array(Set(peripherals.indices).subtracting(up))
            for round in 0..<20 {
                let broken = up.removeFirst()
                try await fixture.radio.sleep(for: .seconds(10))
                peripherals[broken].disconnect()
                try await fixture.radio.sleep(for: .seconds(5))
                let next = try #require(Set(Self.linked(peripherals)).subtracting(up).first)
                // The order of the first two is not known.
                let expected = round == 0 ? waiting : Array(waiting.prefix(1))
                #expect(expected.contains(next))
                #expect(await adapter.capacity.waitingConnects == 2)
                waiting.removeAll { $0 == next }
                waiting.append(broken)
                up.append(next)
            }
            // A connect that does not wait does not take the turn of those that do.
            peripherals[up[0]].disconnect()
            let other = try fixture.makePeripheral()
            let error = await failure { _ = try await adapter.connect(to: other.address) }
            #expect(error?.code == .linkLimitReached)
            for kept in kept { await kept.disconnect() }
        }
    }

    /// The device changes its address during the wait, so that the first attempt after it is in vain: the next one has
    /// what remains of the time limit, without the wait.
    @Test func anAttemptThatIsRepeatedAfterTheWaitHasTheRemainingTime() async throws {
        try await Self.run(links: 1, peripherals: 1) { fixture, adapter, peripherals in
            let held = try await adapter.connect(to: peripherals[0].address)
            let phone = try PrivateDevice(fixture)
            phone.rotate()
            let options = ConnectionOptions(timeout: .seconds(20), slotTimeout: .seconds(300))
            let connect = fixture.begin { try await adapter.connect(to: phone.identity, options: options) }
            try await fixture.settle { await adapter.session.slotWaiterCount == 1 }
            let second = phone.rotate()
            try await fixture.radio.sleep(for: .seconds(100))
            await held.disconnect()
            let connection = try await connect.value
            #expect(connection.peer == second)
            await connection.disconnect()
        }
    }

    @Test func theRemainingTimeIsThatOfConnectingOnly() {
        func at(_ seconds: Int64) -> KernelInstant { KernelInstant(nanoseconds: seconds * 1_000_000_000) }
        var time = ConnectTime(.seconds(20), room: .seconds(60), from: at(0))
        #expect(time.remaining(at: at(5)) == .seconds(15))
        time.waitedForRoom(from: at(5), to: at(45))
        #expect(time.remaining(at: at(45)) == .seconds(15))
        #expect(time.room == .seconds(20))
        time.waitedForRoom(from: at(50), to: at(80))
        #expect(time.room == .zero)
        #expect(time.end == at(90))
        #expect(!time.isOver(at: at(89)) && time.isOver(at: at(90)))
        #expect(time.remaining(at: at(100)) == .zero)
        // Without limits.
        time = ConnectTime(nil, room: nil, from: at(0))
        time.waitedForRoom(from: at(0), to: at(9))
        #expect(time.end == nil && time.room == nil && !time.isOver(at: at(1000)))
    }
}
