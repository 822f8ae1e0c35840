import BluetoothLE
import TestSupport
import Testing

extension Peers {
    /// Links that end, and the errors of their users.
    @Suite struct Losing {
        @Test(
            "the end of a link has its reason",
            arguments: [
                ("drop LINBLE-ECHO 0x13", .remote), ("drop LINBLE-ECHO 0x14", .remoteLowResources),
                ("drop LINBLE-ECHO 0x15", .remotePowerOff), ("drop LINBLE-ECHO 0x08", .supervisionTimeout),
                ("drop LINBLE-ECHO 0x16", .localHost), ("drop LINBLE-ECHO 0x3b", .parameters),
                ("drop LINBLE-ECHO 0x3d", .authentication), ("vanish LINBLE-ECHO 1", .supervisionTimeout),
            ] as [(String, DisconnectReason)])
        func theEndHasItsReason(order: String, reason: DisconnectReason) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                try await fixture.ask(order)
                let end = await connection.disconnected()
                #expect(end.code == .disconnected)
                #expect(end.disconnectReason == reason)
                guard end.cause?.controllerStatus != nil else { return #expect(Bool(false), "no cause: \(end)") }
                let later = await failure { _ = try await connection.discover() }
                #expect(later?.code == .disconnected)
            }
        }

        @Test func everythingPendingEndsWithTheLink() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "narrow")
                let silent = try await connection.find("CA01000E-1234-5678-9ABC-DEF012345678")
                let pending = Task { try await connection.read(silent) }
                try await Task.sleep(for: .milliseconds(300))
                try await fixture.ask("drop narrow 0x13")
                let error = await failure { _ = try await pending.value }
                #expect(error?.code == .disconnected)
            }
        }

        @Test func aStreamEndsWithTheReasonOfTheLink() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "LINBLE-ECHO")
                let values = try await connection.subscribe(to: try await connection.find(Echo.tx))
                try await fixture.ask("notify LINBLE-ECHO 010203")
                let received = Task {
                    var all: [[UInt8]] = []
                    let error = await failure { for try await value in values { all.append(value) } }
                    return (all, error)
                }
                try await Task.sleep(for: .milliseconds(500))
                try await fixture.ask("drop LINBLE-ECHO 0x13")
                let (all, error) = await received.value
                #expect(all == [[1, 2, 3]])
                #expect(error?.code == .disconnected)
            }
        }

        @Test func aDeviceThatDropsEveryLinkIsToldApart() async throws {
            try await Fixture.run { fixture in
                let error = await failure {
                    let connection = try await fixture.connect(to: "refuser")
                    _ = try await connection.discover()
                }
                #expect([.connectionFailed, .disconnected].contains(error?.code))
                #expect(error?.isRetryable == true)
            }
        }
    }
}
