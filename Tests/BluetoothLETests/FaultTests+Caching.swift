import BluetoothSimulation
import Testing

@testable import BluetoothLE

// Kinds of work with a database that is remembered.
extension FaultTests {
    static func performCaching(_ work: Work, on connection: Connection, _ server: SimulatedGATTServer) async throws {
        let services = try await connection.discover()
        let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
        // What goes on behind the caller's back has come to its end after as many requests.
        for _ in 0..<4 {
            let value = try await connection.read(level)
            #expect(value == [9])
        }
        if work == .remembered {
            await connection.forgetDatabase()
            let again = try await connection.discover()
            #expect(again == services)
        } else {
            let added = try server.change(adding: [CachingTests.other], isTold: false)
            try server.change(removing: added, isTold: false)
            let value = try await connection.read(level)
            #expect(value == [9])
        }
    }
}

extension Connection {
    /// Knows no more than a connection just made.
    fileprivate func forgetDatabase() async { await core { $0.forgetDatabase() } }
}
