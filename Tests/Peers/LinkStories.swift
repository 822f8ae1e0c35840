import BluetoothLE
import TestSupport
import Testing

extension Peers {
    /// Links below the attributes: RSSI, parameters, PHYs; many links, and reconnections.
    @Suite struct Linking {
        @Test func theSignalAndThePowerAreRead() async throws {
            try await Fixture.run { fixture in
                try await fixture.ask("rssi LINBLE-ECHO -61")
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                let rssi = try await connection.rssi()
                try await fixture.ask("rssi LINBLE-ECHO -50")
                #expect(rssi == -61)
                #expect(try await connection.transmitPower() == 4)
                await connection.disconnect()
            }
        }

        @Test func theParametersAreKnownAndChanged() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                #expect(await connection.parameters != nil)
                let changes = try await connection.linkChanges()
                let parameters = try await connection.requestParameters(.lowPower)
                #expect(parameters.latency == 2)
                #expect(await connection.parameters == parameters)
                var iterator = changes.makeAsyncIterator()
                #expect(try await iterator.next()?.parameters == parameters)
                await connection.disconnect()
            }
        }

        @Test func theParametersHoldFromTheFirstConnectionEvent() async throws {
            try await Fixture.run { fixture in
                let options = ConnectionOptions(
                    timeout: .seconds(60),
                    parameters: ConnectionParameterRequest(
                        interval: .milliseconds(75)...(.milliseconds(75)), latency: 3, supervisionTimeout: .seconds(4)))
                let connection = try await fixture.connect(to: "LINBLE-ECHO", options: options)
                // In units of 1.25 ms, connection events, and units of 10 ms.
                #expect(try await fixture.ask("begun LINBLE-ECHO") == "60 3 400")
                #expect(await connection.parameters?.interval == .milliseconds(75))
                await connection.disconnect()
                // The next link begins with the adapter's defaults, of which the controller takes the shortest interval.
                let next = try await fixture.connect(to: "LINBLE-ECHO")
                #expect(try await fixture.ask("begun LINBLE-ECHO") == "24 0 42")
                await next.disconnect()
            }
        }

        @Test func physAndDataLengthAreSet() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                if Fixture.isLegacy {
                    #expect(await failure { _ = try await connection.phys() }?.code == .unsupported)
                    let error = await failure { _ = try await connection.setPHYs(transmit: .le2M, receive: .le2M) }
                    #expect(error?.code == .unsupported)
                } else {
                    _ = try await connection.phys()
                    let phys = try await connection.setPHYs(transmit: .le2M, receive: .le2M)
                    #expect(phys == LinkPHYs(transmit: .le2M, receive: .le2M))
                }
                let changes = try await connection.linkChanges()
                try await connection.requestDataLength(200)
                var iterator = changes.makeAsyncIterator()
                guard let length = try await iterator.next()?.dataLength else {
                    return #expect(Bool(false), "no data length was reported")
                }
                #expect(length.transmitOctets == 200)
                await connection.disconnect()
            }
        }

        @Test func anAttemptThatWasCancelledKeepsNobodyFromTheNext() async throws {
            try await Fixture.run { fixture in
                for milliseconds in [5, 50, 150, 400, 1500] {
                    let attempt = Task { try await fixture.connect(to: "LINBLE-ECHO") }
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    attempt.cancel()
                    if let made = try? await attempt.value { await made.disconnect() }
                    let connection = try await fixture.connect(to: "LINBLE-ECHO")
                    _ = try await connection.rssi()
                    await connection.disconnect()
                }
            }
        }

        @Test func thoseThatNeverAnswerKeepNobodyWaiting() async throws {
            try await Fixture.run { fixture in
                let absent = (0..<20).map { number in
                    Task {
                        let peer = BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random)
                        _ = try await fixture.adapter.connect(to: peer, options: ConnectionOptions(timeout: nil))
                    }
                }
                try await Task.sleep(for: .seconds(1))
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                _ = try await connection.rssi()
                await connection.disconnect()
                for task in absent { task.cancel() }
                for task in absent {
                    let error = await failure { try await task.value }
                    #expect(error?.code == .cancelled)
                }
            }
        }

        @Test func aKeptConnectionComesBackWithItsSubscriptions() async throws {
            try await Fixture.run { fixture in
                let kept = fixture.adapter.keepConnected(to: try fixture["LINBLE-ECHO"])
                let notices = try await kept.subscribe(
                    to: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8", in: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8",
                    timeout: .seconds(60))
                var iterator = notices.makeAsyncIterator()
                for _ in 0..<2 {
                    try await fixture.ask("notify LINBLE-ECHO 0102")
                    let value = try await iterator.next()
                    #expect(value == .value([1, 2]))
                    try await fixture.ask("drop LINBLE-ECHO 0x13")
                    guard case .interrupted(let reason) = try await iterator.next() else {
                        return #expect(Bool(false), "the gap was not reported")
                    }
                    #expect(reason.disconnectReason == .remote)
                    let resumed = try await iterator.next()
                    #expect(resumed == .resumed)
                }
                await kept.disconnect(timeout: .zero)
            }
        }
    }
}
