import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

@Suite struct ConnectingTests {
    @Test func aConnectionHasTheAgreedMTU() async throws {
        try await Fixture.withPeripheral { _, adapter, peripheral in
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: 100))
            #expect(await connection.maximumTransmissionUnit == 100)
            await connection.disconnect()
            #expect(await connection.disconnected().code == .disconnected)
        }
    }

    @Test func aLinkThatFailsToBeEstablishedIsTriedAgain() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            peripheral.setRefusal(.connectionFailedToBeEstablished)
            let error = await failure { _ = try await adapter.connect(to: peripheral.address) }
            #expect(error?.code == .connectionFailed)
            #expect(error?.isRetryable == true)
            let attempt = fixture.begin {
                try await adapter.connect(to: peripheral.address, options: ConnectionOptions(attempts: 1000))
            }
            try await fixture.radio.sleep(for: .seconds(2))
            peripheral.setRefusal(nil)
            await (try await attempt.value).disconnect()
        }
    }

    /// The kernel keeps the link of a program that has ended for two seconds; one that connects meanwhile gets its end.
    @Test(arguments: [false, true])
    func aLinkThatThisMachineEndsBeforeThePeerHasAnsweredIsConnectedAgain(_ isRepeated: Bool) async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            @Sendable func endLink() {
                peripheral.breakLinks(reason: .connectionTerminatedByLocalHost)
                if isRepeated { kernel.arm(at: 0, endLink) }
            }
            kernel.arm(at: 0, endLink)
            let time = await fixture.duration {
                let result = await failure {
                    await (try await adapter.connect(to: peripheral.address)).disconnect(timeout: .zero)
                }
                #expect(result?.code == (isRepeated ? .connectionFailed : nil))
                #expect(result?.isRetryable == (isRepeated ? true : nil))
            }
            // Whether the adapter goes off is not waited for.
            #expect(time < .seconds(1))
        }
    }

    @Test(arguments: [true, false]) func aPeerOutOfReachTimesOut(_ isWrongKind: Bool) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            if !isWrongKind { peripheral.setHidden(true) }
            let address = BluetoothAddress(peripheral.address.value, kind: isWrongKind ? .public : .random)
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(to: address, options: ConnectionOptions(timeout: .seconds(3)))
                }
                #expect(error?.code == .timedOut)
                #expect(error?.remedy?.contains("kind: .random") == true)
            }
            #expect(time == .seconds(3))
        }
    }

    @Test func aHangingControllerDoesNotExceedTheTimeLimit() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let stream = try await adapter.scan()
            fixture.kernel.setSilent(true, adapter: 0)
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await adapter.connect(
                        to: peripheral.address, options: ConnectionOptions(timeout: .seconds(1)))
                }
                #expect(error?.code == .timedOut)
            }
            #expect(time <= .milliseconds(1100))
            withExtendedLifetime(stream) {}
        }
    }

    @Test func timeLimitsOfAnyLengthAreAccepted() async throws {
        try await Fixture.withPeripheral { _, adapter, peripheral in
            for timeout: Duration? in [nil, .seconds(Int64.max), .nanoseconds(Int64.max)] {
                let connection = try await adapter.connect(
                    to: peripheral.address, options: ConnectionOptions(timeout: timeout))
                await connection.disconnect()
            }
            for timeout: Duration in [.zero, .seconds(-1), .seconds(Int64.min)] {
                let error = await failure {
                    _ = try await adapter.connect(
                        to: peripheral.address, options: ConnectionOptions(timeout: timeout, attempts: -1))
                }
                #expect(error?.code == .timedOut)
            }
            let connection = try await adapter.connect(to: peripheral.address)
            await connection.disconnect()
        }
    }

    /// The kernel forgets a link that comes up while it cancels its attempt; nobody but we can end it.
    @Test(arguments: [nil, Duration.milliseconds(1), .milliseconds(100), .seconds(2), .seconds(3)])
    func aLinkThatComesUpWhileItsAttemptIsCancelledIsEnded(pause: Duration?) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            fixture.kernel.setFault(ControllerFault(.connectsTooLate, until: .unbinding), adapter: 0)
            let error = await failure {
                _ = try await adapter.connect(
                    to: peripheral.address, options: ConnectionOptions(timeout: .seconds(2)))
            }
            #expect(error?.code == .timedOut)
            if let pause { try await fixture.radio.sleep(for: pause) }
            // A connect waits 2.5 s for the kernel to give up the attempt before.
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(timeout: .seconds(3)))
            await connection.disconnect()
        }
    }

    @Test func afterACancelledAttemptTheNextFollowsAtOnce() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            for milliseconds in stride(from: 0, through: 300, by: 7) {
                let attempt = fixture.begin { try await adapter.connect(to: peripheral.address) }
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                attempt.cancel()
                let error = await failure { await (try await attempt.value).disconnect() }
                #expect(error == nil || error?.code == .cancelled)
                let connection = try await adapter.connect(to: peripheral.address)
                await connection.disconnect()
            }
        }
    }

    @Test(arguments: Ending.allCases) func theEndOfTheAdapterEndsTheAttempt(_ ending: Ending) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            peripheral.setHidden(true)
            let attempt = fixture.begin { try await adapter.connect(to: peripheral.address) }
            try await fixture.radio.sleep(for: .seconds(1))
            let time = await fixture.duration {
                ending.happen(to: fixture.kernel)
                let error = await failure { _ = try await attempt.value }
                #expect(error?.code == ending.code)
            }
            #expect(time < .seconds(1))
        }
    }

    @Test func aPeerThatAnotherAdapterObjectIsConnectedToIsBusy() async throws {
        try await Fixture.withLink { fixture, adapter, peripheral, connection in
            let other = try await Adapter.open(on: fixture.kernel)
            let error = await failure { _ = try await other.connect(to: peripheral.address) }
            #expect(error?.code == .busy)
            #expect(error?.isRetryable == true)
            await connection.disconnect()
            let again = try await adapter.connect(to: peripheral.address)
            await again.disconnect()
        }
    }

    @Test func theLinkEndsWithTheBody() async throws {
        struct Oops: Error {}
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let kept = Mutex<Connection?>(nil)
            let error = await failure {
                try await adapter.withConnection(to: peripheral.address) { connection in
                    kept.withLock { $0 = connection }
                    throw Oops()
                }
            }
            #expect(error?.underlyingError is Oops)
            let first = try #require(kept.withLock { $0 })
            #expect(await !first.isConnected)
            let waiting = fixture.begin {
                try await adapter.withConnection(to: peripheral.address) { connection in
                    kept.withLock { $0 = connection }
                    try await fixture.radio.sleep(for: .seconds(1000))
                }
            }
            try await fixture.radio.sleep(for: .seconds(5))
            waiting.cancel()
            #expect(await failureCode { try await waiting.value } == .cancelled)
            let second = try #require(kept.withLock { $0 })
            #expect(await !second.isConnected)
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
        }
    }

    @Test func aReleasedConnectionEndsItsLink() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            weak var connection: Connection?
            do {
                let made = try await adapter.connect(to: peripheral.address)
                connection = made
                #expect(fixture.kernel.links(adapter: 0).count == 1)
            }
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
            #expect(connection == nil)
        }
    }

    @Test func manyConnectAtTheSameTimeWhileAScanGoesOn() async throws {
        try await Fixture.withPeripheral { fixture, adapter, _ in
            let peripherals = try (0..<5).map { _ in try fixture.makePeripheral() }
            let stream = try await adapter.scan(ScanOptions(duplicates: .all))
            try await withThrowingTaskGroup(of: Connection.self) { group in
                for peripheral in peripherals {
                    group.addTask(executorPreference: fixture.radio.loop) {
                        try await adapter.connect(to: peripheral.address)
                    }
                }
                for try await connection in group { await connection.disconnect() }
            }
            try await fixture.settle { fixture.kernel.isScanning() }
            withExtendedLifetime(stream) {}
        }
    }

    @Test func aRefusedMTUExchangeLeavesTheLink() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in Refusing() }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            #expect(await connection.maximumTransmissionUnit == 23)
            await connection.disconnect()
        }
    }

    @Test func closingTheAdapterEndsAttemptsAndNoLinks() async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            let hidden = SimulatedPeripheral(on: fixture.radio)
            hidden.setHidden(true)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let attempt = fixture.begin {
                try await adapter.connect(to: hidden.address, options: ConnectionOptions(timeout: nil))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            await adapter.close()
            #expect(await failure { _ = try await attempt.value }?.code == .cancelled)
            #expect(await connection.isConnected)
            await connection.disconnect()
        }
    }

    @Test func aSilentPeerEndsTheAttemptInTime() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let error = await failure {
                _ = try await adapter.connect(to: peripheral.address, options: ConnectionOptions(timeout: .seconds(2)))
            }
            #expect(error?.code == .timedOut)
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
        }
    }
}

/// A server that refuses every request with Unlikely Error.
private final class Refusing: SimulatedLinkHandler {
    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        link.send([0x01, [UInt8](packet)[0], 0, 0, 0x0E])
    }
}
