import BluetoothATT
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE
@testable import BluetoothKernelHost

/// Links that end while a response is outstanding, and which a channel of this program keeps up.
@Suite struct KeptLinkTests {
    /// Runs `body` with a connection that ended like that, and its channel.
    private static func run(
        awaiting opcode: ATTOpcode = .readRequest, late delay: Duration,
        _ body: @escaping @Sendable (LateFixture, ConnectionOrientedChannel) async throws -> Void
    ) async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            let channel = try await connection.openChannel(psm: LateFixture.channel)
            try await late.end(connection, awaiting: opcode, late: delay)
            try await body(late, channel)
        }
    }

    /// Checks that connecting fails with `.busy` after the given time.
    private static func expectBusy(
        _ late: LateFixture, after limit: Duration = LingeringLinks.linger,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var error: BluetoothError?
        let time = await late.base.duration {
            error = await failure { await (try await late.connect()).disconnect(timeout: .zero) }
        }
        #expect(error?.code == .busy, sourceLocation: sourceLocation)
        #expect(error?.isRetryable == true && error?.remedy != nil, sourceLocation: sourceLocation)
        #expect(time >= limit && time < limit + .milliseconds(10), "\(time)", sourceLocation: sourceLocation)
    }

    /// Checks that a link shows no trace of the one before.
    private static func expectOwnLink(
        _ late: LateFixture, links: Int, within limit: Duration, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var next: Connection?
        let time = try await late.base.duration { next = try await late.connect() }
        #expect(time < limit, "\(time)", sourceLocation: sourceLocation)
        #expect(late.peer.linkCount == links, sourceLocation: sourceLocation)
        let connection = try #require(next, sourceLocation: sourceLocation)
        try await late.expectOwnAnswers(.readRequest, after: .zero, on: connection, sourceLocation: sourceLocation)
    }

    @Test(arguments: LateFixture.requests) func theNextConnectWaitsForTheAnswer(_ opcode: ATTOpcode) async throws {
        try await Self.run(awaiting: opcode, late: .seconds(2)) { late, channel in
            var next: Connection?
            let time = try await late.base.duration { next = try await late.connect() }
            #expect(time > .milliseconds(1800) && time < .milliseconds(2400))
            #expect(late.peer.linkCount == 1)
            try await late.expectOwnAnswers(opcode, after: .zero, on: try #require(next))
            #expect(await channel.isOpen)
        }
    }

    @Test(arguments: LateFixture.requests) func aResponseThatIsTooLateFindsNoLink(_ opcode: ATTOpcode) async throws {
        try await Self.run(awaiting: opcode, late: .seconds(6)) { late, channel in
            try await Self.expectBusy(late)
            // Each attempt waits as long.
            try await Self.expectBusy(late)
            var next: Connection?
            let time = try await late.base.duration { next = try await late.connect() }
            #expect(time > .milliseconds(800) && time < .milliseconds(1400))
            #expect(late.peer.linkCount == 1)
            try await late.expectOwnAnswers(opcode, after: .zero, on: try #require(next))
            #expect(await channel.isOpen)
        }
    }

    @Test func aResponseWithoutACallerIsReceived() async throws {
        try await Self.run(late: .seconds(6)) { late, channel in
            try await late.base.radio.sleep(for: .seconds(10))
            try await Self.expectOwnLink(late, links: 1, within: .milliseconds(100))
            #expect(await channel.isOpen)
        }
    }

    @Test(arguments: [100, 1000, 4000]) func theLastChannelLeavesTheLinkToTheKernel(milliseconds: Int) async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            let channels = [
                try await connection.openChannel(psm: LateFixture.channel),
                try await late.adapter.openChannel(to: late.address, psm: LateFixture.channel),
            ]
            try await late.end(connection, awaiting: .readRequest, late: .seconds(12))
            await channels[0].close()
            try await late.base.radio.sleep(for: .milliseconds(milliseconds))
            let next = late.base.begin { try await late.connect() }
            try await late.base.radio.sleep(for: .seconds(1))
            await channels[1].close()
            let time = try await late.base.duration { await (try await next.value).disconnect(timeout: .zero) }
            #expect(time > .seconds(1) && time < .milliseconds(2800))
            #expect(late.peer.linkCount == 2)
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(100))
        }
    }

    @Test func aReleasedChannelLeavesTheLinkToTheKernel() async throws {
        try await LateFixture.run { late in
            do {
                let connection = try await late.connect()
                let channel = try await connection.openChannel(psm: LateFixture.channel)
                try await late.end(connection, awaiting: .readRequest, late: .seconds(10))
                try await Self.expectBusy(late)
                withExtendedLifetime(channel) {}
            }
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(2800))
        }
    }

    @Test(arguments: [100, 1000, 4000]) func theEndOfTheLinkEndsTheWait(milliseconds: Int) async throws {
        try await Self.run(late: .seconds(10)) { late, _ in
            if milliseconds > 2500 { try await Self.expectBusy(late) }
            let next = late.base.begin { try await late.connect() }
            try await late.base.radio.sleep(for: .milliseconds(milliseconds % 2500))
            let time = try await late.base.duration {
                late.peripheral.disconnect()
                await (try await next.value).disconnect(timeout: .zero)
            }
            #expect(time < .milliseconds(500))
            #expect(late.peer.linkCount == 2)
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(500))
        }
    }

    @Test func aDeviceThatNeverAnswersIsBusyUntilItsLinkEnds() async throws {
        try await Self.run(late: .seconds(38)) { late, channel in
            for _ in 0..<20 { try await Self.expectBusy(late) }
            // The response has arrived, too late for any bearer.
            await channel.close()
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(2800))
        }
    }

    @Test func aDeviceAwaitingAConfirmationIsBusyUntilItsLinkEnds() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            let channel = try await connection.openChannel(psm: LateFixture.channel)
            try await late.endUnanswered(connection)
            try await Self.expectBusy(late)
            late.peripheral.disconnect()
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(500))
            #expect(await channel.isOpen == false)
        }
    }

    /// The response arrives while no program has the attribute channel, as far as this one can determine.
    @Test func aChannelOpenedWhileTheKernelWaitsKeepsTheLink() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            try await late.end(connection, awaiting: .readRequest, late: .seconds(5))
            try await late.base.radio.sleep(for: .seconds(1))
            let channel = try await late.adapter.openChannel(to: late.address, psm: LateFixture.channel)
            try await Self.expectBusy(late)
            try await late.base.radio.sleep(for: .seconds(5))
            try await Self.expectBusy(late)
            await channel.close()
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(2800))
        }
    }

    @Test func aChannelOnANewLinkDelaysNoAttempt() async throws {
        try await LateFixture.run { late in
            // A listener receives the attribute channel of a link that is established for another channel.
            await late.services.close()
            let connection = try await late.connect()
            try await late.end(connection, awaiting: .readRequest, late: .seconds(5))
            try await late.base.radio.sleep(for: .milliseconds(500))
            late.peripheral.disconnect()
            try await late.base.radio.sleep(for: .milliseconds(100))
            let channel = try await late.adapter.openChannel(to: late.address, psm: LateFixture.channel)
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(100))
            #expect(await channel.isOpen)
        }
    }

    /// A channel that is still being opened has no link to keep.
    @Test func aChannelWithoutAResponseDelaysNoAttempt() async throws {
        try await LateFixture.run { late in
            // The end of the link is not reported.
            await late.services.close()
            late.kernel.refuseController(.notPermitted)
            let connection = try await late.connect()
            try await late.end(connection, awaiting: .readRequest, late: .seconds(20))
            try await late.base.radio.sleep(for: .milliseconds(500))
            late.peripheral.disconnect()
            try await late.base.radio.sleep(for: .milliseconds(100))
            late.peripheral.setHidden(true)
            let attempt = late.base.begin {
                try await late.adapter.openChannel(
                    to: late.address, psm: LateFixture.channel, options: ChannelOptions(timeout: nil))
            }
            try await late.base.radio.sleep(for: .seconds(5))
            late.peripheral.setHidden(false)
            try await Self.expectOwnLink(late, links: 2, within: .seconds(1))
            #expect(await (try await attempt.value).isOpen)
        }
    }

    /// No PDU follows on a bearer whose transaction has timed out (Core Vol 3 Part F §3.3.3).
    @Test func anAnswerAfterTheTimeLimitIsNotWaitedFor() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            let channel = try await connection.openChannel(psm: LateFixture.channel)
            late.peer.delay(.readRequest, by: .seconds(35))
            #expect(await failure { _ = try await connection.read(LatePeer.short) }?.code == .timedOut)
            late.peer.delay(nil)
            try await late.base.radio.sleep(for: .seconds(10))
            try await Self.expectBusy(late)
            await channel.close()
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(2800))
        }
    }

    @Test func aWaitForTheResponseCanBeCancelled() async throws {
        try await Self.run(late: .seconds(2)) { late, _ in
            let next = late.base.begin { try await late.connect() }
            try await late.base.radio.sleep(for: .seconds(1))
            next.cancel()
            let time = await late.base.duration {
                let end = await failure { _ = try await next.value }
                #expect(end?.code == .cancelled)
            }
            #expect(time < .milliseconds(10))
            let end = await failure {
                _ = try await late.adapter.connect(
                    to: late.address, options: ConnectionOptions(timeout: .milliseconds(500)))
            }
            #expect(end?.code == .timedOut)
            try await Self.expectOwnLink(late, links: 1, within: .milliseconds(700))
        }
    }

    @Test(arguments: [0, 100, 1000, 4000]) func poweringOffEndsTheWait(milliseconds: Int) async throws {
        try await Self.run(late: .seconds(10)) { late, _ in
            await late.services.close()
            if milliseconds > 2500 { try await Self.expectBusy(late) }
            let next = late.base.begin { try await late.connect() }
            try await late.base.radio.sleep(for: .milliseconds(milliseconds % 2500))
            try await late.adapter.setPowered(false)
            let time = await late.base.duration {
                let end = await failure { _ = try await next.value }
                #expect(end?.code == .adapterOff)
            }
            #expect(time < .milliseconds(100))
            try await late.adapter.setPowered(true)
            let channel = try await late.adapter.openChannel(to: late.address, psm: LateFixture.channel)
            try await Self.expectOwnLink(late, links: 2, within: .milliseconds(100))
            #expect(await channel.isOpen)
        }
    }

    /// An outstanding response outlives the adapter as long as its link does.
    @Test func aClosedAdapterLeavesNothingBehind() async throws {
        try await Self.run(late: .seconds(5)) { late, channel in
            await late.adapter.close()
            let other = try await Adapter.open(on: late.base.kernel)
            let end = await failure { _ = try await other.connect(to: late.address) }
            #expect(end?.code == .busy)
            await channel.close()
            try await late.base.settle { late.base.kernel.links(adapter: 0).isEmpty }
            let next = try await other.connect(to: late.address)
            #expect(try await next.read(LatePeer.short) == [1])
        }
    }
}
