import BluetoothATT
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Links that end while a response is outstanding, and their effect on the next connection to the device.
@Suite struct LateAnswerTests {
    @Test func cancellingAConnectAtAnyMomentAffectsNoOther() async throws {
        try await LateFixture.run { late in
            for milliseconds in stride(from: 0, through: 400, by: 10) {
                let attempt = late.base.begin { try await late.adapter.connect(to: late.address) }
                try await late.base.radio.sleep(for: .milliseconds(milliseconds))
                attempt.cancel()
                let end = await failure { await (try await attempt.value).disconnect(timeout: .zero) }
                #expect(end == nil || end?.code == .cancelled)
                let connection = try await late.adapter.connect(to: late.address)
                let error = await failure {
                    _ = try await connection.read(LatePeer.short)
                    _ = try await connection.discoverServices()
                }
                #expect(error == nil, "cancelled after \(milliseconds) ms")
                #expect(try await connection.strayResponseCount() == 0, "cancelled after \(milliseconds) ms")
                await connection.disconnect(timeout: .zero)
                try await late.base.settle { late.base.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    @Test func aDeviceThatNeverAnswersTheExchangeCanBeUsed() async throws {
        try await LateFixture.run { late in
            late.peer.delay(.exchangeMTURequest, by: .seconds(1000))
            let error = await failure { _ = try await late.connect() }
            #expect(error?.code == .timedOut)
            #expect(error?.remedy?.contains("maximumTransmissionUnit: 23") == true, "\(error?.description ?? "")")
            let exchanges = late.peer.count(of: .exchangeMTURequest)
            let options = ConnectionOptions(maximumTransmissionUnit: 23)
            let connection = try await late.adapter.connect(to: late.address, options: options)
            #expect(try await connection.read(LatePeer.short) == [1])
            #expect(try await connection.read(LatePeer.long).count == 40)
            #expect(late.peer.count(of: .exchangeMTURequest) == exchanges)
            #expect(await connection.maximumTransmissionUnit == 23)
        }
    }

    /// The channel of the closed adapter's link waits for the response.
    @Test(arguments: [false, true]) func reopeningAtOnceWaitsForTheFormerLink(_ isViolation: Bool) async throws {
        try await LateFixture.run { late in
            let adapter = try await Adapter.open(on: late.kernel)
            let connection = try await adapter.connect(to: late.address)
            late.peer.delay(.readRequest, by: .seconds(20))
            let call = try await late.begin(.readRequest, on: connection)
            if isViolation {
                // A few at a time: the device's controller has no room for all.
                for _ in 0..<4 {
                    try await late.base.radio.sleep(for: .milliseconds(200))
                    for _ in 0..<4 { late.peer.send([0x13]) }
                }
                let failed = await failure { try await call.value }
                #expect(failed?.code == .protocolViolation)
            } else {
                await connection.disconnect(timeout: .zero)
                _ = await failure { try await call.value }
            }
            late.peer.delay(nil)
            await adapter.close()
            let again = try await Adapter.open(on: late.kernel)
            let time = try await late.base.duration {
                let next = try await again.connect(to: late.address)
                #expect(try await next.read(LatePeer.short) == [1])
                #expect(try await next.strayResponseCount() == 0)
                await next.disconnect()
            }
            #expect(time < .seconds(7))
            #expect(late.peer.linkCount == 2)
            await again.close()
        }
    }

    /// The response to the request counts, not any that arrives meanwhile.
    @Test func aStrayDoesNotEndTheWaitForTheAnswer() async throws {
        try await LateFixture.run { late in
            let options = ConnectionOptions(maximumTransmissionUnit: 23)
            let connection = try await late.adapter.connect(to: late.address, options: options)
            try await late.end(connection, awaiting: .readBlobRequest, late: .milliseconds(150))
            for stray in [[0x0B, 9], [0x01, 0x0A, 3, 0, 2], [0x01]] as [[UInt8]] { late.peer.send(stray) }
            // Without an exchange, a late response would be taken for that to the first request.
            let next = try await late.adapter.connect(to: late.address, options: options)
            #expect(try await next.read(LatePeer.long) == [UInt8](0..<40))
            #expect(try await next.strayResponseCount() == 0)
        }
    }

    @Test(arguments: LateFixture.requests) func theNextLinkWaitsForTheAnswer(_ opcode: ATTOpcode) async throws {
        try await LateFixture.run { late in
            let delay = Duration.milliseconds(150)
            let connection = try await late.connect()
            late.peer.delay(opcode, by: delay)
            let call = try await late.begin(opcode, on: connection)
            await connection.disconnect(timeout: .zero)
            let end1 = await failure { try await call.value }
            #expect(end1?.code == .disconnected)
            let time = try await late.base.duration {
                let next = try await late.connect()
                try await late.expectOwnAnswers(opcode, after: delay, on: next)
                await next.disconnect(timeout: .zero)
            }
            // The link is the same: waiting for the kernel to end it takes longer.
            #expect(late.peer.linkCount == 1)
            #expect(time < .seconds(7))
        }
    }

    @Test(arguments: LateFixture.requests) func aResponseThatIsTooLateFindsNoLink(_ opcode: ATTOpcode) async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            try await late.end(connection, awaiting: opcode, late: .seconds(1))
            var next: Connection?
            let time = try await late.base.duration { next = try await late.connect() }
            #expect(time < .milliseconds(2800))
            #expect(late.peer.linkCount == 2)
            try await late.expectOwnAnswers(opcode, after: .zero, on: try #require(next))
        }
    }

    @Test(arguments: LateFixture.requests) func releasingALinkAffectsNoOther(_ opcode: ATTOpcode) async throws {
        try await LateFixture.run { late in
            let delay = Duration.milliseconds(150)
            do {
                let connection = try await late.connect()
                late.peer.delay(opcode, by: delay)
                let call = try await late.begin(opcode, on: connection)
                call.cancel()
                let end3 = await failure { try await call.value }
                #expect(end3?.code == .cancelled)
            }
            let next = try await late.connect()
            try await late.expectOwnAnswers(opcode, after: delay, on: next)
        }
    }

    @Test func preparedWritesAreDroppedBeforeTheNextLink() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            try await late.end(connection, awaiting: .prepareWriteRequest, late: .milliseconds(100))
            let next = try await late.connect()
            #expect(late.peer.count(of: .executeWriteRequest) == 1)
            #expect(late.peer.linkCount == 1)
            try await late.expectOwnAnswers(.prepareWriteRequest, after: .zero, on: next)
        }
    }

    @Test func aMissingResponseEndsOneLinkOnly() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            late.peer.delay(.readRequest, by: .milliseconds(30_500))
            let end5 = await failure { _ = try await connection.read(LatePeer.short) }
            #expect(end5?.code == .timedOut)
            late.peer.delay(nil)
            let next = try await late.connect()
            #expect(late.peer.linkCount == 2)
            try await late.expectOwnAnswers(.readRequest, after: .zero, on: next)
        }
    }

    @Test func aDeviceAwaitingAConfirmationGetsANewLink() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            try await late.endUnanswered(connection)
            let time = try await late.base.duration { _ = try await late.connect() }
            #expect(time < .milliseconds(2800))
            #expect(late.peer.linkCount == 2)
        }
    }

    @Test func theEndOfTheLinkEndsTheWait() async throws {
        try await LateFixture.run { late in
            for milliseconds in [100, 1000] {
                let connection = try await late.connect()
                try await late.end(connection, awaiting: .readRequest, late: .seconds(20))
                let next = late.base.begin { try await late.connect() }
                try await late.base.radio.sleep(for: .milliseconds(milliseconds))
                let time = try await late.base.duration {
                    late.peripheral.disconnect()
                    await (try await next.value).disconnect(timeout: .zero)
                }
                #expect(time < .milliseconds(500), "after \(milliseconds) ms")
                try await late.base.settle { late.base.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    /// Another program has kept the link beyond the time limit, and ends it when it is used again.
    @Test func aLinkThatEndsOnReuseIsReplaced() async throws {
        try await LateFixture.run { late in
            let connection = try await late.connect()
            let channel = try await late.openForeignChannel()
            try await late.end(connection, awaiting: .readRequest, late: .seconds(20))
            let address = ManagementAddress(late.address)
            let management = try await late.adapter.session.management
            late.kernel.arm(at: 0) {
                late.base.radio.loop.execute { management.value.post(ManagementDisconnect(address), to: 0) { _ in } }
            }
            var next: Connection?
            let time = try await late.base.duration { next = try await late.connect() }
            #expect(time > .milliseconds(2500) && time < .milliseconds(3500))
            #expect(late.peer.linkCount == 2)
            try await late.expectOwnAnswers(.readRequest, after: .zero, on: try #require(next))
            withExtendedLifetime(channel) {}
        }
    }

    /// The same, with pairing before the first request.
    @Test func aLinkThatEndsDuringEncryptionIsReplaced() async throws {
        try await LateFixture.run { late in
            late.peripheral.setSecurity(SimulatedSecurity())
            let connection = try await late.connect()
            let channel = try await late.openForeignChannel()
            try await late.end(connection, awaiting: .readRequest, late: .seconds(20))
            let start = late.base.radio.now
            let address = ManagementAddress(late.address)
            let management = try await late.adapter.session.management
            let timer = late.base.radio.loop.makeTimer {
                management.value.post(ManagementDisconnect(address), to: 0) { _ in }
            }
            timer.set(at: start.advanced(by: .milliseconds(2520)))
            var options = ConnectionOptions()
            options.security.level = .medium
            let next = try await late.adapter.connect(to: late.address, options: options)
            #expect(late.peer.linkCount == 2)
            #expect(try await next.read(LatePeer.short) == [1])
            #expect(try await next.security().level == .medium)
            await next.disconnect(timeout: .zero)
            withExtendedLifetime((channel, timer)) {}
        }
    }

    @Test func poweringOffWhileResponsesAreOutstanding() async throws {
        try await LateFixture.run { late in
            for milliseconds in stride(from: 0, through: 3000, by: 60) {
                let connection = try await late.connect()
                late.peer.delay(.readRequest, by: .milliseconds(milliseconds / 2))
                let call = try await late.begin(.readRequest, on: connection)
                await connection.disconnect(timeout: .zero)
                _ = await failure { try await call.value }
                late.peer.delay(nil)
                let next = late.base.begin { try await late.connect() }
                try await late.base.radio.sleep(for: .milliseconds(milliseconds))
                try await late.adapter.setPowered(false)
                let time = await late.base.duration {
                    _ = await failure { await (try await next.value).disconnect(timeout: .zero) }
                }
                #expect(time < .milliseconds(100), "after \(milliseconds) ms")
                try await late.adapter.setPowered(true)
                let again = try await late.connect()
                #expect(try await again.strayResponseCount() == 0, "after \(milliseconds) ms")
                #expect(try await again.read(LatePeer.short) == [1], "after \(milliseconds) ms")
                await again.disconnect(timeout: .zero)
                try await late.base.settle { late.base.kernel.links(adapter: 0).isEmpty }
            }
        }
    }
}
