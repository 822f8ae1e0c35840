import BluetoothHCI
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The information about the link layer of a connection.
@Suite struct LinkTests {
    // MARK: RSSI and transmit power

    @Test func theRSSIIsReadWithoutPrivilege() async throws {
        try await Fixture.withLink { fixture, _, peripheral, connection in
            fixture.kernel.hasNetRaw = false
            fixture.kernel.hasNetAdmin = false
            peripheral.setSignalStrength(-71)
            let rssi = try await connection.rssi()
            #expect(rssi == -71)
            let error = await failure { _ = try await connection.transmitPower() }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("setcap") == true)
        }
    }

    @Test func theTransmitPowerIsRead() async throws {
        var controller = SimulatedController()
        controller.transmitPower = -8
        try await Fixture.withLink([controller]) { _, _, _, connection in
            let power = try await connection.transmitPower()
            #expect(power == -8)
        }
    }

    @Test func aResponseForAnotherLinkIsIgnored() async throws {
        try await Fixture.withLink { fixture, _, peripheral, connection in
            peripheral.setSignalStrength(-60)
            let reading = fixture.begin { try await connection.rssi() }
            // The kernel has queried another link at the same time.
            fixture.kernel.emit([0x04, 0x0E, 0x07, 0x01, 0x05, 0x14, 0x00, 0xFE, 0x0E, 0x9C])
            let rssi = try await reading.value
            #expect(rssi == -60)
        }
    }

    @Test func aSilentControllerTimesOut() async throws {
        try await Fixture.withLink { fixture, _, _, connection in
            fixture.kernel.setSilent(true, adapter: 0)
            #expect(await failure { _ = try await connection.rssi() }?.code == .timedOut)
            #expect(await failure { _ = try await connection.rssi(timeout: .seconds(1)) }?.code == .timedOut)
            let waiting = fixture.begin { try await connection.requestParameters(.lowPower) }
            try await fixture.radio.sleep(for: .seconds(1))
            waiting.cancel()
            #expect(await failure { _ = try await waiting.value }?.code == .cancelled)
        }
    }

    // MARK: Parameters

    @Test func theParametersAreKnownFromTheBeginning() async throws {
        for family in [HCICommandFamily.legacy, .extended] {
            try await Fixture.withLink([SimulatedController(family: family)]) { _, _, _, connection in
                let parameters = try #require(await connection.parameters)
                #expect(parameters.interval == .milliseconds(30))
                #expect(parameters.latency == 0)
                #expect(parameters.supervisionTimeout == .milliseconds(420))
            }
        }
    }

    @Test func parametersAreChangedAndReported() async throws {
        try await Fixture.withLink { _, _, _, connection in
            let changes = try await connection.linkChanges()
            let parameters = try await connection.requestParameters(
                ConnectionParameterRequest(
                    interval: .milliseconds(100)...(.milliseconds(125)), latency: 2, supervisionTimeout: .seconds(6)))
            #expect(
                parameters
                    == ConnectionParameters(
                        interval: .milliseconds(100), latency: 2, supervisionTimeout: .seconds(6)))
            #expect(await connection.parameters == parameters)
            var iterator = changes.makeAsyncIterator()
            #expect(try await iterator.next()?.parameters == parameters)
        }
    }

    @Test func aShorterIntervalMakesRequestsFaster() async throws {
        try await Fixture.withLink { fixture, _, _, connection in
            _ = try await connection.requestParameters(.lowPower)
            let slow = await fixture.duration { _ = try? await connection.read(AttributeHandle(1)) }
            _ = try await connection.requestParameters(.lowLatency)
            let fast = await fixture.duration { _ = try? await connection.read(AttributeHandle(1)) }
            #expect(slow >= .milliseconds(100))
            #expect(fast <= .milliseconds(30))
        }
    }

    @Test func invalidParametersAreRefusedBeforeTheyAreSent() async throws {
        let requests: [ConnectionParameterRequest] = [
            .init(interval: .zero...(.milliseconds(10))), .init(interval: .milliseconds(10)...(.seconds(5))),
            .init(interval: .milliseconds(10)...(.milliseconds(10)), latency: 500),
            .init(interval: .milliseconds(10)...(.milliseconds(10)), latency: -1),
            .init(interval: .milliseconds(10)...(.milliseconds(10)), supervisionTimeout: .milliseconds(99)),
            .init(interval: .milliseconds(10)...(.milliseconds(10)), supervisionTimeout: .seconds(33)),
            .init(interval: .seconds(4)...(.seconds(4)), latency: 4, supervisionTimeout: .seconds(32)),
            .init(interval: .microseconds(7501)...(.microseconds(8749))),
            .init(
                interval: .seconds(-9)...(.seconds(Int64.max)), latency: .max, supervisionTimeout: .seconds(Int64.max)),
        ]
        try await Fixture.withLink { _, _, _, connection in
            for request in requests {
                #expect(await failure { _ = try await connection.requestParameters(request) }?.code == .invalidArgument)
                #expect(
                    await failure { try await connection.setParameterPolicy(.keep(request)) }?.code == .invalidArgument)
            }
            for octets in [0, 26, 252, Int.max, Int.min] {
                #expect(await failure { try await connection.requestDataLength(octets) }?.code == .invalidArgument)
            }
            for time: Duration in [.zero, .microseconds(327), .microseconds(17041), .seconds(Int64.max)] {
                #expect(
                    await failure { try await connection.requestDataLength(100, time: time) }?.code == .invalidArgument)
            }
            for preset in [ConnectionParameterRequest.lowLatency, .balanced, .lowPower] {
                _ = try await connection.requestParameters(preset)
            }
        }
    }

    @Test func aRefusalOfThePeerIsReported() async throws {
        try await Fixture.withLink { _, _, peripheral, connection in
            peripheral.setParameterRefusal(.unsupportedRemoteFeature)
            let error = await failure { _ = try await connection.requestParameters(.lowPower) }
            #expect(error?.code == .unsupported)
            #expect(error?.cause == .controller(.unsupportedRemoteFeature))
            peripheral.setParameterRefusal(.unacceptableConnectionParameters)
            #expect(await failure { _ = try await connection.requestParameters(.lowPower) }?.code == .failed)
            peripheral.setParameterRefusal(nil)
            _ = try await connection.requestParameters(.lowPower)
        }
    }

    @Test func aPeersParameterRequestIsGrantedAndReported() async throws {
        try await Fixture.withLink { fixture, _, peripheral, connection in
            let changes = try await connection.linkChanges()
            peripheral.requestConnectionParameters(
                LEConnectionParameters(intervalMinimum: 400, intervalMaximum: 400, latency: 1, supervisionTimeout: 600))
            var iterator = changes.makeAsyncIterator()
            let change = try await iterator.next()
            #expect(
                change?.parameters
                    == ConnectionParameters(interval: .milliseconds(500), latency: 1, supervisionTimeout: .seconds(6)))
        }
    }

    @Test func keptParametersAreRequestedAgainWithinLimits() async throws {
        try await Fixture.withLink { fixture, _, peripheral, connection in
            _ = try await connection.requestParameters(.balanced)
            try await connection.setParameterPolicy(.keep(.balanced))
            let slow = LEConnectionParameters(
                intervalMinimum: 80, intervalMaximum: 80, latency: 0, supervisionTimeout: 600)
            for round in 1...4 {
                peripheral.requestConnectionParameters(slow)
                try await fixture.radio.sleep(for: .seconds(3))
                let parameters = try #require(await connection.parameters)
                #expect(parameters.interval == (round <= 3 ? .milliseconds(30) : .milliseconds(100)), "round \(round)")
            }
            // After a quiet period it is tried again.
            try await fixture.radio.sleep(for: .seconds(31))
            peripheral.requestConnectionParameters(slow)
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(await connection.parameters?.interval == .milliseconds(30))
            try await connection.setParameterPolicy(.accept)
            peripheral.requestConnectionParameters(slow)
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(await connection.parameters?.interval == .milliseconds(100))
        }
    }

    @Test func withoutPrivilegeTheFixIsNamed() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetRaw = false
            fixture.kernel.hasNetAdmin = false
            let peripheral = try fixture.makePeripheral()
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let (parameters, length) = await (connection.parameters, connection.dataLength)
            #expect(parameters == nil && length == nil)
            #expect(await failure { _ = try await connection.requestParameters(.lowPower) }?.code == .notPermitted)
            #expect(await failure { _ = try await connection.phys() }?.code == .notPermitted)
            #expect(
                await failure { _ = try await connection.setPHYs(transmit: nil, receive: nil) }?.code == .notPermitted)
            #expect(await failure { try await connection.requestDataLength(251) }?.code == .notPermitted)
            peripheral.disconnect()
            #expect(await connection.disconnected().disconnectReason == .remote)
        }
    }

    // MARK: PHYs and data length

    @Test func physAreReadAndSet() async throws {
        try await Fixture.withLink { _, _, peripheral, connection in
            #expect(try await connection.phys() == LinkPHYs(transmit: .le1M, receive: .le1M))
            let fast = try await connection.setPHYs(transmit: .le2M, receive: .le2M)
            #expect(fast == LinkPHYs(transmit: .le2M, receive: .le2M))
            #expect(try await connection.phys() == fast)
            // Without the peer's support nothing changes.
            peripheral.setSupportedPHYs(.le1M)
            #expect(try await connection.setPHYs(transmit: .leCoded, receive: .leCoded) == fast)
        }
    }

    @Test func dataLengthIsSetAndReported() async throws {
        try await Fixture.withLink { _, _, _, connection in
            let changes = try await connection.linkChanges()
            try await connection.requestDataLength(251)
            var iterator = changes.makeAsyncIterator()
            guard let length = try await iterator.next()?.dataLength else {
                Issue.record("no data length")
                return
            }
            #expect(length.transmitOctets == 251 && length.receiveOctets == 251)
            #expect(length.transmitTime == .microseconds(2120))
            #expect(await connection.dataLength == length)
            // The same value again is not reported.
            try await connection.requestDataLength(251)
        }
    }

    @Test func malformedEventsAreHarmless() async throws {
        try await Fixture.withLink { fixture, _, _, connection in
            for event in [
                "0401", "0702", "030a00", "05030040", "3e00", "3e0103", "3e0a03000100", "3e050c000100", "3e0307",
            ] {
                fixture.kernel.emit([0x04] + hex(event))
            }
            let rssi = try await connection.rssi()
            #expect(rssi == -50)
        }
    }

    @Test func theHCISocketIsOpenOnlyWhileThereAreLinks() async throws {
        try await Fixture.withLink { fixture, adapter, _, connection in
            #expect(await adapter.session.hasControllerSocket)
            await connection.disconnect()
            try await fixture.settle { await !adapter.session.hasControllerSocket }
        }
    }

    /// The caller has gone before the controller responds: the link has ended, or the task was cancelled.
    @Test func theHCISocketIsClosedAfterAnUnawaitedResponse() async throws {
        try await Fixture.withLink { fixture, adapter, _, connection in
            fixture.kernel.setSilent(true, adapter: 0)
            let rssi = fixture.begin { try await connection.rssi() }
            try await fixture.radio.sleep(for: .seconds(1))
            await connection.disconnect()
            #expect(await failure { _ = try await rssi.value } != nil)
            try await fixture.settle { await !adapter.session.hasControllerSocket }
        }
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.setSilent(true, adapter: 0)
            let features = fixture.begin { try await adapter.hasExtendedAdvertising() }
            try await fixture.radio.sleep(for: .seconds(1))
            features.cancel()
            #expect(await failure { _ = try await features.value }?.code == .cancelled)
            try await fixture.settle { await !adapter.session.hasControllerSocket }
            await adapter.close()
        }
    }

    /// Another program looks for a device for a long time, while this one has nothing to do any more.
    @Test func theHCISocketIsClosedDuringTheAttemptOfAnotherProgram() async throws {
        try await Fixture.withLink { fixture, adapter, _, connection in
            let other = try await Adapter.open(on: fixture.kernel)
            let silent = SimulatedPeripheral(on: fixture.radio, advertisements: [])
            let attempt = fixture.begin {
                var options = ConnectionOptions()
                options.timeout = .seconds(300)
                return try await other.connect(to: silent.address, options: options)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            await connection.disconnect()
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await !adapter.session.hasControllerSocket)
            #expect(await other.session.hasControllerSocket)
            attempt.cancel()
            _ = await failure { _ = try await attempt.value }
            await other.close()
        }
    }

    @Test func aConnectionWithoutAnAdapterHasNoLinkInformation() async throws {
        try await withConnection { connection, _ in
            #expect(await failure { _ = try await connection.rssi() }?.code == .unsupported)
            #expect(await failure { _ = try await connection.linkChanges() }?.code == .unsupported)
            #expect(await connection.parameters == nil)
        }
    }
}
