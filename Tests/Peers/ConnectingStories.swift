import BluetoothLE
import TestSupport
import Testing

extension Peers {
    @Suite struct Connecting {
        @Test func aDeviceIsConnectedByItsAddressAlone() async throws {
            try await Band.run { band in
                let connection = try await band.connect(to: "gatt")
                #expect(await connection.isConnected)
                let mtu = await connection.maximumTransmissionUnit
                #expect(mtu == 517)
                #expect(try await band.links(of: "gatt") == 1)
                await connection.disconnect()
                try await band.wait(for: "the link is gone") { try await band.links(of: "gatt") == 0 }
            }
        }

        @Test func thePeersLimitOfTheMTUHolds() async throws {
            try await Band.run { band in
                let connection = try await band.connect(to: "narrow")
                let mtu = await connection.maximumTransmissionUnit
                #expect(mtu == 64)
                await connection.disconnect()
            }
        }

        @Test func fourLinksLiveAtOnce() async throws {
            let names = ["gatt", "big", "flood", "LINBLE-ECHO"]
            try await Band.run { band in
                var connections: [Connection] = []
                for name in names { connections.append(try await band.connect(to: name)) }
                #expect(try await band.chip()?["links"] == names.count)
                try await withThrowingTaskGroup(of: RemoteDatabase.self) { group in
                    for connection in connections { group.addTask { try await connection.discover() } }
                    for try await services in group { #expect(services.count >= 3) }
                }
                for connection in connections { await connection.disconnect() }
            }
        }

        @Test func attemptsAtTheSameTimeAllSucceed() async throws {
            let names = ["gatt", "big", "flood", "LINBLE-ECHO"]
            try await Band.run { band in
                try await withThrowingTaskGroup(of: Connection.self) { group in
                    for name in names { group.addTask { try await band.connect(to: name) } }
                    for try await connection in group { #expect(await connection.isConnected) }
                }
            }
        }

        @Test func anAttemptThatIsCancelledLeavesNothingBehind() async throws {
            try await Band.run { band in
                try await band.ask("hide gatt")
                let attempt = Task { try await band.connect(to: "gatt") }
                try await Task.sleep(for: .milliseconds(500))
                attempt.cancel()
                let error = await failure { _ = try await attempt.value }
                #expect(error?.code == .cancelled)
                try await band.ask("show gatt")
                let connection = try await band.connect(to: "gatt")
                #expect(await connection.isConnected)
                await connection.disconnect()
            }
        }

        @Test func aDeviceThatIsNotThereTimesOut() async throws {
            try await Band.run { band in
                try await band.ask("hide gatt")
                let error = await failure {
                    _ = try await band.connect(to: "gatt", options: ConnectionOptions(timeout: .seconds(2)))
                }
                #expect(error?.code == .timedOut)
                #expect(error?.isRetryable == true)
            }
        }
    }
}
