import Logging
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Runs `body` in virtual time on a connection whose peer follows `script`; fails when either deviates from it.
///
/// Time advances only while everything waits, so a limit of 30 s takes no time, and a wait without end is detected.
func withConnection(
    _ script: Exchange..., mtu: Int = 23,
    _ body: @escaping @Sendable (Connection, ScriptedSocket) async throws -> Void
) async throws {
    let radio = SimulatedRadio(time: .virtual, seed: 1)
    try await radio.run {
        let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)
        let made = Mutex<ScriptedSocket?>(nil)
        let connection = try await Connection(
            over: { handler in
                let socket = ScriptedSocket(script, on: radio.loop, handler)
                made.withLock { $0 = socket }
                return socket
            }, to: peer, on: radio.loop, database: .generic(deviceName: "test"), log: Logger(label: "test"))
        let socket = try #require(made.withLock { $0 })
        if mtu != 23 { try await connection.setMTU(mtu) }
        try await body(connection, socket)
        try ScriptDeviation.check(socket)
    }
}

/// A deviation of the connection from the peer's script.
struct ScriptDeviation: Error, CustomStringConvertible {
    var description: String

    static func check(_ socket: ScriptedSocket) throws {
        let problems = socket.problems
        if !problems.isEmpty { throw ScriptDeviation(description: problems.joined(separator: "; ")) }
    }
}

extension Connection {
    /// Runs the loop until `condition` holds, which it must after a few turns.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
    ) async {
        for _ in 0..<1000 {
            if await condition() { return }
            await Task.yield()
        }
        Issue.record("the condition did not become true", sourceLocation: sourceLocation)
    }

    fileprivate func setMTU(_ mtu: Int) async throws {
        try await core { (link) throws in try link.bearer(for: .init("set up the test")).mtu = mtu }
    }
}
