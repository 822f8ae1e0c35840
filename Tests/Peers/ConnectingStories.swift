import BluetoothLE
import TestSupport
import Testing

extension Peers {
    @Suite struct Connecting {
        @Test func aDeviceIsConnectedByItsAddressAlone() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "gatt")
                #expect(await connection.isConnected)
                #expect(await connection.maximumTransmissionUnit == 517)
                #expect(try await fixture.links(of: "gatt") == 1)
                await connection.disconnect()
                try await fixture.wait(for: "the link is gone") { try await fixture.links(of: "gatt") == 0 }
            }
        }

        @Test func thePeersLimitOfTheMTUHolds() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "narrow")
                #expect(await connection.maximumTransmissionUnit == 64)
                await connection.disconnect()
            }
        }

        @Test func fourLinksLiveAtOnce() async throws {
            let names = ["gatt", "big", "flood", "LINBLE-ECHO"]
            try await Fixture.run { fixture in
                var connections: [Connection] = []
                for name in names { connections.append(try await fixture.connect(to: name)) }
                #expect(try await fixture.chip()?["links"] == names.count)
                try await withThrowingTaskGroup(of: RemoteDatabase.self) { group in
                    for connection in connections { group.addTask { try await connection.discover() } }
                    for try await services in group { #expect(services.count >= 3) }
                }
                for connection in connections { await connection.disconnect() }
            }
        }

        @Test func attemptsAtTheSameTimeAllSucceed() async throws {
            let names = ["gatt", "big", "flood", "LINBLE-ECHO"]
            try await Fixture.run { fixture in
                try await withThrowingTaskGroup(of: Connection.self) { group in
                    for name in names { group.addTask { try await fixture.connect(to: name) } }
                    for try await connection in group { #expect(await connection.isConnected) }
                }
            }
        }

        @Test func anAttemptThatIsCancelledLeavesNothingBehind() async throws {
            try await Fixture.run { fixture in
                try await fixture.ask("hide gatt")
                let attempt = Task { try await fixture.connect(to: "gatt") }
                try await Task.sleep(for: .milliseconds(500))
                attempt.cancel()
                let error = await failure { _ = try await attempt.value }
                #expect(error?.code == .cancelled)
                try await fixture.ask("show gatt")
                let connection = try await fixture.connect(to: "gatt")
                #expect(await connection.isConnected)
                await connection.disconnect()
            }
        }

        @Test func aLinkThatComesUpWhileItsAttemptIsCancelledIsEnded() async throws {
            try await Fixture.run { fixture in
                let taken = try await fixture.ask("taken gatt")
                try await fixture.ask("race \(fixture.adapter.information.name.dropFirst(3))")
                let attempt = Task { try await fixture.connect(to: "gatt") }
                try await fixture.wait(for: "the attempt") { try await fixture.chip()?["init"] == 1 }
                attempt.cancel()
                let error = await failure { _ = try await attempt.value }
                #expect(error?.code == .cancelled)
                #expect(try await fixture.links(of: "gatt") == 1)
                let start = ContinuousClock.now
                let connection = try await fixture.connect(to: "gatt")
                print("# connected \(start.duration(to: .now)) after the cancelled attempt")
                #expect(try await fixture.ask("taken gatt") == "\((Int(taken) ?? 0) + 2)")
                #expect(try await fixture.links(of: "gatt") == 1)
                await connection.disconnect()
            }
        }

        @Test func aDeviceThatIsNotThereTimesOut() async throws {
            try await Fixture.run { fixture in
                try await fixture.ask("hide gatt")
                let error = await failure {
                    _ = try await fixture.connect(to: "gatt", options: ConnectionOptions(timeout: .seconds(2)))
                }
                #expect(error?.code == .timedOut)
                #expect(error?.isRetryable == true)
            }
        }
    }
}
