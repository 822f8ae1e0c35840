import BluetoothSimulation
import Testing

@testable import BluetoothLE

// The work with a cached database.
extension FaultTests {
    static func performCaching(_ work: Work, on connection: Connection, _ server: SimulatedGATTServer) async throws {
        let services = try await connection.discover()
        let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
        // The background procedures are complete after as many requests.
        for _ in 0..<4 {
            #expect(try await connection.read(level) == [9])
        }
        if work == .remembered {
            await connection.discardDatabase()
            #expect(try await connection.discover() == services)
        } else {
            let added = try server.change(adding: [CachingTests.other], isReported: false)
            try server.change(removing: added, isReported: false)
            #expect(try await connection.read(level) == [9])
        }
    }
}

extension Connection {
    /// Discards the discovered database, as on a new connection.
    fileprivate func discardDatabase() async { await core { $0.discardDatabase() } }
}
